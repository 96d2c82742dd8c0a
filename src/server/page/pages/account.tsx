// Page of one account: its score over time, its events and changes since the last visit on one timeline, summary, links.
import { useEffect, useState } from "preact/hooks";
import { count, counted } from "../format.ts";
import { Badge, Card, Facts, Inside, Outside, Problem, Time } from "../parts/parts.tsx";
import { Plot } from "../parts/plot.tsx";
import { useAsk, useNow } from "../state.ts";
import { type Account, chosenProfile } from "../wire.ts";
import { priorityText } from "./accounts.tsx";

const SHOWN = 40;
const KINDS: Readonly<Record<string, string>> = {
  signal: "events",
  move: "moves of contacts",
  opening: "job openings",
  call: "earnings calls",
  filing: "filings",
  news: "news",
};
const SINGULAR: Readonly<Record<string, string>> = {
  signal: "event",
  move: "move",
  opening: "opening",
  call: "call",
  filing: "filing",
  news: "news",
};

/** When this browser last showed the account, ms since the epoch; null: never. The present visit replaces it. */
const useLastVisit = (id: string): number | null => {
  const key = `duckmirror-visit ${chosenProfile()} ${id}`;
  const [before] = useState(() => Number(localStorage.getItem(key)) || null);
  const now = useNow();
  useEffect(() => localStorage.setItem(key, String(now)), []);
  return before;
};

const Head = ({ found: { account } }: { found: Account }) => (
  <Card title={account.name ?? account.account_id} lead={account.description ?? undefined}>
    <Facts
      facts={[
        [
          "Score",
          <span class="figure" id="score">
            {count(account.score)}
          </span>,
        ],
        ["30 days ago", count(account.score_30_days_ago)],
        ["Type", account.type ?? "–"],
        ["Priority", priorityText(account.priority)],
        ["Industry", account.industry ?? "–"],
        ["Employees", count(account.employees)],
        ["Contacts", `${count(account.contacts)}, ${counted(account.champions, "champion")}`],
        ["Events in 30 days", count(account.signals_30_days)],
        ["Open jobs", count(account.open_jobs)],
        ["Changed", <Time at={account.updated_at} as="ago" />],
      ]}
    />
    <p class="buttons">
      <Outside to={account.domain === null ? null : `https://${account.domain}`}>{account.domain}</Outside>
      <Outside to={account.professional_network_url}>Professional network</Outside>
      <Outside to={account.crm_url}>CRM</Outside>
      <Outside to={account.funding_data_url}>Funding</Outside>
      <Outside to={account.sales_tool_url}>Sales tool</Outside>
      <Inside
        to={`/explorer#sql=${encodeURIComponent(`select * from marts.account_360 where account_id = ${account.account_id}`)}`}
      >
        As a row
      </Inside>
    </p>
  </Card>
);

const Course = ({ scores }: Pick<Account, "scores">) => {
  const now = useNow();
  if (scores.length < 2) return <p class="hint">The score has not changed since the mirror began.</p>;
  const points = [...scores, { at: now, score: scores.at(-1)?.score ?? null }];
  const shape = {
    label: `Score over time, from ${count(scores[0]?.score)} to ${count(scores.at(-1)?.score)}`,
    x: points.map(({ at }) => at / 1000),
    lines: [{ label: "score", values: points.map(({ score }) => score), area: true }],
  };
  return <Plot shape={shape} />;
};

const Changes = ({ changes, since }: Pick<Account, "changes"> & { since: number | null }) => {
  const fresh = since === null ? [] : changes.filter(({ at }) => at > since);
  return (
    <Card
      title="What changed"
      id="changes"
      lead={
        since === null
          ? "In the last 30 days before the last change. Your next visit shows what is new since this one."
          : `${counted(fresh.length, "change")} since your last visit.`
      }
    >
      {changes.length === 0 ? <p class="hint">Nothing changed since the mirror began.</p> : null}
      <ul class="plain scroll-list" tabIndex={0}>
        {changes.slice(0, SHOWN).map((change) => (
          <li>
            <Time at={change.at} as="ago" /> {fresh.includes(change) ? <Badge mood="good">new</Badge> : null}{" "}
            {change.sentence} <span class="hint">{change.table}</span>
          </li>
        ))}
      </ul>
    </Card>
  );
};

const Timeline = ({ events, counts }: Pick<Account, "events" | "counts">) => {
  const [kind, setKind] = useState<string | null>(null);
  const [shown, setShown] = useState(SHOWN);
  const chosen = events.filter((event) => kind === null || event.kind === kind);
  return (
    <Card title="What happened" id="timeline">
      <fieldset class="buttons" aria-label="Show">
        <button type="button" aria-pressed={kind === null} onClick={() => setKind(null)}>
          everything
        </button>
        {counts.map((one) => (
          <button type="button" key={one.kind} aria-pressed={kind === one.kind} onClick={() => setKind(one.kind)}>
            {count(one.events)} {KINDS[one.kind] ?? one.kind}
          </button>
        ))}
      </fieldset>
      {chosen.length === 0 ? <p class="hint">The mirror holds nothing of this account yet.</p> : null}
      <ol class="events">
        {chosen.slice(0, shown).map((event) => (
          <li>
            <Time at={event.at} /> <Badge>{SINGULAR[event.kind] ?? event.kind}</Badge> <strong>{event.title}</strong>{" "}
            <Outside to={event.url}>source</Outside>
            {event.detail === null || event.detail === "" ? null : <div class="hint">{event.detail}</div>}
          </li>
        ))}
      </ol>
      {chosen.length > shown ? (
        <button type="button" onClick={() => setShown(shown + SHOWN)}>
          Show more
        </button>
      ) : null}
    </Card>
  );
};

export const AccountPage = ({ id }: { id: string }) => {
  const { value: found, error } = useAsk<Account>(`/api/accounts/${encodeURIComponent(id)}`);
  const since = useLastVisit(id);
  if (error !== null) return <Problem error={error} />;
  if (found === null) return null;
  return (
    <>
      <Head found={found} />
      <div class="columns">
        <Card title="Score">
          <Course scores={found.scores} />
        </Card>
        <Changes changes={found.changes} since={since} />
      </div>
      {found.insights.length === 0 ? null : (
        <Card title="Summary">
          <ul class="scroll-list" tabIndex={0}>
            {found.insights.map(({ text }) => (
              <li>{text}</li>
            ))}
          </ul>
        </Card>
      )}
      <Timeline events={found.events} counts={found.counts} />
    </>
  );
};

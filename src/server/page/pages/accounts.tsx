// Page of accounts: a list to search, highest score first; and the companies that the mirror follows.
import { useEffect, useState } from "preact/hooks";
import type { FollowedInput } from "../../../../jobs/following.ts";
import { count, counted } from "../format.ts";
import { Badge, Card, Inside, Problem, Table, Time } from "../parts/parts.tsx";
import { useAsk, useSettled, useShared } from "../state.ts";
import type { AccountList } from "../wire.ts";

const PAGE = 100;
/** Rows shown; `duckmirror following` lists all. */
const FOLLOWED_SHOWN = 200;

const FollowedState = ({ input: { status } }: { input: FollowedInput }) =>
  status === "resolved" ? (
    <Badge mood="good">found</Badge>
  ) : status === "pending" ? (
    <Badge mood="warn">to be asked</Badge>
  ) : (
    <Badge mood="bad">not found</Badge>
  );

const Following = () => {
  const { profile } = useShared();
  const { following = [] } =
    useAsk<{ following: readonly FollowedInput[] }>(profile.following ? "/api/following" : null).value ?? {};
  if (following.length === 0) return null;
  const hasProblem = ({ error }: FollowedInput) => error !== undefined;
  const rows = [...following.filter(hasProblem), ...following.filter((row) => !hasProblem(row))];
  const problems = rows.filter(hasProblem).length;
  const more =
    rows.length > FOLLOWED_SHOWN ? ` The first ${FOLLOWED_SHOWN} are shown; \`duckmirror following\` lists all.` : "";
  return (
    <Card
      title="Followed companies"
      id="following-card"
      lead={`${counted(rows.length, "input")}, ${problems === 0 ? "none" : count(problems)} with a problem.${more}`}
    >
      <Table
        title="Followed companies"
        empty=""
        rows={rows.slice(0, FOLLOWED_SHOWN)}
        columns={[
          { head: "input", kind: "cell", cell: ({ input }) => input },
          { head: "company", cell: ({ company_id }) => company_id ?? "–" },
          { head: "status", cell: (input) => <FollowedState input={input} /> },
          {
            head: "since",
            wideOnly: true,
            cell: ({ since }) => (since === null ? "configured" : <Time at={Date.parse(since)} as="ago" />),
          },
          { head: "problem", kind: "cell", cell: ({ error }) => error ?? "" },
        ]}
      />
    </Card>
  );
};

const PRIORITIES: Readonly<Record<number, string>> = { 1: "high", 2: "medium", 3: "low" };
export const priorityText = (priority: number | null): string =>
  priority === null ? "–" : (PRIORITIES[priority] ?? String(priority));

const AccountTable = ({ rows, asked }: { rows: AccountList["accounts"]; asked: string }) => (
  <Table
    id="accounts"
    title="Accounts"
    empty={
      asked === "" ? "The mirror holds no account. It needs a token with Full Access." : "No account holds these words."
    }
    rows={rows}
    columns={[
      {
        head: "account",
        cell: (row) => <Inside to={`/accounts/${row.account_id}`}>{row.name ?? row.domain ?? row.account_id}</Inside>,
      },
      { head: "score", kind: "number", cell: ({ main_score }) => count(main_score) },
      { head: "type", cell: ({ type }) => type ?? "–" },
      { head: "priority", wideOnly: true, cell: ({ priority }) => priorityText(priority) },
      { head: "industry", wideOnly: true, cell: ({ industry }) => industry ?? "–" },
      { head: "events in 30 days", kind: "number", cell: ({ signals_30_days }) => count(signals_30_days) },
      {
        head: "last event",
        wideOnly: true,
        cell: ({ last_signal_at }) => <Time at={last_signal_at} as="ago" />,
      },
    ]}
  />
);

export const Accounts = () => {
  const [words, setWords] = useState("");
  const asked = useSettled(words.trim());
  const [offset, setOffset] = useState(0);
  const { value, error } = useAsk<AccountList>(`/api/accounts?offset=${offset}&q=${encodeURIComponent(asked)}`);
  const [isListed, setListed] = useState(false);
  useEffect(() => {
    if (value !== null) setListed(true);
  }, [value]);
  if (error !== null) return <Problem error={error} />;
  return (
    <>
      <Card
        title="Accounts"
        lead={
          value === null || value.total === 0 ? " " : `${counted(value.total, "account")}, the highest score first.`
        }
      >
        <label for="account-words">Name, domain or industry holds</label>
        <input
          id="account-words"
          type="search"
          value={words}
          onInput={(event) => {
            setWords(event.currentTarget.value);
            setOffset(0);
          }}
        />
        {value === null ? null : <AccountTable rows={value.accounts} asked={asked} />}
        <p class="buttons">
          {offset > 0 ? (
            <button type="button" onClick={() => setOffset(Math.max(0, offset - PAGE))}>
              Previous
            </button>
          ) : null}
          {value?.more ? (
            <button type="button" onClick={() => setOffset(offset + PAGE)}>
              Next {PAGE}
            </button>
          ) : null}
        </p>
      </Card>
      {/* Not before the accounts, which would move it. */}
      {isListed ? <Following /> : null}
    </>
  );
};

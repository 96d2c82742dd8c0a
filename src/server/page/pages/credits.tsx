// Page of credits: what is left, the forecast, what the next sync costs and why, what other content would cost, what was spent on what.
import { useEffect, useRef, useState } from "preact/hooks";
import { count, counted } from "../format.ts";
import { CreditStory, latestReading } from "../parts/credit-story.tsx";
import { Card, Problem, Table } from "../parts/parts.tsx";
import { type Line, Plot } from "../parts/plot.tsx";
import { useAsk, useShared } from "../state.ts";
import type { Overview, PlanAnswer } from "../wire.ts";

const Course = ({ figures }: { figures: Overview }) => {
  const { credits, now } = figures;
  const last = latestReading(figures);
  const points = credits.readings;
  const end = points.at(-1);
  if (last === null || end === undefined) return null;
  const x = [...points.map(({ captured_at }) => captured_at / 1000), Math.max(last.resets_at ?? now, now) / 1000];
  const ahead: (number | null)[] = points.map(() => null);
  ahead[points.length - 1] = end.remaining;
  const lines: Line[] = [
    { label: "left", values: [...points.map(({ remaining }) => remaining), null], area: true },
    { label: "forecast", values: [...ahead, Math.max(0, Math.round(last.forecast_remaining ?? 0))], dashed: true },
  ];
  return <Plot shape={{ label: "Credits left over time, with the forecast until the reset", x, lines }} />;
};

/** Lines for duckmirror.yaml that make the choice last. `streams`: null for those in force. */
const yamlOf = (content: readonly string[], streams: readonly string[] | null): string =>
  [
    ...(content.length === 0 ? [] : ["content:", ...content.map((name) => `  - ${name}`)]),
    ...(streams === null ? [] : ["streams:", ...streams.map((name) => `  - ${name}`)]),
  ].join("\n");

const timeText = ({ minutes }: PlanAnswer): string =>
  minutes === null ? "" : minutes < 1 ? ", under a minute" : `, about ${counted(Math.ceil(minutes), "minute")}`;

const Yaml = ({ lines }: { lines: string }) =>
  lines === "" ? null : (
    <>
      <p>
        The page changes nothing. These lines in <code>duckmirror.yaml</code> make the choice last:
      </p>
      <pre id="yaml">{lines}</pre>
    </>
  );

/** The answer before, while the next one is on its way. */
const useLatest = <T,>(value: T | null): T | null => {
  const latest = useRef<T | null>(null);
  latest.current = value ?? latest.current;
  return latest.current;
};

const priceText = (plan: PlanAnswer): string =>
  plan.at_least
    ? `How many credits is not known before ${plan.unknown.join(", ")} ${plan.unknown.length === 1 ? "was" : "were"} read once.`
    : `${counted(plan.requests, "credit")}${timeText(plan)}. An unchanged source costs about ${count(plan.credits_per_day)} a day.`;

/** The price of a list in this plan. */
const listPrice = (plan: PlanAnswer | null, name: string): string => {
  const found = plan?.streams.find(({ stream }) => stream === name);
  if (found === undefined) return "nothing is due now";
  return found.at_least ? "not known yet" : counted(found.requests, "credit");
};

const flip = (all: readonly string[], name: string) =>
  all.includes(name) ? all.filter((one) => one !== name) : [...all, name];

interface Choice {
  readonly content: readonly string[];
  readonly streams: readonly string[];
}

const addressOf = ({ content, streams }: Choice, own: readonly string[]): string => {
  const asked = [
    ...(content.length === 0 ? [] : [`with=${encodeURIComponent(content.join(","))}`]),
    ...(streams.join() === own.join() ? [] : [`streams=${encodeURIComponent(streams.join(","))}`]),
  ];
  return `/api/plan${asked.length === 0 ? "" : `?${asked.join("&")}`}`;
};

const Choices = (props: { plan: PlanAnswer | null; choice: Choice; onChoice: (choice: Choice) => void }) => {
  const { plan, choice, onChoice } = props;
  const { abilities } = useShared();
  const { content, streams } = choice;
  const ordered = (names: readonly string[]) => abilities.streams.filter((name) => names.includes(name));
  return (
    <>
      <fieldset id="list-choice">
        <legend>Lists, and what each costs in the next sync</legend>
        {abilities.streams.map((name) => (
          <label class="check" key={name}>
            <input
              type="checkbox"
              checked={streams.includes(name)}
              disabled={streams.length === 1 && streams.includes(name)}
              onChange={() => onChoice({ content, streams: ordered(flip(streams, name)) })}
            />{" "}
            {name} <span class="hint">{streams.includes(name) ? listPrice(plan, name) : "left out"}</span>
          </label>
        ))}
      </fieldset>
      <fieldset id="content-choice">
        <legend>More content, and what it would cost</legend>
        {abilities.content.map((name) => (
          <label class="check" key={name}>
            <input
              type="checkbox"
              checked={content.includes(name)}
              onChange={() => onChoice({ streams, content: flip(content, name) })}
            />{" "}
            {name} <span class="hint">{plan?.content.find((one) => one.name === name)?.text ?? ""}</span>
          </label>
        ))}
      </fieldset>
    </>
  );
};

/** `onKnown`: what comes below is drawn then, so that it does not move. */
const Next = ({ onKnown }: { onKnown: () => void }) => {
  const { profile } = useShared();
  const [choice, setChoice] = useState<Choice>({ content: [], streams: profile.streams });
  const { value, error } = useAsk<PlanAnswer>(addressOf(choice, profile.streams));
  const inForce = useAsk<PlanAnswer>("/api/plan").value;
  const plan = useLatest(value);
  const isKnown = plan !== null || error !== null;
  useEffect(() => {
    if (isKnown) onKnown();
  }, [isKnown]);
  if (!isKnown) return null;
  const isOwn = choice.streams.join() === profile.streams.join();
  return (
    <Card title="What the next sync costs" id="plan-card">
      {error === null ? null : <Problem error={error} />}
      <p id="plan-lead" role="status">
        {plan === null ? " " : priceText(plan)}
        {isOwn || inForce === null ? "" : ` With the lists in force: ${priceText(inForce)}`}
      </p>
      <Table
        title="Lists that are due"
        empty="Nothing is due."
        rows={plan?.streams ?? []}
        columns={[
          { head: "list", cell: ({ stream }) => stream },
          { head: "credits", kind: "number", cell: (row) => (row.at_least ? "not known" : count(row.requests)) },
          { head: "why", kind: "cell", cell: ({ because }) => because.map(({ reason }) => reason).join(", ") },
        ]}
      />
      <Choices plan={plan} choice={choice} onChoice={setChoice} />
      <Yaml lines={yamlOf(choice.content, isOwn ? null : choice.streams)} />
    </Card>
  );
};

const Spent = ({ burn }: Pick<Overview["credits"], "burn">) => (
  <Card title="Spent by day" lead="By this mirror, and by the whole organization as far as the service says.">
    <Table
      title="Credits by day"
      empty="Nothing was spent yet."
      rows={burn}
      columns={[
        { head: "day (UTC)", cell: ({ day }) => day },
        { head: "this mirror", kind: "number", cell: ({ spent_here }) => count(spent_here) },
        { head: "organization", kind: "number", cell: ({ org_spent }) => count(org_spent) },
        { head: "left", kind: "number", cell: ({ remaining }) => count(remaining) },
      ]}
    />
  </Card>
);

export const Credits = () => {
  const { profile, status } = useShared();
  const [isPriced, setPriced] = useState(!profile.plan);
  if (status.error !== null) return <Problem error={status.error} />;
  if (status.value === null) return null;
  return (
    <>
      <Card title="Credits until the reset">
        <CreditStory figures={status.value} />
        <Course figures={status.value} />
      </Card>
      {profile.plan ? <Next onKnown={() => setPriced(true)} /> : null}
      {isPriced ? <Spent burn={status.value.credits.burn} /> : null}
    </>
  );
};

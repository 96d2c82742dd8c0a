// Start page: the verdict on the mirror, problems, credits, the last and the next run, and freshness. Before the first sync: how to make a
// mirror.
import { type ComponentChildren, Fragment } from "preact";
import { count, counted, span } from "../format.ts";
import { Attention } from "../parts/attention.tsx";
import { CreditStory, latestReading } from "../parts/credit-story.tsx";
import { Card, Inside, modeText, Problem, RunBadge, rowTotal, Said, Time } from "../parts/parts.tsx";
import { RunsUnderWay } from "../parts/runs-under-way.tsx";
import { OtherSync, useOtherSync } from "../parts/sync-progress.tsx";
import { TableList } from "../parts/table-list.tsx";
import { useAsk, useNow, useShared } from "../state.ts";
import type { Overview as Figures, PlanAnswer, Progress } from "../wire.ts";

type Running = Progress["progress"];

const Verdict = ({ figures }: { figures: Figures }) => {
  const { level, text, step } = figures.verdict;
  return (
    <section class="verdict" id="verdict" aria-label="Verdict" aria-live="polite" data-level={level}>
      <p class="said">
        <Said text={text} />
      </p>
      {step === null ? null : (
        <p>
          <Said text={step} />
        </p>
      )}
    </section>
  );
};

/** Whether the credits are gone: a sync now would only say so. */
const creditBlock = (figures: Figures): string | null => {
  const { now } = figures;
  const last = latestReading(figures);
  const isOut = last !== null && (last.remaining ?? 1) <= 0 && (last.resets_at ?? now + 1) > now;
  return isOut ? "There are no credits to sync with before the reset." : null;
};

const Freshness = ({ figures }: { figures: Figures }) => {
  const now = useNow();
  const { tables } = figures;
  const times = tables.flatMap(({ oldest_checked_at: at }) => (at === null ? [] : [at]));
  const open = tables.filter(({ complete }) => !complete).length;
  return (
    <details class="card" id="fresh-line">
      <summary>
        <strong>Tables</strong> {counted(tables.length, "table")},{" "}
        <span class="row-total">{count(rowTotal(tables))} rows</span>
        {times.length === 0 ? "" : `; the part read longest ago was compared ${span(now - Math.min(...times))} ago`}
        {open === 0 ? "; all complete" : `; ${open} not complete`}
      </summary>
      <TableList tables={tables} />
    </details>
  );
};

const LastAndNext = ({ figures }: { figures: Figures }) => {
  const [last] = figures.runs;
  return (
    <Card title="Syncs" id="syncs">
      <p>
        {last === undefined ? (
          "No run yet."
        ) : (
          <>
            Last: {modeText(last.mode)} <Time at={last.finished_at ?? last.started_at} as="ago" />,{" "}
            {counted(last.credits, "credit")}, <RunBadge run={last} />{" "}
            <Inside to={`/runs/${encodeURIComponent(last.run_id)}`}>what it did</Inside>
          </>
        )}
      </p>
      <p>
        {figures.next_sync_at === null ? (
          "This server starts no sync by a schedule."
        ) : (
          <>
            Next: <Time at={figures.next_sync_at} />
          </>
        )}
      </p>
      <RunsUnderWay blocked={creditBlock(figures)} />
    </Card>
  );
};

/** What the first sync costs, as far as it is known before a request. */
const firstPrice = (plan: PlanAnswer | null): ComponentChildren => {
  if (plan === null) return "nothing to ask.";
  if (!plan.at_least) return `nothing to ask. The first sync costs ${counted(plan.requests, "credit")}.`;
  return (
    <>
      nothing to ask. At least {counted(plan.requests, "credit")}: how long {plan.unknown.join(", ")}{" "}
      {plan.unknown.length === 1 ? "is" : "are"} is not known yet; <code>duckmirror check --totals</code> asks for one
      credit each.
    </>
  );
};

const FirstVisit = ({ running }: { running: Running }) => {
  const { abilities, profile } = useShared();
  const { value: plan, error } = useAsk<PlanAnswer>(profile.plan ? "/api/plan" : null);
  if (running) return <OtherSync progress={running} first />;
  if (profile.plan && plan === null && error === null) return null;
  return (
    <Card
      title="There is no mirror yet"
      id="first-visit"
      lead="Three steps make it. Reading the mirror afterwards costs nothing."
    >
      <ol>
        <li>
          <code>duckmirror check</code> shows whether the service takes the token: 1 credit.
        </li>
        <li id="first-price">
          <code>duckmirror plan</code> shows how many credits the first sync costs: {firstPrice(plan)}
        </li>
        <li>
          <code>duckmirror sync</code> reads every list once: about one credit for each page of each list. If it stops,
          the next sync goes on from there.
        </li>
      </ol>
      {abilities.syncs ? (
        <RunsUnderWay first />
      ) : (
        <p class="hint">While a sync runs, this page shows how far it is, and fills when it publishes.</p>
      )}
    </Card>
  );
};

export const Overview = () => {
  const { status } = useShared();
  const running = useOtherSync();
  if (running === undefined) return null;
  if (status.error?.code === "SNAPSHOT_MISSING") return <FirstVisit running={running} />;
  if (status.error !== null) return <Problem error={status.error} />;
  const figures = status.value;
  if (figures === null) return null;
  return (
    <Fragment>
      <Verdict figures={figures} />
      {running ? <OtherSync progress={running} first={figures.tables.every(({ complete }) => !complete)} /> : null}
      <Attention figures={figures}>
        <div class="columns">
          <Card title="Credits">
            <CreditStory figures={figures} more />
          </Card>
          <LastAndNext figures={figures} />
        </div>
        <Freshness figures={figures} />
      </Attention>
    </Fragment>
  );
};

// Overview: the verdict, what needs attention, credits as one story, the last and the next run, and freshness as one line that
// unfolds. Before there is a mirror: how to make one.
import { Fragment } from "preact";
import { count, counted, span } from "../format.ts";
import { Attention } from "../parts/attention.tsx";
import { CreditStory } from "../parts/credit-story.tsx";
import { Card, Inside, modeText, Problem, RunBadge, rowTotal, Said, Time } from "../parts/parts.tsx";
import { RunsUnderWay } from "../parts/runs-under-way.tsx";
import { TableList } from "../parts/table-list.tsx";
import { useNow, useShared } from "../state.ts";
import type { Overview as Figures } from "../wire.ts";

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
const creditBlock = ({ credits, now }: Figures): string | null => {
  const last = credits.burn.find((day) => day.captured_at !== null);
  const isOut = last !== undefined && (last.remaining ?? 1) <= 0 && (last.resets_at ?? now + 1) > now;
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

const FirstVisit = () => {
  const { abilities } = useShared();
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
        <li>
          <code>duckmirror plan</code> shows how many credits the first sync costs: nothing to ask.
        </li>
        <li>
          <code>duckmirror sync</code> reads every list once: about one credit for each page of each list. If it stops,
          the next sync goes on from there.
        </li>
      </ol>
      {abilities.syncs ? (
        <RunsUnderWay first />
      ) : (
        <p class="hint">
          If a sync runs now, this page fills by itself when it publishes; its own output shows how far it is.
        </p>
      )}
    </Card>
  );
};

export const Overview = () => {
  const { status } = useShared();
  if (status.error?.code === "SNAPSHOT_MISSING") return <FirstVisit />;
  if (status.error !== null) return <Problem error={status.error} />;
  const figures = status.value;
  if (figures === null) return null;
  return (
    <Fragment>
      <Verdict figures={figures} />
      <Attention figures={figures} />
      <div class="columns">
        <Card title="Credits">
          <CreditStory figures={figures} more />
        </Card>
        <LastAndNext figures={figures} />
      </div>
      <Freshness figures={figures} />
    </Fragment>
  );
};

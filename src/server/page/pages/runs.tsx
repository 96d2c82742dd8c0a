// Page of runs: running ones, a bar for each past one, a table; use of the rate limit; workers and queues.
import { useEffect, useState } from "preact/hooks";
import type { Fleet as FleetFigures, Pause } from "../../../core/report/fleet.ts";
import { count, counted, moodOf, span, when } from "../format.ts";
import { Badge, Card, Inside, modeText, Problem, RunBadge, Table, Time } from "../parts/parts.tsx";
import { Plot } from "../parts/plot.tsx";
import { RunsUnderWay } from "../parts/runs-under-way.tsx";
import { go, useAsk, useShared, useTicks } from "../state.ts";
import { ask, type Overview, type Run, type Runs as RunsAnswer } from "../wire.ts";

// Workers, queues and pauses of the fleet, read again every few seconds. Shown only if the server has a fleet.

const POLL_MS = 5_000;

const pauseText = ({ kind, name, since }: Pause, now: number): string =>
  `${kind === "fleet" ? "The fleet" : `${kind === "profile" ? "Profile" : "Queue"} ${name ?? "?"}`} is paused${
    since === null ? "" : ` since ${span(now - since)}`
  }`;

const Members = ({ fleet: { members, now } }: { fleet: FleetFigures }) => (
  <Table
    title="Workers"
    empty="No worker is registered."
    rows={members}
    columns={[
      { head: "host", cell: ({ host }) => host },
      { head: "process", kind: "number", wideOnly: true, cell: ({ pid }) => String(pid) },
      { head: "version", wideOnly: true, cell: ({ version }) => version },
      { head: "in flight", kind: "number", cell: ({ in_flight }) => count(in_flight) },
      { head: "since", wideOnly: true, cell: ({ since }) => `${span(now - since)} ago` },
      {
        head: "state",
        cell: ({ silent_ms }) =>
          silent_ms === null ? (
            <Badge mood="good">alive</Badge>
          ) : (
            <Badge mood="bad">{`silent for ${span(silent_ms)}`}</Badge>
          ),
      },
    ]}
  />
);

const Queues = ({ fleet: { queues } }: { fleet: FleetFigures }) => (
  <Table
    title="Queues"
    empty="No queue."
    rows={queues}
    columns={[
      { head: "queue", cell: ({ name }) => name },
      { head: "waiting", kind: "number", cell: ({ waiting }) => count(waiting) },
      { head: "active", kind: "number", cell: ({ active }) => count(active) },
      { head: "delayed", kind: "number", wideOnly: true, cell: ({ delayed }) => count(delayed) },
      { head: "failed", kind: "number", cell: ({ failed }) => count(failed) },
      {
        head: "oldest waits",
        kind: "number",
        cell: ({ oldest_waiting_ms }) => (oldest_waiting_ms === null ? "–" : span(oldest_waiting_ms)),
      },
      {
        head: "state",
        cell: ({ paused }) => <Badge mood={paused ? "warn" : "good"}>{paused ? "paused" : "open"}</Badge>,
      },
    ]}
  />
);

export const Fleet = () => {
  const { value, error } = useAsk<FleetFigures>("/api/fleet", useTicks(POLL_MS));
  const [fleet, setFleet] = useState<FleetFigures | null>(null);
  useEffect(() => {
    if (value !== null) setFleet(value);
  }, [value]);
  const lead =
    error !== null
      ? "Redis does not answer; these figures are old."
      : fleet === null
        ? " "
        : `${counted(fleet.members.length, "worker")} on this Redis. \`duckmirror pause\` and \`resume\` steer them.`;
  return (
    <Card title="Workers and queues" id="fleet" lead={lead}>
      {fleet === null ? null : (
        <>
          <div role="status">
            {fleet.paused.map((pause) => (
              <Badge mood="warn" key={`${pause.kind} ${pause.name}`}>
                {pauseText(pause, fleet.now)}
              </Badge>
            ))}
          </div>
          <Members fleet={fleet} />
          <Queues fleet={fleet} />
        </>
      )}
    </Card>
  );
};

const BARS = 80;
const BAR_HEIGHT = 70;

const runPath = ({ run_id }: Run): string => `/runs/${encodeURIComponent(run_id)}`;
const mood = (run: Run) => (run.error !== null && run.status === "done" ? "warn" : moodOf(run.status));

const Timeline = ({ runs }: { runs: readonly Run[] }) => {
  const shown = runs.slice(0, BARS).reverse();
  const most = Math.max(1, ...shown.map(({ requests }) => requests));
  return (
    <div class="timeline" role="group" aria-label="Runs, oldest first; a bar is as high as the run had requests">
      {shown.map((run) => (
        <button
          type="button"
          key={run.run_id}
          class={mood(run)}
          style={{ height: `${Math.max(4, Math.round((BAR_HEIGHT * run.requests) / most))}px` }}
          title={`${when(run.started_at)}: ${run.status}, ${counted(run.requests, "request")}`}
          aria-label={`${modeText(run.mode)} of ${when(run.started_at)}: ${run.status}, ${counted(run.requests, "request")}`}
          onClick={() => go(runPath(run))}
        />
      ))}
    </div>
  );
};

export const RunTable = ({ runs }: { runs: readonly Run[] }) => (
  <Table
    id="runs"
    title="Runs"
    empty="No run yet."
    rows={runs}
    columns={[
      {
        head: "started",
        cell: (run) => (
          <Inside to={runPath(run)}>
            <Time at={run.started_at} />
          </Inside>
        ),
      },
      { head: "what", wideOnly: true, cell: ({ mode }) => modeText(mode) },
      {
        head: "result",
        cell: (run) => (
          <>
            <RunBadge run={run} /> {run.differences ? counted(run.differences, "difference") : ""}
          </>
        ),
      },
      {
        head: "took",
        kind: "number",
        cell: (run) => (run.finished_at === null ? "–" : span(run.finished_at - run.started_at)),
      },
      { head: "credits", kind: "number", cell: ({ credits }) => count(credits) },
      {
        head: "forecast",
        kind: "number",
        wideOnly: true,
        meaning: "How many requests the plan expected before the run",
        cell: ({ forecast_requests }) => count(forecast_requests),
      },
      {
        head: "failed requests",
        kind: "number",
        wideOnly: true,
        cell: ({ failed_requests }) => count(failed_requests),
      },
    ]}
  />
);

const Rate = ({ figures: { rate, rate_allowed } }: { figures: Overview }) => {
  const [first] = rate;
  const end = rate.at(-1);
  if (first === undefined || end === undefined) return null;
  const refused = rate.reduce((sum, minute) => sum + minute.refused, 0);
  const top = Math.max(...rate.map((minute) => minute.requests));
  const allowed = rate_allowed === null ? "the service sets the limit" : `${count(rate_allowed)} allowed`;
  const label = `Requests per minute until ${when(end.minute)}: ${count(top)} at most, ${allowed}, ${counted(refused, "refusal")} because of the rate.`;
  const used = new Map(rate.map((minute) => [minute.minute, minute.requests]));
  const x: number[] = [];
  for (let at = first.minute - 60_000; at <= end.minute + 60_000; at += 60_000) x.push(at);
  const lines = [
    { label: "requests", values: x.map((at) => used.get(at) ?? 0), bars: true },
    ...(rate_allowed === null ? [] : [{ label: "allowed", values: x.map(() => rate_allowed), dashed: true }]),
  ];
  return (
    <Card title="Rate used" lead={label}>
      <Plot shape={{ label, x: x.map((at) => at / 1000), lines }} />
    </Card>
  );
};

export const Runs = () => {
  const { abilities, status } = useShared();
  const [older, setOlder] = useState<readonly Run[]>([]);
  const version = status.value?.snapshot.version;
  useEffect(() => setOlder([]), [version]);
  if (status.error !== null) return <Problem error={status.error} />;
  if (status.value === null) return null;
  const { runs: latest, run_count } = status.value;
  const runs = [...latest, ...older];
  const last = runs.at(-1);
  const more = async () => {
    const found = await ask<RunsAnswer>(`/api/runs?before=${last?.started_at ?? 0}`);
    setOlder([...older, ...found.runs]);
  };
  return (
    <>
      <Card title="Runs" lead={`${counted(run_count, "run")}. A run opens with its requests and what it changed.`}>
        <RunsUnderWay />
        <Timeline runs={runs} />
        <RunTable runs={runs} />
        {runs.length < run_count ? (
          <button type="button" onClick={() => void more()}>
            Older runs
          </button>
        ) : null}
      </Card>
      <Rate figures={status.value} />
      {/* Last, because its answer comes late and would move what is below. */}
      {abilities.fleet ? <Fleet /> : null}
    </>
  );
};

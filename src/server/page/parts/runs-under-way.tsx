// Shows running syncs and verifications with a button to cancel each, and buttons that start one. Shown only if the server starts runs and
// the key of this page may.
import { useEffect, useState } from "preact/hooks";
import { counted } from "../format.ts";
import { type RunEvent, runEvent, useShared } from "../state.ts";
import { type ActiveRun, ask, chosenProfile, type Refused, refusalOf, send } from "../wire.ts";
import { Badge, type Mood, Problem } from "./parts.tsx";
import { momentText, RunProgress, waitText } from "./sync-progress.tsx";

const POLL_MS = 1500;
/** A worker without a sign of life for this long may be lost. */
const SILENT_MS = 20_000;
const OVER = ["done", "partial", "stopped", "failed", "cancelled"];

interface Followed {
  readonly run: ActiveRun | null;
  /** What its last events say. */
  readonly page: string;
  readonly wait: { readonly why: string; readonly until: number } | null;
}
const NEW: Followed = { run: null, page: "", wait: null };

const afterEvent = (known: Followed, event: RunEvent): Followed => {
  if (event.kind === "page") {
    const { stream, rows, requests } = event;
    return { ...known, page: `${stream}: ${counted(Number(rows), "row")}, ${counted(Number(requests), "request")}` };
  }
  if (event.kind === "waiting") return { ...known, wait: { why: String(event.why), until: Number(event.until) } };
  return event.kind === "published" || event.kind === "exported" ? { ...known, page: event.kind } : known;
};

/** Progress of a run, as its worker reports it, on this machine or another. */
const doesText = ({ run, page, wait }: Followed): string => {
  const now = Date.now();
  const waits = wait !== null && wait.until > now ? [waitText(wait.why, wait.until)] : [];
  if (run === null || OVER.includes(run.state))
    return run?.error?.message ?? [page, ...waits].filter(Boolean).join("; ");
  const due =
    run.due_at === null || run.due_at === undefined ? [] : [`ends at ${momentText(run.due_at)} at the latest`];
  const { progress = null } = run;
  if (progress === null) {
    const paused = run.paused === true ? ["waits for the end of a pause"] : [];
    return [...paused, ...due, page, ...waits].filter(Boolean).join("; ");
  }
  const { requests, rows, waiting, streams, heartbeat_at } = progress;
  const reading = streams.filter(({ state }) => state === "reading").map(({ stream }) => stream);
  return [
    `${counted(requests, "request")}, ${counted(rows, "row")}${reading.length === 0 ? "" : `, reading ${reading.join(", ")}`}`,
    ...(waiting !== null && waiting.until > now ? [waitText(waiting.why, waiting.until)] : []),
    ...due,
    ...(now - heartbeat_at > SILENT_MS ? [`no sign of life from its worker since ${momentText(heartbeat_at)}`] : []),
  ].join("; ");
};

const moodOf = (state: string): Mood =>
  state === "done" ? "good" : state === "failed" ? "bad" : OVER.includes(state) ? "warn" : "plain";

/** Runs under way, by id: those of the server's list, those started here, those that events name. */
const useFollowed = (): readonly [ReadonlyMap<string, Followed>, (runId: string) => void] => {
  const [followed, setFollowed] = useState<ReadonlyMap<string, Followed>>(new Map());
  const event = runEvent.use();
  const change = (runId: string, next: (known: Followed) => Followed) =>
    setFollowed((all) => new Map([...all, [runId, next(all.get(runId) ?? NEW)]]));
  useEffect(() => {
    ask<{ runs: readonly ActiveRun[] }>("/api/syncs").then(
      ({ runs }) => {
        for (const run of runs) change(run.run_id, (known) => ({ ...known, run }));
      },
      () => undefined,
    );
  }, []);
  useEffect(() => {
    if (event !== null) change(event.run_id, (known) => afterEvent(known, event));
  }, [event]);
  useEffect(() => {
    const open = [...followed].filter(([, { run }]) => run === null || !OVER.includes(run.state));
    if (open.length === 0) return;
    const timer = setTimeout(() => {
      for (const [runId] of open) {
        ask<ActiveRun>(`/api/syncs/${encodeURIComponent(runId)}`).then(
          (run) => change(runId, (known) => ({ ...known, run })),
          () => change(runId, (known) => ({ ...known })),
        );
      }
    }, POLL_MS);
    return () => clearTimeout(timer);
  }, [followed]);
  return [followed, (runId) => change(runId, (known) => known)];
};

interface Wish {
  /** There is no mirror yet. */
  readonly first?: boolean;
  /** Why nothing can be started now; null: it can. */
  readonly blocked?: string | null;
}

/** Buttons and runs; nothing where the server starts no runs. */
export const RunsUnderWay = (wish: Wish) => (useShared().abilities.syncs ? <Under {...wish} /> : null);

const Under = ({ first = false, blocked = null }: Wish) => {
  const { abilities } = useShared();
  const [followed, follow] = useFollowed();
  const [problem, setProblem] = useState<Refused | null>(null);
  const [full, setFull] = useState(false);
  const act = (work: Promise<unknown>) => {
    setProblem(null);
    work.catch((error) => setProblem(refusalOf(error)));
  };
  const profile = chosenProfile() === "" ? (abilities.profiles[0]?.name ?? "") : chosenProfile();
  const start = (path: string, body: object) =>
    act(send<{ run_id: string }>("POST", path, { ...body, profile }).then(({ run_id }) => follow(run_id)));
  return (
    <div id="active">
      {abilities.may_operate ? (
        <div class="buttons">
          <button
            type="button"
            class="primary"
            disabled={blocked !== null}
            onClick={() => start("/api/syncs", { full })}
          >
            {first ? "Start the first sync" : "Sync now"}
          </button>
          {abilities.verify && !first ? (
            <button type="button" disabled={blocked !== null} onClick={() => start("/api/verifications", {})}>
              Verify (at most 20 credits)
            </button>
          ) : null}
          {first ? null : (
            <label class="check">
              <input type="checkbox" checked={full} onChange={(event) => setFull(event.currentTarget.checked)} /> read
              every row again
            </label>
          )}
          {blocked === null ? null : <span class="hint">{blocked}</span>}
        </div>
      ) : (
        <p class="hint">This key may read. A key with the role operate can start syncs.</p>
      )}
      {problem === null ? null : <Problem error={problem} />}
      <div aria-live="polite">
        {[...followed].map(([runId, one]) => (
          <div class="run-line" key={runId}>
            <Badge mood={moodOf(one.run?.state ?? "queued")}>{one.run?.state ?? "queued"}</Badge>
            <span>
              {runId} {doesText(one)}
            </span>
            {OVER.includes(one.run?.state ?? "") || !abilities.may_operate ? null : (
              <button
                type="button"
                aria-label={`Cancel run ${runId}`}
                onClick={() => act(send("DELETE", `/api/syncs/${encodeURIComponent(runId)}`))}
              >
                Cancel
              </button>
            )}
            {one.run?.progress ? <RunProgress progress={one.run.progress} /> : null}
          </div>
        ))}
      </div>
    </div>
  );
};

// The log of a worker: writes each run's progress as lines with profile and run id, passes the same events to its server, and logs failed
// requests of the server.
import type { Clock } from "../../core/clock.ts";
import { DuckmirrorError, withHint } from "../../core/errors.ts";
import type { Logger } from "../../core/log.ts";
import { levelOf } from "../../core/report/problem.ts";
import type { ProgressEvent, ProgressSink } from "../../core/report/sync-progress.ts";
import { loggedProgress } from "../terminal/progress.ts";

type RunListener = (event: ProgressEvent, run: { readonly runId: string; readonly profile: string }) => void;

/** Receives the events of concurrent runs; `listen` is for the server. */
export const createWorkerLog = (logger: Logger, clock: Clock, format: "json" | "pretty") => {
  const listeners = new Set<RunListener>();
  /** The present run of each profile, or its last one if that ended without a word. */
  const runs = new Map<string, { readonly runId: string; readonly sink: ProgressSink }>();
  const sinkOf = (runId: string, profile: string): ProgressSink => {
    const known = runs.get(profile);
    return known?.runId === runId ? known.sink : loggedProgress(logger.child({ runId, profile }), clock, format);
  };
  return {
    emit: (event: ProgressEvent, run: { readonly runId: string; readonly profile: string }): void => {
      const { runId, profile } = run;
      const sink = sinkOf(runId, profile);
      sink(event);
      // The last events of a run; a second run of the same sync starts anew. Its exports may be written during the next one.
      if (event.kind === "published" || event.kind === "looked") runs.delete(profile);
      else if (event.kind !== "exported") runs.set(profile, { runId, sink });
      for (const listener of listeners) listener(event, run);
    },
    listen: (listener: RunListener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
};

/** Logs a failed request of a server as one line; only a fault of duckmirror itself has a stack. */
export const faultLog =
  (logger: Pick<Logger, "warn" | "error">) =>
  (error: unknown): void => {
    if (error instanceof DuckmirrorError) {
      logger[levelOf(error)](`a request failed: ${error.code}: ${withHint(error)}`);
    } else logger.error({ err: error }, "a request failed");
  };

// Ending: the reason why a run ends before its work is done, and the two signals for it. The first reason counts, but
// a fault overrides all others.
//
//   running --stop | fail | the caller's signal--> ending --grace over | the caller's hard signal--> broken off
//
// `signal` aborts when the run begins to end: no request is sent any more, and every wait ends. Responses to sent
// requests are paid for, so they may still arrive until `hardSignal` aborts.
import { setMaxListeners } from "node:events";
import type { Clock } from "../../../core/clock.ts";
import { DuckmirrorError } from "../../../core/errors.ts";

type Reason =
  /** The service, a limit or the time; the report contains the error. */
  | { readonly kind: "stopped"; readonly error: DuckmirrorError }
  /** The user, or a worker that stops. */
  | { readonly kind: "interrupted" }
  /** A fault of duckmirror or of the machine. */
  | { readonly kind: "failed"; readonly fault: unknown };

export interface Ending {
  readonly signal: AbortSignal;
  readonly hardSignal: AbortSignal;
  /** Ends the run for this reason; a run that is ending already does not change. */
  stop(error: DuckmirrorError): void;
  /** Ends the run after an unexpected error. */
  fail(fault: unknown): void;
  /** null: the run was not ended early. */
  reason(): Reason | null;
  /** The work of the run is done; it can no longer end early. */
  close(): void;
}

export interface EndingOptions {
  /** The caller's signal. A reason other than INTERRUPTED stops the run with that error, e.g. DURATION_SPENT. */
  readonly signal: AbortSignal;
  /** Unset: never. */
  readonly hardSignal?: AbortSignal | undefined;
  readonly clock: Clock;
  /** Time limit for unfinished requests once the run ends, ms; unset: no limit. */
  readonly graceMs?: number | undefined;
}

const reasonOf = (reason: unknown): Reason =>
  reason instanceof DuckmirrorError && reason.code !== "INTERRUPTED"
    ? { kind: "stopped", error: reason }
    : { kind: "interrupted" };

export const createEnding = ({ signal, hardSignal, clock, graceMs }: EndingOptions): Ending => {
  const over = new AbortController();
  const broken = new AbortController();
  const closed = new AbortController();
  // Every request in flight listens to them; Node would warn of a leak at the eleventh listener.
  setMaxListeners(0, over.signal, broken.signal);
  let reason: Reason | null = null;

  const breakOff = () => broken.abort(new DuckmirrorError("INTERRUPTED"));
  const end = (why: Reason) => {
    if (closed.signal.aborted) return;
    if (reason !== null) {
      if (why.kind === "failed" && reason.kind !== "failed") reason = why;
      return;
    }
    reason = why;
    over.abort(why.kind === "stopped" ? why.error : new DuckmirrorError("INTERRUPTED"));
    if (graceMs === undefined) return;
    clock.sleep(graceMs, closed.signal).then(breakOff, () => undefined);
  };
  const heed = (of: AbortSignal, act: () => void) => {
    if (of.aborted) return act();
    of.addEventListener("abort", act, { once: true });
    // The option `signal` of the listener does not remove it reliably: Node refers to it weakly, and loses it where runs share `of`.
    closed.signal.addEventListener("abort", () => of.removeEventListener("abort", act), { once: true });
  };
  heed(signal, () => end(reasonOf(signal.reason)));
  if (hardSignal !== undefined) heed(hardSignal, breakOff);

  return {
    signal: over.signal,
    hardSignal: broken.signal,
    stop: (error) => end({ kind: "stopped", error }),
    fail: (fault) => end({ kind: "failed", fault }),
    reason: () => reason,
    close: () => closed.abort(),
  };
};

/** Runs `work` with a signal that also aborts with DURATION_SPENT after `maxMs`; null: no limit. */
export const withinTime = async <T>(
  { signal, clock }: Pick<EndingOptions, "signal" | "clock">,
  maxMs: number | null,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> => {
  if (maxMs === null) return work(signal);
  const late = new AbortController();
  const ended = new AbortController();
  clock.sleep(maxMs, ended.signal).then(
    () => late.abort(new DuckmirrorError("DURATION_SPENT")),
    () => undefined,
  );
  try {
    return await work(AbortSignal.any([signal, late.signal]));
  } finally {
    ended.abort();
  }
};

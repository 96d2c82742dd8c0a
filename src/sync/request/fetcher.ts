// Fetcher: one wanted request until it has an answer that counts. Owns the order reserve, wait for the rate, note the
// intent, send, settle, archive. What to do with an outcome is decided by the API's pure retry policy.
import { ENDPOINTS } from "../../api/endpoints.ts";
import type { ApiCall, ApiOutcome, OkOutcome, Quota, RefusedOutcome } from "../../api/outcome.ts";
import { chargeOf, type Verdict, verdictOf } from "../../api/retry-policy.ts";
import type { Ledger } from "../../budget/memory-store.ts";
import type { StreamName } from "../../catalog/streams.ts";
import type { Clock } from "../../core/clock.ts";
import { DuckmirrorError, type ErrorCode } from "../../core/errors.ts";
import type { JsonValue } from "../../core/json.ts";
import type { ProgressSink } from "../../core/progress-events.ts";
import { inSpan, noTracer, type Tracer } from "../../core/tracing.ts";
import type { Archive } from "../../warehouse/archive/archive.ts";
import type { RequestRecord } from "../../warehouse/record/checkpoint.ts";
import { urlOf } from "./calls.ts";
import { refusedTurn, type Sender, type Sending } from "./sender.ts";

export interface FetcherDeps {
  readonly sender: Sender;
  readonly ledger: Ledger;
  readonly archive: Archive;
  readonly clock: Clock;
  /** In [0, 1): jitter. */
  readonly random: () => number;
  readonly emit: ProgressSink;
  /** Told every usage block, in the order of arrival. */
  readonly onQuota: (quota: Quota) => void;
  /** Ends waiting; a request that is under way is finished. */
  readonly signal: AbortSignal;
  /** Breaks off requests under way too. */
  readonly hardSignal: AbortSignal;
  readonly tracer?: Tracer;
}

/** What is being fetched, for the ledger and the archive. */
export interface FetchOrder {
  readonly runId: string;
  readonly stream: StreamName;
  readonly scope: string;
  readonly walkId: string | null;
  readonly call: ApiCall;
  /** What sync needs to take the answer up from the archive after a crash. */
  readonly detail: JsonValue;
}

export type FetchResult =
  | { readonly kind: "answer"; readonly requestId: string; readonly receivedAt: number; readonly outcome: OkOutcome }
  /** 404: the record or company does not exist. */
  | { readonly kind: "absent"; readonly requestId: string; readonly receivedAt: number }
  /** 400 or 422: ask differently. */
  | { readonly kind: "adjust"; readonly outcome: RefusedOutcome }
  | { readonly kind: "failed"; readonly error: DuckmirrorError; readonly everywhere: boolean }
  /** Ends the whole run: credentials, quota, allowance. */
  | { readonly kind: "stop"; readonly error: DuckmirrorError }
  | { readonly kind: "interrupted" };

/** Result and the ledger rows of every attempt; the row of a final answer comes last. */
export interface Fetched {
  readonly result: FetchResult;
  readonly requests: readonly RequestRecord[];
}

/** Failures that say something about the service as a whole, not about one route. */
const EVERYWHERE: ReadonlySet<ErrorCode> = new Set<ErrorCode>(["SERVICE_UNREACHABLE"]);

/** How often a denied attempt looks whether credits came back. */
const SETTLING_MS = 100;

const quotaOf = (outcome: ApiOutcome) => (outcome.kind === "ok" || outcome.kind === "refused" ? outcome.usage : null);

const errorText = (outcome: ApiOutcome, verdict: Verdict): string | null => {
  if (outcome.kind === "ok") return null;
  if (outcome.kind === "refused") return `HTTP ${outcome.status}`;
  return verdict.kind === "fail" ? `${verdict.code}: ${outcome.detail}` : outcome.detail;
};

/** Ledger rows of attempts whose sender died: they may have cost a credit. */
const lost = (order: FetchOrder, requestId: string, attempts: number, sentAt: number): readonly RequestRecord[] =>
  Array.from({ length: attempts }, (_, index) => ({
    requestId: `${requestId}.lost${index + 1}`,
    runId: order.runId,
    stream: order.stream,
    scope: order.scope,
    endpoint: ENDPOINTS[order.call.endpoint].path,
    url: urlOf(order.call),
    status: null,
    charge: "ambiguous",
    startedAt: sentAt,
    durationMs: 0,
    bytes: 0,
    rows: 0,
    attempt: 1,
    error: "the process that sent it ended",
  }));

export interface Fetcher {
  /**
   * The caller has reserved the credit and waited for its turn; both are used up here. Attempts after the first reserve
   * and wait themselves. Never rejects, except for faults of duckmirror.
   */
  fetch(order: FetchOrder, reservation: string): Promise<Fetched>;
}

export const createFetcher = (deps: FetcherDeps, nextRequestId: () => string): Fetcher => {
  const { sender, ledger, archive, clock, tracer = noTracer } = deps;

  /** A credit for another attempt. While requests in flight may still give theirs back, it waits for them. */
  const reserveAgain = async () => {
    for (;;) {
      const reservation = ledger.tryReserve();
      if (reservation.ok || !reservation.settling || deps.signal.aborted) return reservation;
      await clock.sleep(SETTLING_MS, deps.signal).catch(() => undefined);
    }
  };

  const sendOnce = async (
    order: FetchOrder,
    requestId: string,
    attempt: number,
    reservation: string,
  ): Promise<Sending> => {
    await archive.intent({
      requestId,
      runId: order.runId,
      stream: order.stream,
      scope: order.scope,
      url: urlOf(order.call),
      sentAt: clock.now(),
    });
    const { runId, call, stream, scope, walkId, detail } = order;
    const about = { stream, scope, walkId, url: urlOf(call), detail };
    const sending = await sender.send({ requestId, attempt, runId, call, about }, deps.hardSignal);
    if (sending.kind !== "outcome") {
      ledger.settle(reservation, "free");
      return sending;
    }
    const { outcome, lostAttempts } = sending;
    for (let lost = 0; lost < lostAttempts; lost++) {
      const another = ledger.tryReserve();
      if (another.ok) ledger.settle(another.id, "ambiguous");
    }
    const quota = quotaOf(outcome);
    const sentAt = outcome.sentAt;
    ledger.settle(reservation, chargeOf(outcome));
    if (quota !== null) {
      ledger.observe(quota, sentAt);
      deps.onQuota(quota);
    }
    return sending;
  };

  const keep = async (order: FetchOrder, requestId: string, outcome: ApiOutcome, receivedAt: number) => {
    if (outcome.kind !== "ok" && outcome.kind !== "invalid") return;
    if (outcome.wire === null) return;
    await archive.response(
      {
        requestId,
        runId: order.runId,
        stream: order.stream,
        scope: order.scope,
        walkId: order.walkId,
        endpoint: order.call.endpoint,
        url: urlOf(order.call),
        detail: order.detail,
        sentAt: outcome.sentAt,
        receivedAt,
        status: outcome.status,
        bytes: outcome.bytes,
      },
      outcome.wire,
    );
  };

  const fetch = async (order: FetchOrder, first: string): Promise<Fetched> => {
    const requests: RequestRecord[] = [];
    let reservation = first;
    for (let attempt = 1; ; attempt++) {
      if (attempt > 1) {
        const again = await reserveAgain();
        if (!again.ok) return { requests, result: { kind: "stop", error: ledger.denial(again.code) } };
        reservation = again.id;
        try {
          await sender.turn(deps.signal);
        } catch (reason) {
          ledger.settle(reservation, "free");
          const error = refusedTurn(reason, deps.signal);
          return { requests, result: error === null ? { kind: "interrupted" } : { kind: "stop", error } };
        }
      }
      const requestId = nextRequestId();
      const held = reservation;
      const sending = await sendOnce(order, requestId, attempt, held).catch((error: unknown) => {
        // Whoever waits for this credit to come back must not wait for ever: the run is ending with this fault.
        ledger.settle(held, "ambiguous");
        throw error;
      });
      if (sending.kind === "denied") return { requests, result: { kind: "stop", error: sending.error } };
      if (sending.kind === "unsent") return { requests, result: { kind: "interrupted" } };
      const { outcome, lostAttempts, kept } = sending;
      const receivedAt = clock.now();
      requests.push(...lost(order, requestId, lostAttempts, outcome.sentAt));
      const verdict = verdictOf(outcome, {
        attempt,
        now: receivedAt,
        random: deps.random(),
        remainingCredits: ledger.snapshot().remaining,
        stream: order.stream,
      });
      await keep(order, requestId, outcome, receivedAt);
      if (kept !== undefined) {
        await archive.flush();
        kept();
      }
      requests.push({
        requestId,
        runId: order.runId,
        stream: order.stream,
        scope: order.scope,
        endpoint: ENDPOINTS[order.call.endpoint].path,
        url: urlOf(order.call),
        status: outcome.status,
        charge: chargeOf(outcome),
        startedAt: outcome.sentAt,
        durationMs: outcome.durationMs,
        bytes: outcome.kind === "broken" ? 0 : outcome.bytes,
        rows: outcome.kind === "ok" && Array.isArray(outcome.data) ? outcome.data.length : 0,
        attempt,
        error: errorText(outcome, verdict),
      });
      switch (verdict.kind) {
        case "use":
          if (outcome.kind === "ok") return { requests, result: { kind: "answer", requestId, receivedAt, outcome } };
          throw new TypeError(`a ${outcome.kind} outcome cannot be used`);
        case "absent":
          return { requests, result: { kind: "absent", requestId, receivedAt } };
        case "adjust":
          if (outcome.kind === "refused") return { requests, result: { kind: "adjust", outcome } };
          throw new TypeError(`a ${outcome.kind} outcome cannot be adjusted`);
        case "wait":
          sender.backOff(verdict.untilMs);
          deps.emit({ kind: "waiting", why: verdict.why, until: verdict.untilMs, stream: order.stream });
          continue;
        case "retry":
          deps.emit({ kind: "waiting", why: "retry", until: receivedAt + verdict.waitMs, stream: order.stream });
          try {
            await inSpan(tracer, "wait", () => clock.sleep(verdict.waitMs, deps.signal), {
              attributes: { "duckmirror.wait.reason": "retry", "duckmirror.stream": order.stream },
            });
          } catch {
            return { requests, result: { kind: "interrupted" } };
          }
          continue;
        case "fail": {
          const error = new DuckmirrorError(verdict.code, verdict.context);
          return { requests, result: { kind: "failed", error, everywhere: EVERYWHERE.has(verdict.code) } };
        }
        case "stop":
          return { requests, result: { kind: "stop", error: new DuckmirrorError(verdict.code, verdict.context) } };
        default:
          return verdict satisfies never;
      }
    }
  };

  return { fetch };
};

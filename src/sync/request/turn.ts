// One attempt at a request, always in this order: reserve a credit, wait (backoff, then rate), note the intent, send, settle. Every
// request of a run is sent here (invariant I4). When the run ends, waits end and nothing is sent. fetcher.ts decides on further attempts.
// Also here: `Sender`, which sends the request within rate and shared credits, and the rows of attempts in the ledger `sync.requests`.
import type { Client } from "../../api/client.ts";
import { readAnswerId } from "../../api/envelope.ts";
import type { ApiCall, ApiOutcome, RateInfo, Verdict } from "../../api/outcome.ts";
import { chargeOf } from "../../api/retry-policy.ts";
import type { Charge, QuotaSeen } from "../../budget/credits/ledger.ts";
import type { Ledger } from "../../budget/credits/local-ledger.ts";
import type { Refusal } from "../../budget/rate/learned-limits.ts";
import type { RequestTimes } from "../../budget/rate/limiter.ts";
import type { Throttle } from "../../budget/rate/throttle.ts";
import { ENDPOINTS, leadsTo } from "../../catalog/endpoints.ts";
import type { LedgerStream } from "../../catalog/streams.ts";
import { untilAborted } from "../../core/async/waiting.ts";
import type { Clock } from "../../core/clock.ts";
import { DuckmirrorError } from "../../core/errors.ts";
import type { JsonValue } from "../../core/json.ts";
import type { ProgressSink } from "../../core/report/sync-progress.ts";
import { inSpan, noTracer, type Tracer } from "../../core/tracing.ts";
import type { Archive } from "../../warehouse/archive/archive.ts";
import type { RequestRecord, Work } from "../../warehouse/record/checkpoint.ts";
import { urlOf } from "./calls.ts";

// Sender: carries a request to the service and returns its outcome: a client behind a throttle, and behind the credits that
// several processes share.

export interface OutgoingRequest {
  /** Unique id of this attempt, also in archive and ledger. */
  readonly requestId: string;
  /** 1-based; unset: the first. */
  readonly attempt?: number;
  readonly runId: string;
  readonly stream: LedgerStream;
  readonly call: ApiCall;
}

export type SendResult =
  | { readonly kind: "outcome"; readonly outcome: ApiOutcome }
  /** Not sent, because sending is not permitted for this reason. */
  | { readonly kind: "denied"; readonly error: DuckmirrorError }
  /** Not sent, because the run is ending. */
  | { readonly kind: "unsent" };

interface SendEnds {
  /** The run ends: an unsent request is not sent. */
  readonly signal: AbortSignal;
  /** Aborts the request even after it is sent. */
  readonly hardSignal: AbortSignal;
}

/** Carries requests to the service, behind the limiter. */
export interface Sender extends Pick<Throttle, "acquire"> {
  /** Gives back the slot that `acquire` granted last: nothing is sent. */
  releaseSlot(): void;
  /** Most requests in flight, as the service's refusals showed; null: no such limit is known. */
  mostInFlight?(): number | null;
  /** Sends one request and uses up its slot. Rejects only on faults of duckmirror. */
  send(request: OutgoingRequest, ends: SendEnds): Promise<SendResult>;
  /** Rate information of a response, as its verdict uses it; null: none. */
  observe(rate: RateInfo | null, trip: RequestTimes): void;
  /** After `observe` of a request that was refused for its rate, or for the requests in flight. */
  backOff(refusal: Refusal): void;
}

/** Reason why no slot of the rate was granted; null when the run is ending anyway. Rethrows faults. */
export const sendDenial = (error: unknown, signal: AbortSignal): DuckmirrorError | null => {
  if (signal.aborted) return null;
  if (error instanceof DuckmirrorError) return error;
  throw error;
};

/** The credits of an organization, shared by all processes that spend them. */
export interface SharedCredits {
  /**
   * Reserves a credit for a request that is sent now; null: reserved. Rejects with the signal's reason, and with
   * REDIS_UNAVAILABLE or REDIS_FULL.
   */
  reserve(requestId: string, signal: AbortSignal): Promise<DuckmirrorError | null>;
  /** Settles the credit of an ended request. Never rejects. */
  settle(requestId: string, outcome: ApiOutcome, charge: ReturnType<typeof chargeOf>): Promise<void>;
}

const refusedCredit = async (
  credits: SharedCredits,
  requestId: string,
  signal: AbortSignal,
): Promise<SendResult | null> => {
  let error: DuckmirrorError | null;
  try {
    error = await credits.reserve(requestId, signal);
  } catch (reason) {
    error = sendDenial(reason, signal);
    if (error === null) return { kind: "unsent" };
  }
  return error === null ? null : { kind: "denied", error };
};

/** Sends from this process. `credits`: null when no other process spends credits of the same organization. */
export const createLocalSender = (deps: {
  readonly client: Client;
  readonly throttle: Throttle;
  readonly credits: SharedCredits | null;
}): Sender => {
  const { client, throttle, credits } = deps;
  return {
    ...throttle,
    send: async ({ requestId, call }, { signal, hardSignal }) => {
      const refused = credits === null ? null : await refusedCredit(credits, requestId, signal);
      if (refused !== null) return refused;
      const outcome = await client.send(call, hardSignal);
      // Not awaited: the run needs the response at once, even while Redis is away.
      void credits?.settle(requestId, outcome, chargeOf(outcome));
      return { kind: "outcome", outcome };
    },
  };
};

// The attempt.

export interface AttemptDeps {
  readonly sender: Sender;
  readonly ledger: Ledger;
  readonly archive: Archive;
  readonly clock: Clock;
  readonly emit: ProgressSink;
  /** Called with every usage block, in order of arrival. */
  readonly onQuota: (seen: QuotaSeen) => void;
  /** Aborts when the run ends, and ends every wait before sending. */
  readonly signal: AbortSignal;
  /** Aborts requests that were sent, too. */
  readonly hardSignal: AbortSignal;
  readonly tracer?: Tracer;
  /** Called when an attempt begins, that is, when the run waits for the service; the returned function at its end. */
  readonly onWait?: (() => () => void) | undefined;
}

/** Identity of a request, for the ledger and the archive. */
export interface PlannedRequest {
  readonly runId: string;
  readonly stream: LedgerStream;
  readonly scope: string;
  readonly walkId: string | null;
  readonly call: ApiCall;
  readonly work: Work;
  /** Detail with which sync can load the response from the archive after a crash. */
  readonly detail: JsonValue;
  /** Most attempts; unset: those of the retry policy. */
  readonly maxAttempts?: number;
  /** Most attempts that may be paid; unset: those of the retry policy. */
  readonly maxPaidAttempts?: number;
}

interface Attempt {
  readonly requestId: string;
  /** 1-based. */
  readonly number: number;
  /** Wait before this attempt because of the previous one, ms. */
  readonly backOffMs: number;
  /** Called only when the request may be sent, because the best request may change during the wait. */
  readonly order: () => PlannedRequest;
}

export type AttemptResult =
  | (Extract<SendResult, { kind: "outcome" }> & { readonly order: PlannedRequest })
  /** No credit is left, and no request in flight can refund one. */
  | { readonly kind: "no-credit"; readonly error: DuckmirrorError }
  /** Sending is not permitted for this reason. */
  | { readonly kind: "denied"; readonly error: DuckmirrorError }
  /** Not sent: the service's own id for the record, such as `..`, leads to another route. */
  | { readonly kind: "unaddressable"; readonly call: ApiCall }
  /** The run ends; the request was not sent. */
  | { readonly kind: "ended" };

const ENDED = { kind: "ended" } as const;
/** Shorter waits for the rate are not reported. */
const NOTABLE_WAIT_MS = 2000;

/** Reserves a credit. Waits while requests in flight may still refund theirs. */
const reserve = async ({ ledger, signal }: AttemptDeps) => {
  while (!signal.aborted) {
    const reservation = ledger.tryReserve();
    if (reservation.ok) return { kind: "reserved", id: reservation.id } as const;
    if (!reservation.settling) return { kind: "no-credit", error: ledger.denial(reservation.code) } as const;
    await untilAborted(ledger.settled(), signal).catch(() => undefined);
  }
  return ENDED;
};

/** Waits before another attempt. Cut short when the run ends; then no slot is granted either. */
const backOff = async ({ clock, signal, tracer = noTracer }: AttemptDeps, ms: number): Promise<void> => {
  const attributes = { "duckmirror.wait.reason": "retry" };
  await inSpan(tracer, "wait", () => clock.sleep(ms, signal), { attributes }).catch(() => undefined);
};

/** Waits for the rate. Returns the reason if no slot was granted, else null. */
const waitForRate = async ({ sender, signal, clock, emit }: AttemptDeps, attempt: number) => {
  // For later attempts, the verdict on the earlier one has reported the wait.
  let isReported = attempt > 1;
  try {
    await sender.acquire(signal, (until) => {
      if (!isReported && until - clock.now() > NOTABLE_WAIT_MS) {
        isReported = true;
        emit({ kind: "waiting", why: "rate", until, stream: null });
      }
    });
  } catch (reason) {
    const error = sendDenial(reason, signal);
    return error === null ? ENDED : ({ kind: "denied", error } as const);
  }
  if (!signal.aborted) return null;
  sender.releaseSlot();
  return ENDED;
};

/** Records a response: its charge, and the service's figures. */
const recordResponse = ({ ledger, onQuota, clock }: AttemptDeps, creditId: string, outcome: ApiOutcome): void => {
  ledger.settle(creditId, chargeOf(outcome));
  if ((outcome.kind !== "ok" && outcome.kind !== "refused") || outcome.usage === null) return;
  ledger.observe(outcome.usage, outcome.sentAt);
  onQuota({ quota: outcome.usage, sentAt: outcome.sentAt, receivedAt: clock.now() });
};

/** Makes the attempt. Rejects only on faults of duckmirror; the credit is settled then, too. */
export const makeAttempt = async (deps: AttemptDeps, attempt: Attempt): Promise<AttemptResult> => {
  const credit = await reserve(deps);
  if (credit.kind !== "reserved") return credit;
  /** Charge if no response decides it. */
  let otherwise: Charge = "free";
  let isGranted = false;
  const answered = deps.onWait?.();
  const { requestId, number } = attempt;
  try {
    // The credit is reserved before the wait, so that no attempt waits without one.
    if (attempt.backOffMs > 0) await backOff(deps, attempt.backOffMs);
    const refused = await waitForRate(deps, number);
    if (refused !== null) return refused;
    isGranted = true;
    const order = attempt.order();
    const { runId, stream, scope, call } = order;
    if (!leadsTo(call.endpoint, call.path)) return { kind: "unaddressable", call };
    await deps.archive.intent({ requestId, runId, stream, scope, url: urlOf(call), sentAt: deps.clock.now() });
    if (deps.signal.aborted) return ENDED;
    otherwise = "ambiguous";
    const result = await deps.sender.send({ requestId, attempt: number, runId, call, stream }, deps);
    otherwise = "free";
    isGranted = result.kind !== "outcome";
    if (result.kind === "unsent") return ENDED;
    if (result.kind === "denied") return result;
    recordResponse(deps, credit.id, result.outcome);
    return { ...result, order };
  } finally {
    // A credit that a response has settled stays unchanged.
    deps.ledger.settle(credit.id, otherwise);
    if (isGranted) deps.sender.releaseSlot();
    answered?.();
  }
};

// Ledger rows of requests: one per attempt. Pure.

type LedgerIdentity = Pick<PlannedRequest, "runId" | "stream" | "scope" | "call" | "work">;

/** What a ledger row says before its request is answered. */
export const plannedRow = ({ runId, stream, scope, call, work }: LedgerIdentity) => ({
  runId,
  stream,
  scope,
  work,
  endpoint: ENDPOINTS[call.endpoint].path,
  url: urlOf(call),
});

/** Row of a request whose process ended before its answer came. It may have cost a credit. */
export const unansweredRow = (
  sent: Pick<RequestRecord, "requestId" | "runId" | "stream" | "scope" | "endpoint" | "url" | "startedAt">,
): RequestRecord => ({
  ...sent,
  work: null,
  status: null,
  charge: "ambiguous",
  durationMs: 0,
  bytes: 0,
  rows: 0,
  attempt: 1,
  error: "no answer before the process ended",
  serviceRequestId: null,
  apiVersion: null,
});

/** Credits of attempts; one without a response may have cost its credit, so it counts. */
export const creditsOf = (requests: readonly RequestRecord[]): number => {
  let credits = 0;
  for (const { charge } of requests) if (charge !== "free") credits += 1;
  return credits;
};

const errorText = (outcome: Exclude<ApiOutcome, { kind: "ok" }>, verdict: Verdict): string => {
  const isDoubted = verdict.kind === "fail" && verdict.code === "ROUTE_NOT_FOUND";
  if (outcome.kind === "refused") return `${isDoubted ? "ROUTE_NOT_FOUND: " : ""}HTTP ${outcome.status}`;
  return verdict.kind === "fail" ? `${verdict.code}: ${outcome.detail}` : outcome.detail;
};

/** Row of an attempt. `attempt`: 1-based. */
export const requestRow = (
  { order, outcome }: { readonly order: LedgerIdentity; readonly outcome: ApiOutcome },
  requestId: string,
  attempt: number,
  verdict: Verdict,
): RequestRecord => {
  const isOk = outcome.kind === "ok";
  /** Ids that the service gave its response. */
  const id = isOk ? readAnswerId(outcome.envelope) : outcome.kind === "refused" ? outcome.id : undefined;
  return {
    ...plannedRow(order),
    requestId,
    status: outcome.status,
    charge: chargeOf(outcome),
    startedAt: outcome.sentAt,
    durationMs: outcome.durationMs,
    bytes: outcome.kind === "broken" ? 0 : outcome.bytes,
    rows: isOk && Array.isArray(outcome.data) ? outcome.data.length : 0,
    attempt,
    error: isOk ? null : errorText(outcome, verdict),
    serviceRequestId: id?.requestId ?? null,
    apiVersion: id?.apiVersion ?? null,
  };
};

// Turn: one attempt at one request, in the only order there is: reserve a credit, wait (back off, then for the rate), note
// the intent, send, settle. No request leaves any other way (invariant I4). Once the run ends nothing is waited for, and nothing
// leaves.
import type { ApiCall, ApiOutcome } from "../../api/outcome.ts";
import { chargeOf } from "../../api/retry-policy.ts";
import type { QuotaSeen } from "../../budget/latest-quota.ts";
import type { Charge } from "../../budget/ledger.ts";
import type { Ledger } from "../../budget/memory-store.ts";
import type { StreamName } from "../../catalog/streams.ts";
import type { Clock } from "../../core/clock.ts";
import type { DuckmirrorError } from "../../core/errors.ts";
import type { JsonValue } from "../../core/json.ts";
import type { ProgressSink } from "../../core/progress-events.ts";
import { inSpan, noTracer, type Tracer } from "../../core/tracing.ts";
import { untilAborted } from "../../core/until-aborted.ts";
import type { Archive } from "../../warehouse/archive/archive.ts";
import { urlOf } from "./calls.ts";
import { refusedTurn, type Sender, type Sending } from "./sender.ts";

export interface TurnDeps {
  readonly sender: Sender;
  readonly ledger: Ledger;
  readonly archive: Archive;
  readonly clock: Clock;
  readonly emit: ProgressSink;
  /** Told every usage block, in the order of arrival. */
  readonly onQuota: (seen: QuotaSeen) => void;
  /** Aborts when the run ends: ends every wait before a request leaves. */
  readonly signal: AbortSignal;
  /** Breaks off requests on the wire too. */
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

interface Attempt {
  readonly requestId: string;
  /** 1-based. */
  readonly number: number;
  /** How long to wait before it because of the attempt before, ms. */
  readonly backOffMs: number;
  /** Called when the request may leave, and not before: what is worth asking may change while it waits. */
  readonly order: () => FetchOrder;
}

export type Turn =
  | (Extract<Sending, { kind: "outcome" }> & { readonly order: FetchOrder })
  /** There is no credit, and no request in flight could still give one back. */
  | { readonly kind: "no-credit"; readonly error: DuckmirrorError }
  /** Nobody may send it, for this reason. */
  | { readonly kind: "denied"; readonly error: DuckmirrorError }
  /** The run ends: it did not leave. */
  | { readonly kind: "ended" };

const ENDED = { kind: "ended" } as const;
/** Shorter waits for the rate are not worth a word. */
const NOTABLE_WAIT_MS = 2000;

const quotaOf = (outcome: ApiOutcome) => (outcome.kind === "ok" || outcome.kind === "refused" ? outcome.usage : null);

/** Sets a credit aside. While requests in flight may still give theirs back, it waits for them. */
const reserve = async ({ ledger, signal }: TurnDeps) => {
  while (!signal.aborted) {
    const reservation = ledger.tryReserve();
    if (reservation.ok) return { kind: "reserved", id: reservation.id } as const;
    if (!reservation.settling) return { kind: "no-credit", error: ledger.denial(reservation.code) } as const;
    await untilAborted(ledger.settled(), signal).catch(() => undefined);
  }
  return ENDED;
};

/** Waits before another attempt at what failed. Cut short where the run ends: then no turn comes either. */
const backOff = async ({ clock, signal, tracer = noTracer }: TurnDeps, ms: number): Promise<void> => {
  if (ms === 0) return;
  const attributes = { "duckmirror.wait.reason": "retry" };
  await inSpan(tracer, "wait", () => clock.sleep(ms, signal), { attributes }).catch(() => undefined);
};

/** Waits for the rate; answers with why no turn came, or null. */
const waitForRate = async ({ sender, signal, clock, emit }: TurnDeps, attempt: number) => {
  const until = sender.nextTurnAt();
  // Before later attempts the verdict on the earlier one has said so.
  if (attempt === 1 && until - clock.now() > NOTABLE_WAIT_MS)
    emit({ kind: "waiting", why: "rate", until, stream: null });
  try {
    await sender.turn(signal);
  } catch (reason) {
    const error = refusedTurn(reason, signal);
    return error === null ? ENDED : ({ kind: "denied", error } as const);
  }
  return signal.aborted ? ENDED : null;
};

const note = ({ archive, clock }: TurnDeps, requestId: string, { runId, stream, scope, call }: FetchOrder) =>
  archive.intent({ requestId, runId, stream, scope, url: urlOf(call), sentAt: clock.now() });

const send = (deps: TurnDeps, { requestId, number }: Attempt, order: FetchOrder): Promise<Sending> => {
  const { runId, call, stream, scope, walkId, detail } = order;
  const about = { stream, scope, walkId, url: urlOf(call), detail };
  return deps.sender.send({ requestId, attempt: number, runId, call, about }, deps);
};

/** Books what an answer says: attempts of senders that died, its own charge, the service's figures. */
const book = (
  { ledger, onQuota, clock }: TurnDeps,
  id: string,
  { outcome, lostAttempts }: Extract<Turn, { kind: "outcome" }>,
) => {
  for (let lost = 0; lost < lostAttempts; lost++) {
    const another = ledger.tryReserve();
    if (another.ok) ledger.settle(another.id, "ambiguous");
  }
  ledger.settle(id, chargeOf(outcome));
  const quota = quotaOf(outcome);
  if (quota === null) return;
  ledger.observe(quota, outcome.sentAt);
  onQuota({ quota, sentAt: outcome.sentAt, receivedAt: clock.now() });
};

/** Makes the attempt. Rejects only on faults of duckmirror; its credit is settled then, too. */
export const takeTurn = async (deps: TurnDeps, attempt: Attempt): Promise<Turn> => {
  const credit = await reserve(deps);
  if (credit.kind !== "reserved") return credit;
  /** What becomes of the credit where no answer says it. */
  let otherwise: Charge = "free";
  try {
    // With its credit set aside: an attempt that could not be paid for is not waited for.
    await backOff(deps, attempt.backOffMs);
    const refused = await waitForRate(deps, attempt.number);
    if (refused !== null) return refused;
    const order = attempt.order();
    await note(deps, attempt.requestId, order);
    if (deps.signal.aborted) return ENDED;
    otherwise = "ambiguous";
    const sending = await send(deps, attempt, order);
    otherwise = "free";
    if (sending.kind === "unsent") return ENDED;
    if (sending.kind === "denied") return sending;
    const turn = { ...sending, order };
    book(deps, credit.id, turn);
    return turn;
  } finally {
    // Of a credit that an answer has settled nothing changes.
    deps.ledger.settle(credit.id, otherwise);
  }
};

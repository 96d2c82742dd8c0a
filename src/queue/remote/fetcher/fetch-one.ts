// Fetches one request for a loader on another machine: reserves a credit, records the departure, sends, and puts the
// response into the mailbox. A request is sent only if it is certainly wanted, paid for in advance and within the
// rate.
//
//   reserve a credit ─▶ record the departure ─go─▶ send ─▶ settle ─▶ deliver
//                          │     ▲     └─full, answered, fenced, unlocked─▶ refund
//                        stale ──┘ with a slot of its own (no slot: refund, try later)
import type { ApiOutcome } from "../../../api/outcome.ts";
import { chargeOf } from "../../../api/retry-policy.ts";
import type { RawAnswer } from "../../../api/wire-answer.ts";
import type { Charge } from "../../../budget/credits/ledger.ts";
import { LEASE_MS } from "../../../budget/credits/organization-ledger.ts";
import { ENDPOINTS } from "../../../catalog/endpoints.ts";
import type { Clock } from "../../../core/clock.ts";
import { inSpan, type Span, type Tracer } from "../../../core/tracing.ts";
import { type Departure, deliveryId, type Mailbox } from "../mailbox.ts";
import { callOf, type FetchPayload } from "../messages.ts";
import { fenceKeyOf } from "../names.ts";
import { denialOf, type Organization } from "../organizations.ts";
import { type Packed, packAnswer, packDenial } from "../packed-answer.ts";
import { patiently } from "../patience.ts";
import { sealAnswer } from "../sealed-answers.ts";

/** Longest wait for a new slot, ms. A longer one would keep the fetcher from other requests. */
const SLOT_WAIT_MS = 100;
/**
 * Delays before trying again: while credits may be refunded, while the loader is behind, while the limiter holds
 * requests back.
 */
const SETTLING_MS = 150;
const FULL_MS = 500;
const LONGEST_SLOT_DELAY_MS = 1_000;
/** If recording the departure took longer, ms, the process was paused: the departure is recorded and checked again. */
const PAUSE_MS = 1_000;
/** Time for which a paid response is kept while Redis is away. */
const DELIVERY_PATIENCE_MS = 600_000;
const REDIS_PATIENCE_MS = 30_000;

export type Fetched =
  /** The response is in the mailbox, or is no longer wanted. */
  | { readonly kind: "done" }
  /** Try again after `afterMs`. */
  | { readonly kind: "later"; readonly afterMs: number };

export interface FetchOneDeps {
  readonly organization: Organization;
  readonly mailbox: Mailbox;
  /** Announces to the loader that a response is in the mailbox. */
  readonly announce: (delivery: string) => Promise<void>;
  readonly clock: Clock;
  /** Redis's clock as far as known. */
  readonly storeClock: { now(): number; correct(at: number): void };
  /** Name of the owner that renews the reservations. */
  readonly owner: string;
  readonly lock: { readonly key: string; readonly token: string };
  /** Aborts when no new request should be sent. */
  readonly signal: AbortSignal;
  /** Aborts requests in flight. */
  readonly hardSignal: AbortSignal;
  /** Called when the service refused the credentials. */
  readonly onRefused: () => void;
  readonly tracer: Tracer;
}

const DONE: Fetched = { kind: "done" };
const later = (afterMs: number): Fetched => ({ kind: "later", afterMs });

const chargeOfRaw = (answer: RawAnswer) => (answer.kind === "wire" ? "spent" : chargeOf(answer satisfies ApiOutcome));

/** A stopped fetcher aborts requests; the loader sees a broken connection and sends the request again. */
const asSeenByLoader = (answer: RawAnswer): RawAnswer =>
  answer.kind === "broken" && answer.reason === "aborted"
    ? { ...answer, reason: "reset", detail: "the fetcher was stopped" }
    : answer;

/** The request's place in the rate: the slot that came with it, or one that this fetcher took because it was stale. */
interface Slot {
  readonly at: number;
  readonly isOwn: boolean;
}

const patienceOf = ({ clock, signal }: FetchOneDeps) => ({ clock, forMs: REDIS_PATIENCE_MS, signal });

/** Sends the request, in a span below the loader's. */
const exchange = ({ request, profile, traceparent }: FetchPayload, deps: FetchOneDeps): Promise<RawAnswer> => {
  const { method, path } = ENDPOINTS[request.endpoint];
  const send = async (span: Span): Promise<RawAnswer> => {
    const raw = await deps.organization.client.exchange(callOf(request), deps.hardSignal);
    span.set({ "http.response.status_code": raw.status });
    if (raw.kind === "broken") span.fail(raw.reason);
    return raw;
  };
  const attributes = {
    "http.request.method": method,
    "url.template": path,
    "duckmirror.request.id": request.requestId,
    "duckmirror.profile": profile,
  };
  return inSpan(deps.tracer, `fetch ${method} ${path}`, send, { kind: "client", traceparent, attributes });
};

const deliver = async (
  { request: { requestId }, mirror }: FetchPayload,
  nth: number,
  packed: Packed,
  { organization, mailbox, announce, clock, hardSignal }: FetchOneDeps,
): Promise<void> => {
  const delivery = deliveryId(requestId, nth);
  const stubborn = { clock, forMs: DELIVERY_PATIENCE_MS, signal: hardSignal };
  const answer = sealAnswer(organization.seals, mirror, delivery, packed);
  await patiently(() => mailbox.put(delivery, answer), stubborn);
  await patiently(() => announce(delivery), stubborn);
};

/** A slot for now, or else the time to wait for one, ms. */
const freshSlot = async ({ organization: { throttle }, clock, signal }: FetchOneDeps): Promise<number | null> => {
  try {
    await throttle.acquire(AbortSignal.any([AbortSignal.timeout(SLOT_WAIT_MS), signal]));
    return null;
  } catch {
    return Math.min(Math.max(throttle.state().nextAt - clock.now(), SLOT_WAIT_MS), LONGEST_SLOT_DELAY_MS);
  }
};

const depart = async (payload: FetchPayload, slot: Slot, deps: FetchOneDeps): Promise<Departure> => {
  const { lock, mailbox, storeClock } = deps;
  const { requestId } = payload.request;
  const ask = { requestId, epoch: payload.epoch, lockKey: lock.key, lockToken: lock.token, slotAt: slot.at };
  const departure = await patiently(() => mailbox.depart(ask), patienceOf(deps));
  storeClock.correct(departure.at);
  return departure;
};

/** Another loader took over, or Redis lost its memory; in the latter case the loader soon restores its epoch. */
const fenced = async (deps: FetchOneDeps): Promise<Fetched> =>
  (await patiently(() => deps.mailbox.epoch(), patienceOf(deps))) === null ? later(FULL_MS) : DONE;

const reserve = (payload: FetchPayload, deps: FetchOneDeps) => {
  const { organization, owner, signal, storeClock, clock } = deps;
  const fence = { key: fenceKeyOf(organization.key, payload.mirror), value: payload.epoch };
  const since = payload.runBeganAt === undefined ? undefined : payload.runBeganAt - (storeClock.now() - clock.now());
  return organization.ledger.reserve({ owner, leaseMs: LEASE_MS, fence, signal, since });
};

type Denied = Exclude<Awaited<ReturnType<typeof reserve>>, { ok: true }>;

const withoutCredit = async (denied: Denied, payload: FetchPayload, deps: FetchOneDeps): Promise<Fetched> => {
  if (denied.code === "FENCED") return fenced(deps);
  if (denied.settling) return later(SETTLING_MS);
  await deliver(payload, 0, packDenial(payload.request, deps.storeClock.now(), denialOf(denied)), deps);
  return DONE;
};

/** Why a request must not leave, apart from a stale slot. */
interface Stay {
  readonly kind: Exclude<Departure["kind"], "go" | "stale">;
  readonly nth: number;
}

const withoutLeaving = async (stay: Stay, payload: FetchPayload, deps: FetchOneDeps): Promise<Fetched> => {
  const { requestId } = payload.request;
  switch (stay.kind) {
    case "full":
      return later(FULL_MS);
    case "answered":
      // The sender died before it could announce the response.
      if (stay.nth > 0) await patiently(() => deps.announce(deliveryId(requestId, stay.nth)), patienceOf(deps));
      return DONE;
    case "fenced":
      return fenced(deps);
    case "unlocked":
      return DONE;
    default:
      return stay.kind satisfies never;
  }
};

/** Sends the request, settles its reservation and delivers the response. */
const send = async (
  payload: FetchPayload,
  { nth, slot, reservationId }: { readonly nth: number; readonly slot: Slot; readonly reservationId: string },
  deps: FetchOneDeps,
): Promise<void> => {
  const { organization } = deps;
  const raw = await exchange(payload, deps);
  const answer = asSeenByLoader(raw);
  if (raw.kind === "refused" && raw.status === 401) deps.onRefused();
  // The loader decides what a refusal means for the rate, because it may be about credits
  // (api/retry-policy.ts).
  if (slot.isOwn) void organization.throttle.observe(raw.kind === "wire" ? raw.rate : null, 0);
  const packed = await packAnswer(payload.request, nth, answer, organization.handling);
  // If the ledger is not reachable, the reservation expires and counts as spent until the service's figures
  // settle it. The loader learns whether the charge is in the ledger, because its figures include it.
  const settled = await organization.ledger.settle(reservationId, chargeOfRaw(answer)).then(
    () => true,
    () => false,
  );
  await deliver(payload, nth, { ...packed, note: { ...packed.note, settled } }, deps);
};

/** What became of a request before it left: it may leave, or this is all. */
type Cleared = { readonly kind: "go"; readonly nth: number; readonly slot: Slot } | Fetched;

const clear = async (payload: FetchPayload, deps: FetchOneDeps): Promise<Cleared> => {
  let slot: Slot = { at: payload.slotAt, isOwn: false };
  for (;;) {
    if (deps.signal.aborted) return later(0);
    const askedAt = performance.now();
    const { kind, nth } = await depart(payload, slot, deps);
    if (kind === "stale") {
      const waitMs = await freshSlot(deps);
      if (waitMs !== null) return later(waitMs);
      slot = { at: deps.storeClock.now(), isOwn: true };
      continue;
    }
    if (kind !== "go") return withoutLeaving({ kind, nth }, payload, deps);
    if (performance.now() - askedAt <= PAUSE_MS) return { kind, nth, slot };
  }
};

/**
 * Rejects only if Redis stays away or `signal` aborts: then nothing was sent, or its response could not be delivered.
 */
export const fetchOne = async (payload: FetchPayload, deps: FetchOneDeps): Promise<Fetched> => {
  const { ledger } = deps.organization;
  const reservation = await reserve(payload, deps);
  if (!reservation.ok) return withoutCredit(reservation, payload, deps);
  // If Redis does not hear of it, the reservation expires. One that is settled stays so.
  const failed = (charge: Charge) => (error: unknown) => {
    void ledger.settle(reservation.id, charge).catch(() => undefined);
    throw error;
  };
  const cleared = await clear(payload, deps).catch(failed("free"));
  if (cleared.kind !== "go") {
    await ledger.settle(reservation.id, "free");
    return cleared;
  }
  const { nth, slot } = cleared;
  await send(payload, { nth, slot, reservationId: reservation.id }, deps).catch(failed("ambiguous"));
  return DONE;
};

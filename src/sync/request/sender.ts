// Sender: how a request gets to the service and its outcome back. In one process it is a client behind a throttle;
// with several machines the request travels to a fetcher (src/queue). The fetcher's loop does not know which.
import type { Client } from "../../api/client.ts";
import type { ApiCall, ApiOutcome, RateInfo } from "../../api/outcome.ts";
import { chargeOf } from "../../api/retry-policy.ts";
import type { Trip } from "../../budget/limiter.ts";
import type { Throttle } from "../../budget/throttle.ts";
import { DuckmirrorError } from "../../core/errors.ts";
import type { ArchiveHeader } from "../../warehouse/archive/archive.ts";

/** One request on its way. */
export interface Parcel {
  /** Unique for this attempt; stands in the archive and the ledger. */
  readonly requestId: string;
  /** 1-based; unset: the first. */
  readonly attempt?: number;
  /** W3C `traceparent` of its span, for whoever sends it elsewhere. The service never sees it. */
  readonly traceparent?: string | null;
  readonly runId: string;
  readonly call: ApiCall;
  /** What the archive says beside the answer: whoever finds one that nobody waits for any more can put it there. */
  readonly about: Pick<ArchiveHeader, "stream" | "scope" | "walkId" | "url" | "detail">;
}

export type Sending =
  | {
      readonly kind: "outcome";
      readonly outcome: ApiOutcome;
      /** Attempts of senders that died on the way: each may have cost a credit. */
      readonly lostAttempts: number;
      /** To be called when the answer is durable here: until then the sender keeps it, for this process may die. */
      readonly kept?: () => void;
    }
  /** It never left: nobody may send it, for this reason. */
  | { readonly kind: "denied"; readonly error: DuckmirrorError }
  /** It never left: the run is ending. */
  | { readonly kind: "unsent" };

/** What ends the sending of a request. */
export interface SendEnds {
  /** The run ends: it does not leave any more. */
  readonly signal: AbortSignal;
  /** It is broken off even on the wire. */
  readonly hardSignal: AbortSignal;
}

export interface Sender {
  /** Resolves when one more request may be handed over; rejects with the signal's reason when it aborts first. */
  turn(signal: AbortSignal): Promise<void>;
  /** When that will be as far as is known now, ms since the epoch; in the past: now. */
  nextTurnAt(): number;
  /** Sends one request; uses up the turn. Rejects only on faults of duckmirror. */
  send(parcel: Parcel, ends: SendEnds): Promise<Sending>;
  /** What an answer said about the rate, as its verdict has it; null: nothing. */
  observe(rate: RateInfo | null, trip: Trip): void;
  /** The service refused a request for speed: none leaves before `untilMs`, ms since the epoch. */
  backOff(untilMs: number): void;
}

/**
 * When the next request may leave, ms since the epoch. How long the first answer takes, which tells the rate, nobody knows:
 * that wait has no end that could be named, and counts as none.
 */
export const knownTurnAt = ({ nextAt, why }: ReturnType<Throttle["state"]>): number =>
  why === "first-answer" ? 0 : nextAt;

/** Why no turn came: null when the run is ending anyway, else what keeps requests from leaving. Throws faults on. */
export const refusedTurn = (error: unknown, signal: AbortSignal): DuckmirrorError | null => {
  if (signal.aborted) return null;
  if (error instanceof DuckmirrorError) return error;
  throw error;
};

/** The credits of an organization, as all processes that spend them share them. */
export interface SharedCredits {
  /**
   * Sets one aside for a request that leaves now; null: there is one. Rejects with the signal's reason when that aborts
   * first, and with REDIS_UNAVAILABLE or REDIS_FULL.
   */
  reserve(requestId: string, signal: AbortSignal): Promise<DuckmirrorError | null>;
  /** The request ended so. Never rejects. */
  settle(requestId: string, outcome: ApiOutcome, charge: ReturnType<typeof chargeOf>): Promise<void>;
}

/** Why no credit could be set aside; null: there is one. */
const refusedCredit = async (
  credits: SharedCredits,
  requestId: string,
  signal: AbortSignal,
): Promise<Sending | null> => {
  let error: DuckmirrorError | null;
  try {
    error = await credits.reserve(requestId, signal);
  } catch (reason) {
    error = refusedTurn(reason, signal);
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
  let flying = 0;
  return {
    turn: (signal) => throttle.acquire(signal),
    nextTurnAt: () => knownTurnAt(throttle.state()),
    backOff: (untilMs) => void throttle.backOff(untilMs),
    observe: (rate, trip) => void throttle.observe(rate, flying, trip),
    send: async ({ requestId, call }, { signal, hardSignal }) => {
      const refused = credits === null ? null : await refusedCredit(credits, requestId, signal);
      if (refused !== null) return refused;
      flying += 1;
      const outcome = await client.send(call, hardSignal).finally(() => {
        flying -= 1;
      });
      // Not awaited: what the answer means must be known at once, also while Redis is away.
      void credits?.settle(requestId, outcome, chargeOf(outcome));
      return { kind: "outcome", outcome, lostAttempts: 0 };
    },
  };
};

// Sender: carries a request to the service and returns its outcome: a client behind a throttle, and behind the credits that
// several processes share.
import type { Client } from "../../api/client.ts";
import type { ApiCall, ApiOutcome, RateInfo } from "../../api/outcome.ts";
import { chargeOf } from "../../api/retry-policy.ts";
import type { Refusal } from "../../budget/rate/learned.ts";
import type { Trip } from "../../budget/rate/limiter.ts";
import type { Throttle } from "../../budget/rate/throttle.ts";
import type { LedgerStream } from "../../catalog/streams.ts";
import { DuckmirrorError } from "../../core/errors.ts";

export interface Parcel {
  /** Unique id of this attempt, also in archive and ledger. */
  readonly requestId: string;
  /** 1-based; unset: the first. */
  readonly attempt?: number;
  readonly runId: string;
  readonly stream: LedgerStream;
  readonly call: ApiCall;
}

export type Sending =
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
  /** The latest turn is not used: nothing is sent. */
  giveBack(): void;
  /** Most requests in flight, as the service's refusals showed; null: no such limit is known. */
  mostInFlight?(): number | null;
  /** Sends one request and uses up the turn. Rejects only on faults of duckmirror. */
  send(parcel: Parcel, ends: SendEnds): Promise<Sending>;
  /** Rate information of a response, as its verdict uses it; null: none. */
  observe(rate: RateInfo | null, trip: Trip): void;
  /** After `observe` of a request that was refused for its rate, or for the requests in flight. */
  backOff(refusal: Refusal): void;
}

/** Reason why no turn was granted; null when the run is ending anyway. Rethrows faults. */
export const refusedTurn = (error: unknown, signal: AbortSignal): DuckmirrorError | null => {
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

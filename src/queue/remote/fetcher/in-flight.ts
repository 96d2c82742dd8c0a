// Requests of this process at the service: each holds a place of its profile, hangs after a time without an answer, and
// then keeps its reservation alive without holding the place of another.
import { RENEW_MS } from "../../../budget/credits/organization-ledger.ts";
import { detailOf } from "../../../core/errors.ts";
import type { FetchPayload } from "../messages.ts";
import type { Organization } from "../organizations.ts";
import { createFairShare } from "./fair-share.ts";

/** The organization of a request. */
type Spender = { readonly ledger: Pick<Organization["ledger"], "renew"> };

/** Most hanging requests, as a multiple of the slots. */
const MOST_HANGING = 15;

export interface InFlight {
  readonly admits: ReturnType<typeof createFairShare>["admits"];
  count(): number;
  /** Most jobs to take now: more than slots while requests hang. */
  places(): number;
  /** Runs the request in a place of its profile. */
  during<T>(payload: Pick<FetchPayload, "profile">, organization: Spender, send: () => Promise<T>): Promise<T>;
  close(): void;
}

export const createInFlight = (options: {
  readonly slots: number;
  /** Owner of the reservations. */
  readonly owner: string;
  /** Time without an answer after which a request hangs, ms. */
  readonly hangingMs: number;
  /** Called when the number of places may have changed. */
  readonly onChange: () => void;
  readonly warn: (text: string) => void;
}): InFlight => {
  const { slots, owner, hangingMs, onChange, warn } = options;
  const share = createFairShare(slots);
  /** Organizations of hanging requests, whose reservations must not expire. */
  const lingering = new Map<symbol, Spender>();
  let requests = 0;
  const renewing = setInterval(() => {
    for (const { ledger } of new Set(lingering.values())) {
      ledger.renew(owner).catch((error: unknown) => warn(detailOf(error)));
    }
  }, RENEW_MS);
  return {
    admits: share.admits,
    count: () => requests,
    places: () => slots + Math.min(share.hanging(), slots * MOST_HANGING),
    during: async (payload, organization, send) => {
      const seat = share.enter(payload.profile);
      requests += 1;
      const stay = Symbol(payload.profile);
      const hanging = setTimeout(() => {
        seat.slow();
        lingering.set(stay, organization);
        onChange();
      }, hangingMs);
      try {
        return await send();
      } finally {
        requests -= 1;
        clearTimeout(hanging);
        lingering.delete(stay);
        seat.leave();
        onChange();
      }
    },
    close: () => clearInterval(renewing),
  };
};

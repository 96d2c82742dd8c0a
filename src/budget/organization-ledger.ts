// The ledger of an organization, shared by all processes that spend its credits: what is left, and what everybody has
// set aside. A run's own allowance is another ledger (memory-store.ts).
import { randomUUID } from "node:crypto";
import type { Quota } from "../api/outcome.ts";
import type { Clock } from "../core/clock.ts";
import { isCode } from "../core/errors.ts";
import {
  type Lease,
  lapse,
  observeLedger,
  renewLeases,
  reserveLease,
  restoreLeases,
  type SharedLedger,
  settleLease,
} from "./leases.ts";
import { type Charge, type Denial, type LedgerSnapshot, type Limits, snapshotOf } from "./ledger.ts";
import type { Fence, StateStore } from "./state-store.ts";

export interface ReservationAsk {
  /** Who renews the reservation, e.g. a job. */
  readonly owner: string;
  /** How long it lasts without being renewed, ms. Then its request counts as one that died without an answer. */
  readonly leaseMs: number;
  readonly fence?: Fence;
  readonly signal?: AbortSignal;
  /**
   * When the run began that asks, ms since the epoch of this machine's clock: credits may have been bought since a
   * figure of zero from before. Unset: the figure is believed for a while.
   */
  readonly since?: number | undefined;
}

export type SharedReservation =
  | { readonly ok: true; readonly id: string }
  | {
      readonly ok: false;
      readonly code: Denial | "FENCED";
      /** Requests in flight, anybody's, may still give credits back: ask again later. */
      readonly settling: boolean;
      /** End of the period, ms since the epoch; null: not known. */
      readonly resetsAt: number | null;
    };

/** What the service reported in an answer to a request sent at `sentAt`, ms since the epoch of this machine's clock. */
export interface Report {
  readonly quota: Quota;
  readonly sentAt: number;
}

/** Every method rejects with REDIS_UNAVAILABLE or REDIS_FULL where a shared store stays away. */
export interface OrganizationLedger {
  /** Sets one credit aside for one request. */
  reserve(ask: ReservationAsk): Promise<SharedReservation>;
  /**
   * The request ended, also one whose reservation ran out meanwhile; `report`: what its answer said is left. Of a
   * reservation settled before, or never made, nothing changes. Where it rejects, the reservation runs out.
   */
  settle(id: string, charge: Charge, report?: Report): Promise<void>;
  /** What is left, by an answer that settles nothing. */
  observe(quota: Quota, sentAt: number): Promise<void>;
  /** Keeps the open reservations of `owner`: call it while its requests wait or are in flight. */
  renew(owner: string): Promise<void>;
  snapshot(): Promise<LedgerSnapshot>;
}

export interface OrganizationLedgerOptions {
  readonly clock: Clock;
  readonly store: StateStore<SharedLedger>;
  readonly limits: Limits;
}

export const createOrganizationLedger = ({ clock, store, limits }: OrganizationLedgerOptions): OrganizationLedger => {
  /** Open reservations of this process: should the store lose its memory, they are known here. */
  const held = new Map<string, Omit<Lease, "until">>();

  const taken = (stored: SharedLedger, now: number): SharedLedger => {
    const state = restoreLeases(stored, [...held.values()], now);
    return { ...state, ledger: { ...state.ledger, limits } };
  };

  const change = (step: (state: SharedLedger, now: number, skewMs: number) => SharedLedger): Promise<void> =>
    store.update((stored, now) => ({
      state: step(taken(stored, now), now, now - clock.now()),
      result: undefined,
    }));

  return {
    reserve: async ({ owner, leaseMs, fence, signal, since = -Infinity }) => {
      const lease = { id: randomUUID(), owner, leaseMs };
      try {
        const reservation = await store.update<SharedReservation>(
          (stored, now) => {
            const skewMs = now - clock.now();
            const result = reserveLease(taken(stored, now), lease, now, since + skewMs);
            if (result.ok) return { state: result.state, result: { ok: true, id: lease.id } };
            const { code, settling } = result;
            const resetsAt = result.state.ledger.period?.resetsAt ?? null;
            // Unchanged unless a reservation ran out: a denial is not worth a write.
            const same = result.state.open.length === stored.open.length;
            return { state: same ? stored : result.state, result: { ok: false, code, settling, resetsAt } };
          },
          { signal, fence },
        );
        if (reservation.ok) held.set(lease.id, lease);
        return reservation;
      } catch (error) {
        if (!isCode(error, "FENCED")) throw error;
        return { ok: false, code: "FENCED", settling: false, resetsAt: null };
      }
    },
    settle: (id, charge, report) => {
      held.delete(id);
      return change((state, now, skewMs) => {
        const settled = settleLease(state, id, charge, now);
        return report === undefined ? settled : observeLedger(settled, report.quota, report.sentAt + skewMs, now);
      });
    },
    observe: (quota, sentAt) =>
      change((state, now, skewMs) => {
        // Somebody else may have settled last: nobody's credit is taken for granted to be part of this figure.
        const unsettled = { ...state, ledger: { ...state.ledger, reporting: false } };
        return observeLedger(unsettled, quota, sentAt + skewMs, now);
      }),
    renew: (owner) => change((state, now) => renewLeases(state, owner, now)),
    snapshot: () =>
      store.update((stored, now) => {
        const state = lapse(taken(stored, now), now);
        return { state: stored, result: snapshotOf(state.ledger, now) };
      }),
  };
};

// Credit ledger of an organization, shared by all processes that spend its credits: reserves, settles and renews leases (leases.ts) in a
// state store. A run's own allowance is in local-ledger.ts.
import type { Quota } from "../../api/outcome.ts";
import type { Clock } from "../../core/clock.ts";
import type { StateStore } from "../store/state-store.ts";
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

/**
 * Life of a reservation without renewal, ms, and the interval of renewals. Until the service has reported its credits, one
 * request is sent at a time, so the request of a killed process delays the others for this long.
 */
export const LEASE_MS = 20_000;
export const RENEW_MS = LEASE_MS / 4;

export type SharedReservation =
  | { readonly ok: true }
  | {
      readonly ok: false;
      readonly code: Denial;
      /** Requests in flight of any process may still refund credits; try again later. */
      readonly settling: boolean;
      /** End of the period, ms since the epoch; null: unknown. */
      readonly resetsAt: number | null;
    };

/** Figures in a response to a request sent at `sentAt`, ms since the epoch by this machine's clock. */
export interface Report {
  readonly quota: Quota;
  readonly sentAt: number;
}

/** Every method rejects with REDIS_UNAVAILABLE or REDIS_FULL when the shared store is not reachable. */
export interface OrganizationLedger {
  /**
   * Reserves one credit for a request. `since`: start of the requesting run, ms since the epoch by this machine's clock: credits may
   * have been bought since an earlier figure of zero. Unset: the figure is trusted for a while.
   */
  reserve(
    requestId: string,
    options?: { readonly signal?: AbortSignal; readonly since?: number },
  ): Promise<SharedReservation>;
  /**
   * Settles a reservation, also an expired one; `report`: figures in its response. Unknown or settled ones stay
   * unchanged. If it rejects, the reservation expires.
   */
  settle(requestId: string, charge: Charge, report?: Report): Promise<void>;
  /** Renews the reservations that this process has not settled; call it while its requests wait or are in flight. */
  renew(): Promise<void>;
  snapshot(): Promise<LedgerSnapshot>;
}

export interface OrganizationLedgerOptions {
  readonly clock: Clock;
  readonly store: StateStore<SharedLedger>;
  readonly limits: Limits;
  /** Life of a reservation without renewal, ms; the default is for production. */
  readonly leaseMs?: number;
}

export const createOrganizationLedger = (options: OrganizationLedgerOptions): OrganizationLedger => {
  const { clock, store, limits, leaseMs = LEASE_MS } = options;
  /** Open reservations of this process, in case the store loses its memory. */
  const held = new Map<string, Omit<Lease, "until">>();

  /** The stored state with the reservations that this process still holds, and its limits. */
  const currentOf = (stored: SharedLedger, now: number): SharedLedger => {
    const state = restoreLeases(stored, [...held.values()], now);
    return { ...state, ledger: { ...state.ledger, limits } };
  };

  const change = (step: (state: SharedLedger, now: number, skewMs: number) => SharedLedger): Promise<void> =>
    store.update((stored, now) => ({
      state: step(currentOf(stored, now), now, now - clock.now()),
      result: undefined,
    }));

  return {
    reserve: async (requestId, { signal, since = -Infinity } = {}) => {
      const lease = { id: requestId, leaseMs };
      const reservation = await store.update<SharedReservation>(
        (stored, now) => {
          const skewMs = now - clock.now();
          const result = reserveLease(currentOf(stored, now), lease, now, since + skewMs);
          if (result.ok) return { state: result.state, result: { ok: true } };
          const { code, settling } = result;
          const resetsAt = result.state.ledger.period?.resetsAt ?? null;
          // A denial is not written, unless a reservation expired.
          const same = result.state.open.length === stored.open.length;
          return { state: same ? stored : result.state, result: { ok: false, code, settling, resetsAt } };
        },
        { signal },
      );
      if (reservation.ok) held.set(requestId, lease);
      return reservation;
    },
    settle: (requestId, charge, report) => {
      held.delete(requestId);
      return change((state, now, skewMs) => {
        const settled = settleLease(state, requestId, charge, now);
        return report === undefined ? settled : observeLedger(settled, report.quota, report.sentAt + skewMs, now);
      });
    },
    renew: async () => {
      if (held.size === 0) return;
      const ids = new Set(held.keys());
      await change((state, now) => renewLeases(state, ids, now));
    },
    snapshot: () =>
      store.update((stored, now) => {
        const state = lapse(currentOf(stored, now), now);
        return { state: stored, result: snapshotOf(state.ledger, now) };
      }),
  };
};

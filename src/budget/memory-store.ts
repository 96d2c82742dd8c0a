// The ledger of one process: keeps the state of ledger.ts in memory and hands out reservations.
import type { Quota } from "../api/outcome.ts";
import type { Clock } from "../core/clock.ts";
import { DuckmirrorError } from "../core/errors.ts";
import {
  type Charge,
  type Denial,
  type LedgerSnapshot,
  type LedgerState,
  type Limits,
  observe,
  openLedger,
  reserve,
  settle,
  snapshotOf,
} from "./ledger.ts";

export interface LedgerOptions extends Partial<Limits> {
  readonly clock: Clock;
}

type ReservationResult =
  | { readonly ok: true; readonly id: string }
  /** `settling`: requests in flight may still give credits back; ask again when one has ended. */
  | { readonly ok: false; readonly code: Denial; readonly settling: boolean };

export interface Ledger {
  /** Sets one credit aside for one request. */
  tryReserve(): ReservationResult;
  /** The request ended; of a reservation settled before, or never made, nothing changes. */
  settle(id: string, charge: Charge): void;
  /** `usage` of an answer to a request sent at `sentAt`, ms since the epoch. Settle that request first. */
  observe(quota: Quota, sentAt: number): void;
  /** Resolves when a request has been settled, or the service has said what is left: then another may get a credit. */
  settled(): Promise<void>;
  snapshot(): LedgerSnapshot;
  /** The error that ends a run for this reason. */
  denial(code: Denial): DuckmirrorError;
}

const DAY_MS = 86_400_000;

/**
 * Opens the ledger of one run. By default nothing but the organization's remaining credits limits it. It starts without
 * a figure of an earlier run on purpose: credits bought since would stay unused, and asking with none left is free.
 */
export const createLedger = (options: LedgerOptions): Ledger => {
  const { clock, maxCredits = null, pace = "greedy", runEveryMs = DAY_MS } = options;
  let state: LedgerState = openLedger({ maxCredits, reserve: options.reserve ?? 0, pace, runEveryMs });
  const open = new Set<string>();
  const waiting: (() => void)[] = [];
  const wake = () => {
    for (const resolve of waiting.splice(0)) resolve();
  };
  let made = 0;

  return {
    tryReserve: () => {
      const result = reserve(state, clock.now());
      if (!result.ok) return result;
      state = result.state;
      made += 1;
      const id = String(made);
      open.add(id);
      return { ok: true, id };
    },
    settle: (id, charge) => {
      if (!open.delete(id)) return;
      state = settle(state, charge, clock.now());
      wake();
    },
    observe: (quota, sentAt) => {
      state = observe(state, quota, sentAt, clock.now());
      wake();
    },
    settled: () =>
      new Promise((resolve) => {
        waiting.push(resolve);
      }),
    snapshot: () => snapshotOf(state, clock.now()),
    denial: (code) => {
      const { allowance, resetsAt } = snapshotOf(state, clock.now());
      if (code === "BUDGET_SPENT") return new DuckmirrorError(code, { allowance: allowance ?? 0 });
      return new DuckmirrorError(code, {
        until: resetsAt === null ? "" : ` until ${new Date(resetsAt).toISOString()}`,
      });
    },
  };
};

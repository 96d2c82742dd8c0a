// `Ledger`: the interface through which a run reserves credits, and its implementation in memory with the pure functions of ledger.ts. Also
// records the quota that the service last reported.
import type { Quota } from "../../api/outcome.ts";
import type { Clock } from "../../core/clock.ts";
import { DuckmirrorError } from "../../core/errors.ts";
import {
  allowanceAt,
  type Charge,
  type Denial,
  isLaterQuota,
  type LedgerSnapshot,
  type LedgerState,
  type Limits,
  observe,
  openLedger,
  type QuotaSeen,
  reserve,
  settle,
  snapshotOf,
} from "./ledger.ts";

export interface LedgerOptions extends Partial<Limits> {
  readonly clock: Clock;
}

type ReservationResult =
  | { readonly ok: true; readonly id: string }
  /** `settling`: requests in flight may still refund credits; try again when one has ended. */
  | { readonly ok: false; readonly code: Denial; readonly settling: boolean };

export interface Ledger {
  /** Reserves one credit for one request. */
  tryReserve(): ReservationResult;
  /** Settles a reservation; unknown or settled ones stay unchanged. */
  settle(id: string, charge: Charge): void;
  /** `usage` of an answer to a request sent at `sentAt`, ms since the epoch. Settle that request first. */
  observe(quota: Quota, sentAt: number): void;
  /** Resolves after a settlement or a new figure; a waiting request may then get a credit. */
  settled(): Promise<void>;
  snapshot(): LedgerSnapshot;
  /** Credits that the run may spend if these are the service's figures; null: no known limit. */
  expects(credits: Quota): number | null;
  /** Error that ends a run for this reason. */
  denial(code: Denial): DuckmirrorError;
}

const DAY_MS = 86_400_000;

/**
 * Opens the ledger of one run. By default only the organization's remaining credits limit it. It does not start with
 * a figure of an earlier run, because credits may have been bought since, and a request without credits is free.
 */
export const createLedger = (options: LedgerOptions): Ledger => {
  const { clock, maxCredits = null, pace = "greedy", runEveryMs = DAY_MS } = options;
  const { reserve: kept = 0, rollsOver } = options;
  let state: LedgerState = openLedger({ maxCredits, reserve: kept, pace, runEveryMs, rollsOver });
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
    expects: (credits) => allowanceAt(state.limits, credits, clock.now()),
    denial: (code) => {
      const { allowance, resetsAt } = snapshotOf(state, clock.now());
      if (code === "BUDGET_SPENT") return new DuckmirrorError(code, { allowance: allowance ?? 0 });
      return new DuckmirrorError(code, {
        until: resetsAt === null ? "" : ` until ${new Date(resetsAt).toISOString()}`,
      });
    },
  };
};

// Keeps the latest `usage` block of a run, and returns it whenever one should be stored. A reading has the time when its response
// arrived, not when it is stored.

/** Shortest time between two stored readings; the last one is stored at the run's end. */
const QUOTA_EVERY_MS = 60_000;

export type QuotaRecorder = ReturnType<typeof createQuotaRecorder>;

export const createQuotaRecorder = (clock: Clock) => {
  let latest: QuotaSeen | null = null;
  let recorded: QuotaSeen | null = null;
  let recordedAt = Number.NEGATIVE_INFINITY;
  /**
   * Time of the stored reading. A later one of the same millisecond gets the next, because the table has one row per
   * time.
   */
  let capturedAt = Number.NEGATIVE_INFINITY;
  return {
    see: (seen: QuotaSeen): void => {
      if (isLaterQuota(latest, seen)) latest = seen;
    },
    /** The reading to store now; `final`: also one that is not due yet. */
    take: (final = false): (Quota & { readonly capturedAt: number }) | null => {
      const now = clock.now();
      if (latest === null || latest === recorded || (!final && now - recordedAt < QUOTA_EVERY_MS)) return null;
      recorded = latest;
      recordedAt = now;
      capturedAt = Math.max(latest.receivedAt, capturedAt + 1);
      return { capturedAt, ...latest.quota };
    },
  };
};

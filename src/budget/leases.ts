// Leases: the ledger of an organization, whose reservations have owners that may die. Pure, over ledger.ts.
// A reservation that ran out counts as one more request without an answer, until the service's figures, or its owner
// after all, say what became of it.
import type { Quota } from "../api/outcome.ts";
import {
  type Charge,
  type Denial,
  type LedgerState,
  type Limits,
  observe,
  openLedger,
  periodOf,
  remainingIn,
  reserve,
  settle,
} from "./ledger.ts";

/** A credit that is set aside for a request. */
export interface Lease {
  readonly id: string;
  /** Who renews it: a process, or one job of it. */
  readonly owner: string;
  readonly leaseMs: number;
  /** When it runs out, ms since the epoch. */
  readonly until: number;
}

/** A reservation that ran out, and under which moment the ledger counts it as ambiguous. */
interface Lapse {
  readonly id: string;
  readonly at: number;
}

export interface SharedLedger {
  readonly ledger: LedgerState;
  readonly open: readonly Lease[];
  readonly lapsed: readonly Lapse[];
  /** When the service last told what is left, ms since the epoch; null: never, or it is not believed any more. */
  readonly figureAt: number | null;
}

/**
 * Credits can be bought within a period: a figure of zero refuses nobody whose run began after it, nor once it is as old
 * as this.
 */
const ZERO_HOLDS_MS = 600_000;

export const openSharedLedger = (limits: Limits): SharedLedger => ({
  ledger: openLedger(limits),
  open: [],
  lapsed: [],
  figureAt: null,
});

const isKept = (ledger: LedgerState, { at }: Lapse) =>
  ledger.ambiguous.includes(at) || ledger.unseenAmbiguous.includes(at);

/** Reservations whose time is over at `now` become ambiguous. */
export const lapse = (state: SharedLedger, now: number): SharedLedger => {
  const over = state.open.filter(({ until }) => until <= now);
  if (over.length === 0) return state;
  const ledger = over.reduce((each) => settle(each, "ambiguous", now), state.ledger);
  return {
    ...state,
    ledger,
    open: state.open.filter(({ until }) => until > now),
    lapsed: [...state.lapsed, ...over.map(({ id }) => ({ id, at: now }))].filter((each) => isKept(ledger, each)),
  };
};

export type LeaseResult =
  | { readonly ok: true; readonly state: SharedLedger }
  | { readonly ok: false; readonly code: Denial; readonly settling: boolean; readonly state: SharedLedger };

/** Sets one credit aside under `lease`; of one that is open already nothing changes. */
export const reserveLease = (
  before: SharedLedger,
  lease: Omit<Lease, "until">,
  now: number,
  /** When the run began that asks, ms since the epoch. */
  since = -Infinity,
): LeaseResult => {
  const state = lapse(before, now);
  if (state.open.some(({ id }) => id === lease.id)) return { ok: true, state };
  const { ledger } = state;
  // Until the first answer nobody knows what is left, not even whether others are spending it: one goes ahead.
  if (ledger.period === null && ledger.spent === 0 && ledger.reserved > 0) {
    return { ok: false, code: "QUOTA_SPENT", settling: true, state };
  }
  const result = reserve(ledger, now);
  const { figureAt } = state;
  const outdated = figureAt !== null && (figureAt < since || now - figureAt >= ZERO_HOLDS_MS);
  // Asking with none left costs nothing: the figure is forgotten, and one request goes ahead for a new one.
  if (!result.ok && result.code === "QUOTA_SPENT" && !result.settling && outdated) {
    const unknown = { ...ledger, period: null, spent: 0, unseen: [] };
    return reserveLease({ ...state, ledger: unknown, figureAt: null }, lease, now, since);
  }
  if (!result.ok) return { ...result, state };
  return {
    ok: true,
    state: { ...state, ledger: result.state, open: [...state.open, { ...lease, until: now + lease.leaseMs }] },
  };
};

const without = (moments: readonly number[], at: number): readonly number[] => {
  const index = moments.indexOf(at);
  return index === -1 ? moments : moments.toSpliced(index, 1);
};

/** A reservation that ran out is answered after all. Where figures settled it meanwhile they are believed. */
const correct = (ledger: LedgerState, at: number, charge: Charge, now: number): LedgerState => {
  if (charge === "ambiguous" || !ledger.ambiguous.includes(at)) return ledger;
  const open = {
    ...ledger,
    ambiguous: without(ledger.ambiguous, at),
    unseenAmbiguous: without(ledger.unseenAmbiguous, at),
  };
  if (charge === "free") return open;
  // No figure has shown it yet: it stays subtracted until one does.
  const hidden = ledger.unseenAmbiguous.includes(at);
  return { ...open, spent: ledger.spent + 1, unseen: hidden ? [...ledger.unseen, now] : ledger.unseen };
};

/** The request of a reservation ended; of one that was settled before, or never made, nothing changes. */
export const settleLease = (state: SharedLedger, id: string, charge: Charge, now: number): SharedLedger => {
  if (state.open.some((lease) => lease.id === id)) {
    return {
      ...state,
      ledger: settle(state.ledger, charge, now),
      open: state.open.filter((lease) => lease.id !== id),
    };
  }
  const late = state.lapsed.find((each) => each.id === id);
  if (late === undefined) return state;
  return {
    ...state,
    // `reporting` is of the request settled last, and this is not how it is settled.
    ledger: { ...correct(state.ledger, late.at, charge, now), reporting: false },
    lapsed: state.lapsed.filter((each) => each.id !== id),
  };
};

/** Takes over what the service reported; see `observe` of the ledger. A new period starts counting from nothing. */
export const observeLedger = (state: SharedLedger, quota: Quota, sentAt: number, now: number): SharedLedger => {
  const { period } = state.ledger;
  const begins = period !== null && remainingIn(quota) !== null && periodOf(period, quota.resetsAt) === "later";
  const fresh = begins ? { ...state.ledger, spent: 0, ambiguous: [] } : state.ledger;
  const ledger = observe(fresh, quota, sentAt, now);
  const figureAt = remainingIn(quota) === null ? state.figureAt : now;
  return { ...state, ledger, figureAt, lapsed: state.lapsed.filter((each) => isKept(ledger, each)) };
};

/** All open reservations of `owner` last for another of their terms from `now` on. */
export const renewLeases = (before: SharedLedger, owner: string, now: number): SharedLedger => {
  const state = lapse(before, now);
  return {
    ...state,
    open: state.open.map((lease) => (lease.owner === owner ? { ...lease, until: now + lease.leaseMs } : lease)),
  };
};

/** Reservations that a process holds and the store forgot, because it lost its memory, are open again. */
export const restoreLeases = (
  state: SharedLedger,
  held: readonly Omit<Lease, "until">[],
  now: number,
): SharedLedger => {
  const known = new Set([...state.open, ...state.lapsed].map(({ id }) => id));
  const lost = held.filter(({ id }) => !known.has(id));
  if (lost.length === 0) return state;
  return {
    ...state,
    ledger: { ...state.ledger, reserved: state.ledger.reserved + lost.length },
    open: [...state.open, ...lost.map((lease) => ({ ...lease, until: now + lease.leaseMs }))],
  };
};

// What a plan is made from, for tests: options as a plain `sync` has them, the state of a list, a view of a mirror.
import { STREAM_NAMES, type StreamName } from "../../../../src/catalog/streams.ts";
import {
  type Candidate,
  type Context,
  type DueOptions,
  type MirrorView,
  stateKey,
} from "../../../../src/sync/plan/candidate.ts";
import type { ScopeState } from "../../../../src/warehouse/record/checkpoint.ts";

const DAY = 86_400_000;

export const dueOptions = (more: Partial<DueOptions> = {}): DueOptions => ({
  streams: STREAM_NAMES,
  named: false,
  full: false,
  companies: [],
  content: [],
  maxAgeMs: {},
  reconcileEveryMs: 7 * DAY,
  budgets: {},
  rowScope: {},
  shapes: new Map(),
  largestPage: 100,
  usage: { historyDays: 30, breakdowns: ["endpoint"] },
  ...more,
});

/** A list that was read completely when it was last looked at. */
export const idleState = (
  { stream, scope, at }: { readonly stream: StreamName; readonly scope: string; readonly at: number },
  more: Partial<ScopeState> = {},
): ScopeState => ({
  stream,
  scope,
  status: "idle",
  walkId: null,
  cursor: null,
  watermark: null,
  totalCount: 5,
  rowsAtWalk: 5,
  checkedAt: at,
  walkedAt: at,
  unconfirmed: null,
  error: null,
  runId: "r",
  ...more,
});

/** A mirror with these states of lists, else empty. `now`: ms since the epoch. */
export const viewOf = (now: number, states: readonly ScopeState[], more: Partial<MirrorView> = {}): MirrorView => ({
  now,
  creditLimit: null,
  states: new Map(states.map((state) => [stateKey(state.stream, state.scope), state])),
  accounts: [],
  companies: new Set(),
  inputs: [],
  sameAccounts: new Set(),
  hints: new Map(),
  signalsWithoutContent: [],
  ...more,
});

/** What a plan of this mirror is made from. */
export const contextOf = (
  now: number,
  states: readonly ScopeState[],
  options: Partial<DueOptions> = {},
  view: Partial<MirrorView> = {},
): Context => ({ view: viewOf(now, states, view), options: dueOptions(options) });

/** One request of a list, unless it says otherwise. */
export const due = (stream: StreamName, mode: Candidate["mode"], more: Partial<Candidate> = {}): Candidate => ({
  stream,
  scope: "",
  mode,
  overlap: false,
  because: "",
  requests: 1,
  worth: 0,
  ...more,
});

// Chooses the next request of a run: among the lists that it reads, the most valuable one that has a page to request. If too few have one,
// it starts the next candidate of the plan, and plans again when finished work may have made other lists due. dispatcher.ts sends the
// request.
import { streamSpec } from "../../catalog/streams.ts";
import { isActive, openList, requestsOf, underWayOf, workOf } from "../list/state.ts";
import type { BudgetTracker } from "../plan/budgets.ts";
import { type Candidate, stateKey } from "../plan/candidate.ts";
import type { Plan, Planner } from "../plan/make-plan.ts";
import { QUOTA_SCOPE } from "../plan/usage-scopes.ts";
import { LIST_WORTH } from "../plan/worth.ts";
import { contentNames } from "../request/calls.ts";
import type { Fetcher } from "../request/fetcher.ts";
import { readChangesInstead } from "./after-refused-page.ts";
import { purposeOf } from "./next-request.ts";
import type { Forms } from "./state/forms.ts";
import { OpenList } from "./state/open-list.ts";
import type { Run } from "./state/run-state.ts";
import type { UnusableResponses } from "./state/unusable-responses.ts";
import type { Work } from "./state/work.ts";

// Which list sends next: this runs before every request, over hundreds of lists, and changes nothing.

/** What decides the order of requests. */
interface RunningLists {
  readonly work: Pick<Work, "open">;
  readonly forms: Pick<Forms, "ofStreams" | "ofLists">;
  readonly budgets: Pick<BudgetTracker, "limits" | "room">;
  readonly unusable: Pick<UnusableResponses, "isShut">;
  readonly fetcher: Pick<Fetcher, "isFailing">;
}

/** Ready lists to keep available, so that the next request is known when the rate allows it. */
const READY_LISTS = 4;

/** True when the list has a request to send: a page, or the single request of a record. */
export const hasReady = ({ state }: Pick<OpenList, "state">): boolean =>
  state.kind === "single" ? !state.asked : requestsOf(state).unsent.length > 0;

/** True when no budget forbids the list's next request, and its stream's answers can be used. */
const mayAsk = (run: RunningLists, list: OpenList): boolean =>
  (!run.budgets.limits || run.budgets.room(purposeOf(list)) === "some") && !run.unusable.isShut(list.candidate);

/**
 * While a list's shape is unknown, one request of its stream is enough; while no shape is known, one request in
 * total, because the others profit from its result.
 */
const waitsForShape = (run: RunningLists, { state, stream }: OpenList): boolean => {
  if (state.kind === "single" || run.forms.ofStreams.get(stream.name)?.settled === true) return false;
  const anySettled = run.forms.ofLists().length > 0;
  for (const other of run.work.open.values())
    if ((!anySettled || other.stream === stream) && underWayOf(other.state) > 0) return true;
  return false;
};

/** True when no further candidate needs to start. Lists of failing streams do not count: others may still answer. */
export const enoughReady = (run: RunningLists): boolean => {
  let ready = 0;
  for (const list of run.work.open.values()) {
    if (run.fetcher.isFailing(list.candidate.stream)) continue;
    if (hasReady(list) && !waitsForShape(run, list) && mayAsk(run, list)) ready += 1;
    if (ready === READY_LISTS) return true;
  }
  return false;
};

/** True until the first page of the list is committed and its next pages are decided. */
const isUndecided = ({ state }: OpenList): boolean => {
  if (!isActive(state)) return state.kind === "single";
  const { reading, requests } = state;
  return reading.pages === 0 || (reading.pages === 1 && requests.wanted.length === 0);
};

/**
 * Lowest worth to spend a credit on. Until the first page of every organization list shows how many follow, credits are
 * kept for these lists.
 */
const leastWorth = (run: RunningLists): number => {
  for (const list of run.work.open.values()) {
    if (list.candidate.worth >= LIST_WORTH && isUndecided(list)) return LIST_WORTH;
  }
  return 0;
};

/** True when `list` is sent before `other`: streams whose latest requests failed come last, whatever they are worth. */
const comesBefore = (run: RunningLists, { candidate: one }: OpenList, { candidate: other }: OpenList): boolean => {
  const failing = run.fetcher.isFailing(one.stream);
  return failing === run.fetcher.isFailing(other.stream) ? one.worth > other.worth : !failing;
};

/** The most valuable list that may send now, the first of equals; null when none may. */
export const mostValuable = (run: RunningLists): OpenList | null => {
  const least = leastWorth(run);
  let best: OpenList | null = null;
  for (const list of run.work.open.values()) {
    if (list.candidate.worth < least || (best !== null && !comesBefore(run, list, best))) continue;
    if (hasReady(list) && !waitsForShape(run, list) && mayAsk(run, list)) best = list;
  }
  return best;
};

export interface Backlog {
  /** Plans again; true when new work became due. */
  replan(): Promise<boolean>;
  /** Starts to read until enough lists have something to send, or `mostLists` are read. */
  promote(mostLists: number): Promise<void>;
  isEmpty(): boolean;
  /** The run ends: reports the remaining candidates as left. */
  leave(): void;
}

/**
 * The usage routes report on the other requests, so they come after them. The quota comes after these and alone, so that its
 * response counts every request of the run, including those of the usage routes. A company that is probably forbidden would
 * end the run, for free, so it comes last.
 */
const turnOf = ({ stream, scope, forbidden }: Candidate): 0 | 1 | 2 | 3 => {
  if (forbidden === true) return 3;
  if (streamSpec(stream).strategy !== "log") return 0;
  return scope === QUOTA_SCOPE ? 2 : 1;
};
const TURNS = 4;

const isUseless = (run: Run<"tier">, candidate: Candidate) =>
  run.tier.isLowered && (streamSpec(candidate.stream).scope === "account" || candidate.mode === "detail");

const announce = (run: Run, candidates: readonly Candidate[]): void => {
  for (const stream of new Set(candidates.map((candidate) => candidate.stream))) {
    const mine = candidates.filter((candidate) => candidate.stream === stream);
    const requests = mine.some((candidate) => candidate.requests === null)
      ? null
      : mine.reduce((sum, candidate) => sum + (candidate.requests ?? 0), 0);
    run.deps.emit({ kind: "stream-planned", stream, requests, because: mine[0]?.because ?? "" });
  }
};

/** What decides which candidate starts next. */
interface Busy {
  readonly work: Pick<Work, "open">;
  readonly fetcher: Pick<Fetcher, "isFailing">;
}

/** The candidate to start next, of a failing stream only if there is no other; undefined: none may start yet. */
export const nextCandidate = (all: readonly Candidate[], run: Busy): Candidate | undefined => {
  let earliest = TURNS;
  let readsAccounts = false;
  for (const { candidate } of run.work.open.values()) {
    earliest = Math.min(earliest, turnOf(candidate));
    // What is asked of an account before its list is read would be asked again, if the list brings another version of it.
    readsAccounts ||= candidate.stream === "accounts";
  }
  const mayStart = ({ stream }: Candidate) => !(readsAccounts && streamSpec(stream).scope === "account");
  for (let turn = 0; turn < TURNS; turn++) {
    const isNow = (candidate: Candidate) => turnOf(candidate) === turn && mayStart(candidate);
    const candidate = all.find((one) => isNow(one) && !run.fetcher.isFailing(one.stream)) ?? all.find(isNow);
    if (candidate !== undefined) return earliest < turn ? undefined : candidate;
  }
  return undefined;
};

const isOverBudget = (run: Run<"budgets">, { stream, mode }: Candidate) =>
  run.budgets.room({ stream, work: workOf(mode) }) === "spent";

const leaveToLater = (run: Run<"budgets" | "stats">, { stream, mode }: Candidate): void => {
  run.budgets.leaveOut({ stream, work: workOf(mode) });
  run.stats.leave(stream);
};

const start = async (
  run: Run<"forms" | "reader" | "stats" | "unusable" | "work">,
  candidate: Candidate,
  states: Plan["view"]["states"],
): Promise<void> => {
  const { deps, options } = run;
  const key = stateKey(candidate.stream, candidate.scope);
  const first = openList({
    order: candidate,
    before: states.get(key),
    shape: run.forms.ofStream(candidate.stream),
    rows: run.work.rowsOf(key),
    runId: run.runId,
    now: deps.clock.now(),
    filtered: run.forms.isFiltered(candidate.stream),
    content: contentNames(streamSpec(candidate.stream), options),
  });
  const list = new OpenList(candidate, first);
  run.work.begin(list);
  run.stats.addMode(candidate.stream, candidate.mode);
  if (candidate.meanwhile) readChangesInstead(run, list);
  await run.reader.goOn(list);
};

export const createBacklog = (
  run: Run<"budgets" | "fetcher" | "forms" | "suspected" | "reader" | "stats" | "tier" | "unusable" | "work">,
  planner: Planner,
  initial: Plan,
): Backlog => {
  const { deps, options } = run;
  let pending: Candidate[] = [];
  /** The last plan holds the account list alone, as long as the tier is unknown. */
  let awaitsTier = run.tier.access() === "unknown";
  let { states } = initial.view;

  const enqueue = (candidates: readonly Candidate[]): boolean => {
    const fresh = run.work.take(candidates);
    for (const { stream, requests } of fresh) run.stats.plan(stream, requests ?? 1);
    announce(run, fresh);
    pending = [...pending, ...fresh].sort((a, b) => b.worth - a.worth);
    return fresh.length > 0;
  };

  run.unusable.leaveOut(initial.waiting);
  enqueue(initial.candidates);
  return {
    replan: async () => {
      run.work.beginPlan();
      const access = run.tier.access();
      awaitsTier = access === "unknown";
      const { forms, unusable } = run;
      const suspected = (id: string, tracked: boolean) => run.suspected.isSuspect(id, tracked);
      const plan = await planner(
        { shapes: forms.ofStreams, access, suspected, unusable: unusable.known },
        deps.clock.now(),
      );
      unusable.leaveOut(plan.waiting);
      states = plan.view.states;
      const planned = new Map(plan.candidates.map((one) => [stateKey(one.stream, one.scope), one]));
      // What still waits is planned with the versions of now.
      pending = pending.map((one) => planned.get(stateKey(one.stream, one.scope)) ?? one);
      return enqueue(plan.candidates);
    },
    promote: async (mostLists) => {
      while (!enoughReady(run) && run.work.open.size < mostLists) {
        const candidate = nextCandidate(pending, run);
        if (candidate === undefined) return;
        pending.splice(pending.indexOf(candidate), 1);
        if (isUseless(run, candidate)) continue;
        if (run.unusable.isShut(candidate)) run.stats.leave(candidate.stream);
        else if (isOverBudget(run, candidate)) leaveToLater(run, candidate);
        else await start(run, candidate, states);
      }
    },
    isEmpty: () => pending.length === 0,
    leave: () => {
      for (const candidate of pending) run.stats.leave(candidate.stream);
      if (!awaitsTier) return;
      // These were not even planned: they waited for the account list to show the tier.
      const planned = new Set([...run.work.taken].map((key) => key.split("\n")[0]));
      for (const name of options.streams) if (!planned.has(name)) run.stats.leave(name);
    },
  };
};

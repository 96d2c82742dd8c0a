// Finds the lists with a request to send, and the most valuable one. Runs before every request, over hundreds of lists.
// Changes nothing.
import { isActive, type ListState, requestsOf } from "../list/state.ts";
import type { BudgetBook } from "../plan/budgets.ts";
import { LIST_WORTH } from "../plan/worth.ts";
import type { Fetcher } from "../request/fetcher.ts";
import type { Forms } from "./state/forms.ts";
import type { OpenList } from "./state/open-list.ts";
import type { UnusableBook } from "./state/unusable-book.ts";
import type { Work } from "./state/work.ts";
import { purposeOf } from "./wanted-call.ts";

/** What decides the order of requests. */
interface RunningLists {
  readonly work: Pick<Work, "open">;
  readonly forms: Pick<Forms, "ofStreams" | "ofLists">;
  readonly budgets: Pick<BudgetBook, "limits" | "room">;
  readonly unusable: Pick<UnusableBook, "isShut">;
  readonly fetcher: Pick<Fetcher, "isFailing">;
}

/** Ready lists to keep available, so that the next request is known when the rate allows it. */
const READY_LISTS = 4;

/** True when the list has a request to send: a page, or the single request of a record. */
export const hasReady = ({ state }: Pick<OpenList, "state">): boolean =>
  state.kind === "single" ? !state.asked : requestsOf(state).unsent.length > 0;

/** Pages that were sent and have no answer yet. */
export const underWayOf = (state: ListState): number => {
  const { wanted, unsent } = requestsOf(state);
  return wanted.length - unsent.length;
};

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

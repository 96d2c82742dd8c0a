// Finds the tasks with a request to send, and the most valuable one. Runs before every request, so in one pass over
// the tasks. Changes nothing.
import type { StreamName } from "../../catalog/streams.ts";
import { LIST_WORTH } from "../plan/worth.ts";
import { purposeOf, type ScopeTask } from "../task/scope-task.ts";
import { type KnownShapes, type SyncRun, settledLists, shapeOf } from "./state/run-state.ts";

/** What decides the order of requests. */
type RunningTasks = KnownShapes &
  Pick<SyncRun, "active"> & {
    readonly budgets: Pick<SyncRun["budgets"], "room">;
    readonly unusable: Pick<SyncRun["unusable"], "isShut">;
    readonly fetcher: Pick<SyncRun["fetcher"], "isFailing">;
  };

/** Ready tasks to keep available, so that the next request is known when the rate allows it. */
const READY_TASKS = 4;

/** True when the task has a request to send: a page, or its single request. */
export const hasReady = (task: ScopeTask): boolean => task.ready.length > 0 || (task.progress === null && !task.asked);

/** True when no budget forbids the task's next request, and its stream's answers can be used. */
const mayAsk = (run: RunningTasks, task: ScopeTask): boolean =>
  run.budgets.room(purposeOf(task)) === "some" && !run.unusable.isShut(task.candidate);

/** What one pass over the tasks needs to know of the whole run. */
interface Overview {
  /** Streams with a page in flight. */
  readonly underWay: ReadonlySet<StreamName>;
  /** The shape of some list is known. */
  readonly anySettled: boolean;
}

const overviewOf = (run: RunningTasks): Overview => {
  const underWay = new Set<StreamName>();
  for (const task of run.active.values()) {
    if (task.progress !== null && task.inFlight.length > task.ready.length) underWay.add(task.stream.name);
  }
  return { underWay, anySettled: settledLists(run).length > 0 };
};

/**
 * While a list's shape is unknown, one request of its stream is enough; while no shape is known, one request in
 * total, because the others profit from its result.
 */
const waitsForShape = (run: RunningTasks, task: ScopeTask, { underWay, anySettled }: Overview): boolean => {
  if (task.progress === null || shapeOf(run, task.stream.name).settled) return false;
  return anySettled ? underWay.has(task.stream.name) : underWay.size > 0;
};

/** True when no further candidate needs to start. Tasks of failing streams do not count: others may still answer. */
export const enoughReady = (run: RunningTasks): boolean => {
  const overview = overviewOf(run);
  let ready = 0;
  for (const task of run.active.values()) {
    if (run.fetcher.isFailing(task.candidate.stream)) continue;
    if (hasReady(task) && !waitsForShape(run, task, overview) && mayAsk(run, task)) ready += 1;
    if (ready === READY_TASKS) return true;
  }
  return false;
};

/** True until the task's first page is committed and its next pages are decided. */
const isUndecided = ({ status, pages, ready, inFlight }: ScopeTask): boolean =>
  pages === 0 || (status === "active" && pages === 1 && ready.length === 0 && inFlight.length === 0);

/**
 * Lowest worth to spend a credit on. Until the first page of every organization list shows how many follow, credits are
 * kept for these lists.
 */
const leastWorth = (run: RunningTasks): number => {
  for (const task of run.active.values()) {
    if (task.candidate.worth >= LIST_WORTH && isUndecided(task)) return LIST_WORTH;
  }
  return 0;
};

/** True when `task` is sent before `other`: streams whose latest requests failed come last, whatever they are worth. */
const comesBefore = (run: RunningTasks, { candidate: one }: ScopeTask, { candidate: other }: ScopeTask): boolean => {
  const failing = run.fetcher.isFailing(one.stream);
  return failing === run.fetcher.isFailing(other.stream) ? one.worth > other.worth : !failing;
};

/** The most valuable task that may send now, the first of equals; null when none may. */
export const mostValuable = (run: RunningTasks): ScopeTask | null => {
  const least = leastWorth(run);
  const overview = overviewOf(run);
  let best: ScopeTask | null = null;
  for (const task of run.active.values()) {
    if (task.candidate.worth < least || (best !== null && !comesBefore(run, task, best))) continue;
    if (hasReady(task) && !waitsForShape(run, task, overview) && mayAsk(run, task)) best = task;
  }
  return best;
};

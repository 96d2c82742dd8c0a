// Which of the tasks under way has something to send, and which goes first. Looked at before every request, so in one pass
// over the tasks. Changes nothing.
import type { StreamName } from "../../catalog/streams.ts";
import type { ScopeTask } from "../task/scope-task.ts";
import { type SyncRun, shapeOf } from "./sync-run.ts";

/** Tasks with something to send that are kept at hand, so that the next request is known when the rate allows one. */
const READY_TASKS = 4;
/** Worth of the organization's own lists: hundreds of rows per credit. */
const LIST_WORTH = 800;

/** The task has a request to send: a page, or its single request. */
export const hasReady = (task: ScopeTask): boolean => task.ready.length > 0 || (task.progress === null && !task.asked);

/** Streams of which a page is on its way. */
const streamsUnderWay = (run: SyncRun): ReadonlySet<StreamName> => {
  const streams = new Set<StreamName>();
  for (const task of run.active.values()) {
    if (task.progress !== null && task.inFlight.length > task.ready.length) streams.add(task.stream.name);
  }
  return streams;
};

/**
 * While a list's shape is being found out, one request of its stream is enough; and as long as no list's is known,
 * one request at all: the others profit from what it finds.
 */
const waitsForShape = (run: SyncRun, task: ScopeTask, underWay: ReadonlySet<StreamName>): boolean => {
  if (task.progress === null || shapeOf(run, task.stream.name).settled) return false;
  const anySettled = [...run.shapes.values()].some((shape) => shape.settled);
  return anySettled ? underWay.has(task.stream.name) : underWay.size > 0;
};

/** True when no further candidate need be brought to life. */
export const enoughReady = (run: SyncRun): boolean => {
  const underWay = streamsUnderWay(run);
  let ready = 0;
  for (const task of run.active.values()) {
    if (hasReady(task) && !waitsForShape(run, task, underWay)) ready += 1;
    if (ready === READY_TASKS) return true;
  }
  return false;
};

/** Until every organization list has shown its length, credits are kept for them: nothing else is worth as much. */
const leastWorth = (run: SyncRun): number => {
  for (const task of run.active.values()) {
    if (task.candidate.value >= LIST_WORTH && task.pages === 0) return LIST_WORTH;
  }
  return 0;
};

/** The most valuable task that may send now, the first of equals; null when none may. */
export const mostValuable = (run: SyncRun): ScopeTask | null => {
  const least = leastWorth(run);
  const underWay = streamsUnderWay(run);
  let best: ScopeTask | null = null;
  for (const task of run.active.values()) {
    if (task.candidate.value < least || (best !== null && task.candidate.value <= best.candidate.value)) continue;
    if (hasReady(task) && !waitsForShape(run, task, underWay)) best = task;
  }
  return best;
};

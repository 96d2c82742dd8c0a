// Dispatcher: sends the most valuable ready request as soon as the rate allows, while the allowance lasts. Several
// are in flight, so that latency does not reduce throughput.
//
//   promote candidates -> pick the most valuable request -> launch it -> ... until nothing is left or the run ends,
//   then wait for requests in flight.
import { streamSpec } from "../../catalog/streams.ts";
import type { ReadRequest } from "../list/coverage/contract.ts";
import { asksBeyond } from "../list/coverage/list-end.ts";
import { readSoFar } from "../list/ways/progress.ts";
import type { Plan, Planner } from "../plan/make-plan.ts";
import type { Fetched } from "../request/fetcher.ts";
import { creditsOf } from "../request/ledger-rows.ts";
import { landed, purposeOf, type ScopeTask } from "../task/scope-task.ts";
import { type WantedCall, wantedCall } from "../task/wanted-call.ts";
import { askDifferently } from "./ask-differently.ts";
import { askForLess, attemptsWhileSmaller } from "./ask-for-less.ts";
import { type Backlog, createBacklog } from "./backlog.ts";
import { beginAnew, readMeanwhile } from "./begin-anew.ts";
import { hasReady, mostValuable } from "./ready-tasks.ts";
import { settleAbsentCompanies } from "./settle/apply-absences.ts";
import { settleDeletes } from "./settle/apply-deletes.ts";
import { emitPage } from "./state/page-events.ts";
import { formOf, hasGoneOn, type SyncRun, taskKey } from "./state/run-state.ts";
import { failTask, noteForbidden, putOff } from "./state/task-ends.ts";
import { takeAbsence, takeEnd, takeListAnswer, takeSingleAnswer } from "./take-answer.ts";
import { advance } from "./task-steps.ts";

/** Most uncommitted responses; fetching continues while they are written. */
const MOST_UNCOMMITTED = 256;
/**
 * Most decoded bytes of these and of requests in flight; parsed, they take several times that memory
 * (docs/PERFORMANCE.md).
 */
const MOST_UNCOMMITTED_BYTES = 4 * 1024 * 1024;

interface Pick {
  readonly task: ScopeTask;
  /** null: the task's single request. */
  readonly read: ReadRequest | null;
}

/** Requests and responses in progress. */
interface Traffic {
  /** Requests without a response. */
  flying: number;
  /** The same, plus uncommitted responses. */
  open: number;
  /** Decoded size of a response in bytes, estimated from the latest ones. */
  answerBytes: number;
  /** The last request found no credit; try again when something in progress ends. */
  penniless: boolean;
  /** Ends the wait for a change of these figures. */
  wake: () => void;
}

const changed = (traffic: Traffic): Promise<void> =>
  new Promise((resolve) => {
    traffic.wake = resolve;
  });

/** True when there is room for one more request, in flight and in memory for its response. */
const hasRoom = (run: SyncRun, { flying, answerBytes }: Traffic): boolean =>
  flying < (run.fetcher.isDoubtful() ? 1 : run.options.concurrency) &&
  run.committer.waiting() < MOST_UNCOMMITTED &&
  run.committer.waitingBytes() + Math.max(0, flying + 1 - run.options.largeInFlight) * answerBytes <
    MOST_UNCOMMITTED_BYTES;

const pick = (run: SyncRun): Pick | null => {
  const task = mostValuable(run);
  if (task === null) return null;
  const [read, ...rest] = task.ready;
  if (read === undefined) {
    task.asked = true;
    return { task, read: null };
  }
  task.ready = rest;
  return { task, read };
};

/** Takes a request back that was not sent. Its task decides again, because its list may have changed. */
const unpick = async (run: SyncRun, { task, read }: Pick): Promise<void> => {
  if (read === null) {
    task.asked = false;
    return;
  }
  landed(task, read);
  await advance(run, task);
};

const noteUnusable = (run: SyncRun, { task, read }: Pick): void =>
  run.unusable.failed(task.candidate, { goneOn: hasGoneOn(run, task), deep: read !== null && read.page > 1 });

/** Applies the outcome of a request. */
const take = async (run: SyncRun, picked: Pick, wanted: WantedCall, { result, requests }: Fetched): Promise<void> => {
  const { task, read } = picked;
  const isRefusal =
    result.kind === "absent" || result.kind === "adjust" || (result.kind === "failed" && result.notFound);
  if (isRefusal && read !== null && task.progress !== null && asksBeyond(readSoFar(task.progress), read)) {
    return takeEnd(run, task, read, requests);
  }
  switch (result.kind) {
    case "answer":
      if (read === null) await takeSingleAnswer(run, task, wanted, result, requests);
      else await takeListAnswer(run, task, read, wanted, result, requests);
      return emitPage(run, task);
    case "absent":
      await takeAbsence(run, task, read, wanted, result, requests);
      return emitPage(run, task);
    case "adjust": {
      // The list's other requests need the new shape at once, not only when this one is in the ledger.
      const noted = run.committer.commit({ loads: [], requests, states: [], bytes: 0 });
      await Promise.all([noted, askDifferently(run, task, read, wanted, result.outcome)]);
      return;
    }
    case "failed":
      // Before the commit: until then further requests of a stream are sent whose answers cannot be used.
      if (result.paid) noteUnusable(run, picked);
      await run.committer.commit({ loads: [], requests, states: [], bytes: 0 });
      if (read !== null) landed(task, read);
      if (read !== null && result.notFound && (await beginAnew(run, task, read, result.error))) return;
      if (read !== null && result.size !== null && (await askForLess(run, task, read, result.size))) return;
      if (read !== null && (await readMeanwhile(run, task, read, result.error))) return;
      return failTask(run, task, result.error, { resumable: true });
    case "ended":
      await run.committer.commit({ loads: [], requests, states: [], bytes: 0 });
      if (read !== null) landed(task, read);
      if (requests.at(-1)?.status === 403) await noteForbidden(run, task);
      putOff(run, task);
      return emitPage(run, task);
    case "no-credit":
      return unpick(run, picked);
    default:
      return result satisfies never;
  }
};

const send = async (run: SyncRun, traffic: Traffic, picked: Pick, onLeaving: () => void): Promise<void> => {
  const { task, read } = picked;
  const { stream, scope } = task.candidate;
  const call = () => wantedCall(task, read, formOf(run, task), { ...run.options, embeddable: run.embeddable });
  let wanted: WantedCall = call();
  const purpose = purposeOf(task);
  run.budgets.launch(purpose);
  const order = () => {
    // The shape may have become known while the request waited for its turn.
    wanted = call();
    const attempts = {
      ...attemptsWhileSmaller(run, task),
      ...run.unusable.attempts(task.candidate, hasGoneOn(run, task)),
    };
    return { runId: run.runId, stream, scope, walkId: task.walkId, ...wanted, ...attempts };
  };
  const fetched = await run.fetcher.fetch({ order, onLeaving }).finally(() => {
    traffic.flying -= 1;
    traffic.wake();
  });
  const { result, requests } = fetched;
  run.budgets.settle(purpose, creditsOf(requests));
  run.stats.countRequests(requests);
  if (result.kind === "answer") traffic.answerBytes += (result.outcome.bytes - traffic.answerBytes) / 4;
  traffic.penniless = result.kind === "no-credit";
  // Nothing in progress could refund a credit or lead to another request.
  if (result.kind === "no-credit" && traffic.open === 1) run.ending.stop(result.error);
  await take(run, picked, wanted, fetched);
};

/** Sends a request; resolves when it is sent or will not be. */
const launch = (run: SyncRun, traffic: Traffic, picked: Pick): Promise<void> =>
  new Promise((resolve) => {
    traffic.flying += 1;
    traffic.open += 1;
    send(run, traffic, picked, resolve)
      .catch((error: unknown) => run.ending.fail(error))
      .finally(() => {
        traffic.open -= 1;
        traffic.wake();
        resolve();
      });
  });

/** With nothing in progress: decides on rows that company lists lost, then checks whether more work became due. */
const goOn = async (run: SyncRun, backlog: Backlog): Promise<boolean> => {
  await settleAbsentCompanies(run, run.absent.splice(0));
  const losing = run.losing.splice(0);
  for (const name of new Set(losing.map((task) => task.stream.name))) {
    const tasks = losing.filter((task) => task.stream.name === name);
    await settleDeletes(run, streamSpec(name), tasks);
  }
  if ((await backlog.replan()) || !backlog.isEmpty()) return true;
  const stuck = [...run.active.values()].find((task) => !hasReady(task));
  if (stuck !== undefined) throw new TypeError(`${taskKey(stuck)} waits for nothing`);
  return run.active.size > 0;
};

/** Leaves tasks to a later run whose budget is spent, or whose stream is shut, once nothing of them is in progress. */
const leaveForbidden = (run: SyncRun): void => {
  for (const task of [...run.active.values()]) {
    const purpose = purposeOf(task);
    const waits = hasReady(task) && task.inFlight.length === task.ready.length && task.uncommitted === 0;
    const isShut = run.unusable.isShut(task.candidate);
    if (!waits || task.deciding || (!isShut && run.budgets.room(purpose) !== "spent")) continue;
    if (!isShut) run.budgets.leaveOut(purpose);
    putOff(run, task);
  }
};

/** Sends requests until none is left or the run ends. */
const loop = async (run: SyncRun, traffic: Traffic, backlog: Backlog): Promise<void> => {
  const { signal } = run.deps;
  while (!signal.aborted) {
    if (run.replan) await backlog.replan();
    leaveForbidden(run);
    await backlog.promote(run.options.concurrency + MOST_UNCOMMITTED);
    const waits = traffic.penniless && traffic.open > 0;
    traffic.penniless = false;
    const picked = !waits && hasRoom(run, traffic) ? pick(run) : null;
    run.committer.setPaced(picked !== null);
    if (picked !== null) await launch(run, traffic, picked);
    else if (traffic.open > 0) await changed(traffic);
    else if (!(await goOn(run, backlog))) return;
  }
};

/** Runs the plan. Never rejects: `run.ending` holds the reason of an early end, faults included. */
export const dispatch = async (run: SyncRun, planner: Planner, initial: Plan): Promise<void> => {
  const traffic: Traffic = { flying: 0, open: 0, answerBytes: 0, penniless: false, wake: () => undefined };
  const backlog = createBacklog(run, planner, initial);
  run.deps.signal.addEventListener("abort", () => traffic.wake(), { once: true });
  await loop(run, traffic, backlog).catch((error: unknown) => run.ending.fail(error));
  run.committer.setPaced(false);
  while (traffic.open > 0) await changed(traffic);
  backlog.leave();
  for (const task of [...run.active.values()]) putOff(run, task);
};

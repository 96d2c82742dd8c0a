// Dispatcher: which request goes out next. The most valuable one that is ready, as soon as the rate allows, while the
// allowance lasts; several in flight, so that latency does not cost throughput.
import { streamSpec } from "../../catalog/streams.ts";
import { type Candidate, stateKey } from "../plan/candidate.ts";
import { type Plan, planSync } from "../plan/plan-view.ts";
import { refusedTurn } from "../request/sender.ts";
import type { ReadRequest } from "../strategies/contract.ts";
import { totalOf } from "../task/scope-state.ts";
import { createTask, landed, type ScopeTask } from "../task/scope-task.ts";
import { wantedCall } from "../task/wanted-call.ts";
import { askDifferently, takeAbsence, takeListAnswer, takeSingleAnswer } from "./answers.ts";
import { settleDeletes } from "./apply-deletes.ts";
import { enoughReady, hasReady, mostValuable } from "./ready-tasks.ts";
import { type SyncRun, shapeOf, taskKey } from "./sync-run.ts";
import { failTask, putOff } from "./task-ends.ts";
import { advance } from "./task-steps.ts";

/** Failures in a row after which the service counts as down and the run ends. */
const MOST_FAILURES = 3;
/** Answers that arrived and are not committed yet, at most: fetching goes on while they are written. */
const MOST_UNCOMMITTED = 256;
/** Decoded bytes of these, and of what is asked for; parsed, they take several times as much (docs/PERFORMANCE.md). */
const MOST_UNCOMMITTED_BYTES = 4 * 1024 * 1024;
/** Requests that may be under way however large answers are: at 300 a minute, 1.5 s each, eight are. */
const ALWAYS_FLYING = 8;
/** Shorter waits for the rate limit are not worth a word. */
const NOTABLE_WAIT_MS = 2000;

interface Pick {
  readonly task: ScopeTask;
  /** null: the task's single request. */
  readonly read: ReadRequest | null;
}

export const dispatch = async (run: SyncRun, initial: Plan): Promise<void> => {
  const { deps, options } = run;
  let pending: Candidate[] = [];
  let { states } = initial.view;
  /** Requests without an answer so far, and all that are not through: those, and answers that are not committed. */
  let flying = 0;
  /** Decoded bytes of an answer, as the latest ones were. */
  let answerBytes = 0;
  let open = 0;
  let fault: unknown = null;
  let wake: () => void = () => undefined;
  let woken = Promise.resolve();
  const sleep = () => {
    woken = new Promise((resolve) => {
      wake = resolve;
    });
  };
  sleep();

  const enqueue = (candidates: readonly Candidate[]): boolean => {
    const fresh = candidates.filter((candidate) => !run.taken.has(stateKey(candidate.stream, candidate.scope)));
    for (const candidate of fresh) {
      run.taken.add(stateKey(candidate.stream, candidate.scope));
      run.stats.of(candidate.stream).planned += candidate.requests ?? 1;
    }
    pending = [...pending, ...fresh].sort((a, b) => b.value - a.value);
    for (const stream of new Set(fresh.map((candidate) => candidate.stream))) {
      const of = fresh.filter((candidate) => candidate.stream === stream);
      const requests = of.some((candidate) => candidate.requests === null)
        ? null
        : of.reduce((sum, candidate) => sum + (candidate.requests ?? 0), 0);
      deps.emit({ kind: "stream-planned", stream, requests, because: of[0]?.because ?? "" });
    }
    return fresh.length > 0;
  };

  const replan = async (): Promise<boolean> => {
    run.replan = false;
    const plan = await planSync(deps.warehouse, options, run.shapes, deps.clock.now());
    states = plan.view.states;
    return enqueue(plan.candidates);
  };

  /** The usage routes tell of the other requests, so they come when those are done. */
  const isLast = (candidate: Candidate) => candidate.stream === "usage";
  const useless = (candidate: Candidate) =>
    run.tierLowered && (candidate.stream === "account_insights" || candidate.mode === "detail");

  /** Brings pending candidates to life until enough tasks have something to send. */
  const promote = async () => {
    const busy = () => [...run.active.values()].some((task) => task.stream.name !== "usage");
    while (pending.length > 0 && !enoughReady(run) && run.active.size < options.concurrency + MOST_UNCOMMITTED) {
      const index = Math.max(
        pending.findIndex((candidate) => !isLast(candidate)),
        0,
      );
      const candidate = pending[index];
      if (candidate === undefined || (isLast(candidate) && busy())) return;
      pending.splice(index, 1);
      if (useless(candidate)) continue;
      const task = createTask({
        candidate,
        before: states.get(stateKey(candidate.stream, candidate.scope)),
        shape: shapeOf(run, candidate.stream),
        rows: run.rows.get(stateKey(candidate.stream, candidate.scope)) ?? 0,
        runId: run.runId,
        now: deps.clock.now(),
      });
      run.active.set(taskKey(task), task);
      run.stats.of(candidate.stream).modes.add(candidate.mode);
      await advance(run, task);
    }
  };

  const pick = (): Pick | null => {
    const best = mostValuable(run);
    if (best === null) return null;
    const [read, ...rest] = best.ready;
    if (read === undefined) {
      best.asked = true;
      return { task: best, read: null };
    }
    best.ready = rest;
    return { task: best, read };
  };

  const unpick = ({ task, read }: Pick) => {
    if (read === null) task.asked = false;
    else task.ready = [read, ...task.ready];
  };

  const send = async ({ task, read }: Pick, reservation: string) => {
    const { stream, scope } = task.candidate;
    const wanted = wantedCall(task, read, shapeOf(run, stream), options);
    const order = { runId: run.runId, stream, scope, walkId: task.walkId, ...wanted };
    const { result, requests } = await run.fetcher.fetch(order, reservation).finally(() => {
      flying -= 1;
      wake();
    });
    run.stats.countRequests(requests);
    if (result.kind === "answer") answerBytes += (result.outcome.bytes - answerBytes) / 4;
    if (result.kind === "answer" || result.kind === "absent" || result.kind === "adjust") run.failuresInARow = 0;
    if (result.kind === "answer") {
      if (read === null) await takeSingleAnswer(run, task, wanted, result, requests);
      else await takeListAnswer(run, task, read, wanted, result, requests);
    } else if (result.kind === "absent") {
      await takeAbsence(run, task, read, wanted, result, requests);
    } else {
      await run.committer.commit({ loads: [], requests, states: () => [], bytes: 0 });
      if (result.kind === "adjust") return askDifferently(run, task, read, wanted, result.outcome);
      if (read !== null) landed(task, read);
      if (result.kind === "stop") run.stop ??= result.error;
      if (result.kind === "failed") {
        run.failuresInARow = result.everywhere ? run.failuresInARow + 1 : 0;
        if (run.failuresInARow >= MOST_FAILURES) run.stop ??= result.error;
        return failTask(run, task, result.error, { resumable: true });
      }
      putOff(run, task);
    }
    emitPage(task);
  };

  /** Pages of a stream in all: by the list's length where there is one list, else by the lists that are due. */
  const pagesTotal = (task: ScopeTask, stats: ReturnType<typeof run.stats.of>): number | null => {
    if (task.stream.scope !== "organization") return Math.max(stats.planned, stats.pages);
    const total = totalOf(task);
    const walking = task.progress?.kind === "walk" && total !== null;
    return walking ? Math.max(stats.pages, Math.ceil(total / shapeOf(run, task.stream.name).perPage)) : null;
  };

  const emitPage = (task: ScopeTask) => {
    const { stream } = task.candidate;
    const stats = run.stats.of(stream);
    deps.emit({
      kind: "page",
      stream,
      requests: stats.requests,
      credits: stats.credits,
      rows: stats.rows,
      pagesDone: stats.pages,
      pagesTotal: pagesTotal(task, stats),
      rowsTotal: task.stream.scope === "organization" ? totalOf(task) : null,
    });
  };

  const launch = (picked: Pick, reservation: string) => {
    flying += 1;
    open += 1;
    send(picked, reservation)
      .catch((error: unknown) => {
        fault ??= error;
      })
      .finally(() => {
        open -= 1;
        wake();
      });
  };

  /** Room for one more request: on the wire, and in memory for what it brings. */
  const hasRoom = () =>
    flying < options.concurrency &&
    run.committer.waiting() < MOST_UNCOMMITTED &&
    run.committer.waitingBytes() + Math.max(0, flying - ALWAYS_FLYING) * answerBytes < MOST_UNCOMMITTED_BYTES;

  const ending = () => run.stop !== null || fault !== null || deps.signal.aborted;

  /** Nothing is under way any more: decide over what company lists lost, then see whether more became due. */
  const goOn = async (): Promise<boolean> => {
    const losing = run.losing.splice(0);
    for (const name of new Set(losing.map((task) => task.stream.name))) {
      const tasks = losing.filter((task) => task.stream.name === name);
      await settleDeletes(run, streamSpec(name), tasks);
    }
    if ((await replan()) || pending.length > 0) return true;
    const stuck = [...run.active.values()].find((task) => !hasReady(task));
    if (stuck !== undefined) throw new TypeError(`${taskKey(stuck)} waits for nothing`);
    return run.active.size > 0;
  };

  enqueue(initial.candidates);
  while (!ending()) {
    if (run.replan) await replan();
    await promote();
    const picked = hasRoom() ? pick() : null;
    if (picked === null) {
      if (open === 0) {
        if (await goOn()) continue;
        break;
      }
      await woken;
      sleep();
      continue;
    }
    const reservation = deps.ledger.tryReserve();
    if (!reservation.ok) {
      unpick(picked);
      // Requests under way may still turn out to cost nothing.
      if (open === 0) {
        run.stop = deps.ledger.denial(reservation.code);
        break;
      }
      await woken;
      sleep();
      continue;
    }
    const until = deps.sender.nextTurnAt();
    if (until - deps.clock.now() > NOTABLE_WAIT_MS) deps.emit({ kind: "waiting", why: "rate", until, stream: null });
    try {
      await deps.sender.turn(deps.signal);
    } catch (error) {
      deps.ledger.settle(reservation.id, "free");
      unpick(picked);
      run.stop ??= refusedTurn(error, deps.signal);
      break;
    }
    if (ending()) {
      deps.ledger.settle(reservation.id, "free");
      unpick(picked);
      break;
    }
    launch(picked, reservation.id);
  }
  while (open > 0) {
    await woken;
    sleep();
  }
  for (const candidate of pending) run.stats.of(candidate.stream).left = true;
  for (const task of [...run.active.values()]) putOff(run, task);
  if (fault !== null) throw fault;
};

// Task steps: decides a task's next step after its pages are committed: read more, walk instead, or finish.

import type { StreamName } from "../../catalog/streams.ts";
import type { ScopedTable } from "../../catalog/tables.ts";
import { DuckmirrorError } from "../../core/errors.ts";
import type { Step } from "../list/coverage/contract.ts";
import type { ListShape } from "../list/form.ts";
import { coverageOf, inFixedPages } from "../list/ways/progress.ts";
import { countChangedContacts } from "../plan/mirror-view.ts";
import { rememberShape } from "../plan/remembered.ts";
import { readChangesAgain, turnIntoFilter, turnIntoWalk, walkSoFar, withoutRefused } from "../task/change-course.ts";
import { finishedState } from "../task/scope-state.ts";
import { become, isExcerpt, type ScopeTask, stepOf } from "../task/scope-task.ts";
import { settleDeletes } from "./settle/apply-deletes.ts";
import { closeGap, endLook } from "./settle/close-gap.ts";
import { settleAfterChanges } from "./settle/gone-by-changes.ts";
import { failsAtOtherEnd, failWalk, readOtherEnd, tooDeep } from "./state/other-end.ts";
import { hasGoneOn, isFiltered, type SyncRun, shapeOf } from "./state/run-state.ts";
import { markReturned } from "./state/scope-marks.ts";
import { closeTask, commitState, failTask } from "./state/task-ends.ts";
import { afterPart, doubtIn, endWidening, giveUpWidening, readsWiderChanges } from "./widen-scope.ts";

/** Distinct ids of the task's walk. */
const seenBy = async (run: SyncRun, task: ScopeTask): Promise<number> => {
  if (task.pages <= 1) return task.onlyPage.size;
  return task.firstMirror ? task.rows : run.deps.warehouse.seenCount(task.walkId);
};

/** Content with which every row of a list was read. A read that is no walk adds none, and leaves rows that lack what it did not ask for. */
export const contentOfAll = (
  { grants, walkedWith }: Pick<ListShape, "grants" | "walkedWith">,
  asked: readonly string[],
  isWalk: boolean,
): readonly string[] => (isWalk ? grants : walkedWith).filter((field) => asked.includes(field));

/**
 * True when rows of the list may be gone: it adds up, and fewer ids were seen than rows are mirrored. The key of a misfit
 * counts as seen although it may have no row, so with misfits as many rows may be gone unnoticed.
 */
export const mayHaveLost = (
  { firstMirror, progress, rows, misfits }: Pick<ScopeTask, "firstMirror" | "progress" | "rows" | "misfits">,
  seen: number,
  addsUp: boolean,
): boolean => addsUp && !firstMirror && progress?.kind !== "log" && (rows > seen || misfits > 0);

/** Stores the content with which every row was read. */
const noteContent = async (run: SyncRun, task: ScopeTask, whole: boolean) => {
  const { name, scope } = task.stream;
  if (scope !== "organization" || task.progress === null) return;
  const shape = shapeOf(run, name);
  const walkedWith = contentOfAll(shape, task.content, whole && task.progress.kind === "walk");
  if (String(walkedWith) === String(shape.walkedWith)) return;
  const next = { ...shape, walkedWith };
  run.shapes.set(name, next);
  await rememberShape(run.deps.warehouse, name, next, run.deps.clock.now());
};

const finish = async (run: SyncRun, task: ScopeTask, seen: number, step: Extract<Step, { kind: "done" }>) => {
  if (isExcerpt(task)) return closeTask(run, task);
  await noteContent(run, task, step.whole);
  if (step.addsUp) {
    run.compared.set(task.stream.name, (run.compared.get(task.stream.name) ?? 0) + task.rows);
  }
  if (mayHaveLost(task, seen, step.addsUp)) {
    if (!become(task, "deleting")) return;
    if (task.stream.scope === "organization") await settleDeletes(run, task.stream, [task]);
    else run.losing.push(task);
    return;
  }
  if (step.whole && !step.addsUp && task.progress?.kind !== "log") {
    if ((await closeGap(run, task)) === "goes on") await advance(run, task);
    return;
  }
  const now = run.deps.clock.now();
  const { whole, addsUp } = step;
  await commitState(run, finishedState(task, { whole, addsUp, now, runId: run.runId }));
  await endWidening(run, task);
  closeTask(run, task);
};

/**
 * Decides the task's next reads, or ends it. Call it after every commit of the task. Several pages are often
 * committed together, so decisions run one at a time; otherwise a walk could end twice.
 */
export const advance = async (run: SyncRun, task: ScopeTask): Promise<void> => {
  task.undecided = true;
  if (task.deciding) return;
  task.deciding = true;
  try {
    while (task.undecided) {
      task.undecided = false;
      await decide(run, task);
    }
  } finally {
    task.deciding = false;
  }
};

/** Stores that the service does not sort or filter this list by its change date. */
const rememberLack = async (
  run: SyncRun,
  stream: StreamName,
  lack: Partial<Pick<ListShape, "changeOrder" | "changeFilter">>,
): Promise<void> => {
  const shape = { ...shapeOf(run, stream), ...lack };
  run.shapes.set(stream, shape);
  await rememberShape(run.deps.warehouse, stream, shape, run.deps.clock.now());
};

const walkInstead = async (run: SyncRun, task: ScopeTask, because: string): Promise<void> => {
  const { stream } = task.candidate;
  await giveUpWidening(run, task);
  run.deps.emit({ kind: "note", level: "info", text: `${stream}: full walk, ${because}` });
  run.stats.of(stream).modes.add("walk");
  turnIntoWalk(task, shapeOf(run, stream), run.runId, run.deps.clock.now());
  return decide(run, task);
};

/** Of a filtered list, the rows that count are those inside the scope; a complete walk shows which these are. */
const countScope = async (
  { deps: { warehouse } }: SyncRun,
  task: ScopeTask,
  name: ScopedTable,
  complete: boolean,
): Promise<void> => {
  const isShown = complete && task.progress?.kind === "walk";
  if (isShown || readsWiderChanges(task)) await markReturned(warehouse, name, task.walkId);
  task.rows = await warehouse.countRows(name);
};

/** After a page that is refused in each form: the rest is read from the other end, or the list fails. */
const goOnOrFail = async (
  run: SyncRun,
  task: ScopeTask,
  { walk, error }: Pick<NonNullable<ScopeTask["leftOff"]>, "walk" | "error">,
) => {
  const total = task.progress?.kind === "watermark" ? task.progress.coverage.total : null;
  if (readOtherEnd(run, task, { error, walk })) return decide(run, task);
  await failWalk(run, task, { error, total });
};

/**
 * True when the next page is asked for alone. After one that could not be used, those behind it would be paid for again each time;
 * after one that failed, the changes are read once nothing else is under way.
 */
const asksAlone = (run: SyncRun, task: ScopeTask): boolean =>
  (run.unusable.has(task.candidate) || (task.before?.error ?? null) !== null) && !hasGoneOn(run, task);

const decide = async (run: SyncRun, task: ScopeTask): Promise<void> => {
  if (task.status !== "active" || task.progress === null) return;
  // Reads that were decided but not sent are decided again, because the list may have changed.
  const unsent = task.ready;
  task.inFlight = task.inFlight.filter((read) => !unsent.includes(read));
  task.ready = [];
  const complete = coverageOf(task.progress)?.complete === true;
  if (task.uncommitted > 0 && (complete || task.progress.kind !== "walk")) return;
  if (complete && task.inFlight.length > 0) return;
  const { name } = task.stream;
  task.progress = inFixedPages(task.progress, shapeOf(run, name).fixed);
  if (await failsAtOtherEnd(run, task)) return;
  const doubt = doubtIn(run, task);
  if (doubt !== null) {
    // Pages under way belong to the list as it was asked for so far.
    return task.inFlight.length + task.uncommitted > 0 ? undefined : walkInstead(run, task, doubt);
  }
  if (isFiltered(run, name) && task.uncommitted === 0) await countScope(run, task, name, complete);
  const seen = complete ? await seenBy(run, task) : 0;
  if (complete && task.progress.kind === "filter" && !task.progress.only) {
    task.matching = await countChangedContacts(run.deps.warehouse.database, task.progress.since);
  }
  const step = stepOf(task, seen, asksAlone(run, task) ? 1 : run.options.concurrency);
  if (task.leftOff !== null && task.progress.kind !== "walk" && step.kind !== "read" && step.kind !== "wait") {
    return goOnOrFail(run, task, task.leftOff);
  }
  if (task.closing !== null && step.kind !== "read" && step.kind !== "wait") {
    return endLook(run, task, step.kind === "done");
  }
  switch (step.kind) {
    case "read":
      task.ready = withoutRefused(task, step.reads);
      if (task.inFlight.length > 0 || task.refused === null) return;
      return goOnOrFail(run, task, { error: tooDeep(task.refused.error, task), walk: walkSoFar(task) });
    case "wait":
      return;
    case "unordered":
      await rememberLack(run, task.candidate.stream, { changeOrder: false });
      if (!step.agrees || task.stream.filter === undefined) return walkInstead(run, task, step.because);
      run.deps.emit({ kind: "note", level: "info", text: `${task.candidate.stream}: filtered, ${step.because}` });
      run.stats.of(task.candidate.stream).modes.add("filter");
      turnIntoFilter(task, shapeOf(run, task.candidate.stream));
      return decide(run, task);
    case "unfiltered":
      await rememberLack(run, task.candidate.stream, { changeFilter: false });
      return walkInstead(run, task, step.because);
    case "again":
      readChangesAgain(task);
      return decide(run, task);
    case "walk":
      return (await settleAfterChanges(run, task)) ? decide(run, task) : walkInstead(run, task, step.because);
    case "done": {
      const next = await afterPart(run, task, step);
      if (next === null) return finish(run, task, seen, step);
      return next === "changes" ? decide(run, task) : walkInstead(run, task, next.walk);
    }
    default:
      return step satisfies never;
  }
};

/** A company list answered with 404: the company is gone, and so are all its rows. */
export const finishAbsent = async (run: SyncRun, task: ScopeTask): Promise<void> => {
  if (task.pages > 0) {
    const detail = "the company disappeared while its list was read";
    const endpoint = task.stream.path;
    return failTask(run, task, new DuckmirrorError("REQUEST_FAILED", { endpoint, detail }), { resumable: false });
  }
  task.firstMirror = task.rows === 0;
  await finish(run, task, 0, { kind: "done", addsUp: true, whole: true, because: "the company is gone" });
};

// Closes the gap that a walk leaves that did not add up: asks by id for rows that are probably gone, which is free where
// they are, and deletes those the service answers 404 for. Then the list's changes are read once more: when the counts
// agree, the mirror is complete although no walk added up. docs/decisions/0081-closing-a-gap.md.
//
//   walk ended ─▶ suspects asked by id ─▶ agrees ─▶ complete
//                        │                  ▲
//                        ├─ differs ─▶ changes read ─▶ differs ─▶ unconfirmed
//                        └─ unmet rows left, or the 404s are not to be trusted ─▶ unconfirmed
import { counted } from "../../core/units.ts";
import type { Suspect } from "../../warehouse/load/suspects.ts";
import type { Unconfirmed } from "../../warehouse/record/checkpoint.ts";
import { coverageOf } from "../strategies/progress.ts";
import { finishedState, totalOf } from "../task/scope-state.ts";
import { lookAfterWalk, type ScopeTask, uncountable } from "../task/scope-task.ts";
import { missingOf } from "./apply-deletes.ts";
import { type AskableStream, askById, isAskable } from "./ask-by-id.ts";
import { unconfirmedIn } from "./completeness.ts";
import { guardDeletes } from "./deletes.ts";
import { type SyncRun, shapeOf } from "./sync-run.ts";
import { adjustRows, closeTask, commitState } from "./task-ends.ts";

/** Rows asked for by id in one run, at most, and how long that may take: the rate limit is shared with paid requests. */
const MOST_ASKED = 250;
const MOST_ASKING_MS = 120_000;
/** Rows that turn out to be there cost a credit each: after so many the guess is bad. */
const MOST_ALIVE = 3;
/** Asked at the same time. */
const AT_ONCE = 4;
/** Rows that the walk has met, asked for before 404s are believed. */
const CONTROLS = 3;

/** Rows keep their places and every page was joined: what the walk did not meet did not slip between two pages. */
const isProven = (task: ScopeTask): boolean => {
  if (task.progress === null) return false;
  const coverage = coverageOf(task.progress);
  if (coverage === null || !coverage.proven) return false;
  return task.progress.kind !== "walk" || task.progress.ordered || !coverage.moved;
};

/** Rows the service counts, without those that can be no rows here. */
const countedBy = (task: ScopeTask): number | null => {
  const total = totalOf(task);
  return total === null ? null : total - uncountable(task);
};

interface Asked {
  readonly gone: readonly string[];
  /** Why it ended before every suspect was asked for; null: it did not. */
  readonly ended: string | null;
}

/** Asks for suspects, several at a time, until enough are known, too many are there, or nothing more may be sent. */
const askSuspects = async (
  run: SyncRun,
  task: ScopeTask,
  name: AskableStream,
  suspects: readonly Suspect[],
): Promise<Asked> => {
  const { clock } = run.deps;
  const until = clock.now() + MOST_ASKING_MS;
  const waiting = [...suspects];
  const gone: string[] = [];
  let alive = 0;
  let ended: string | null = null;
  const ask = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      if (ended !== null || run.deps.signal.aborted) return;
      // Rows that the walk has met are suspect only while the mirror holds more rows than the service counts.
      if (next.met && task.rows - gone.length <= (countedBy(task) ?? Number.POSITIVE_INFINITY)) return;
      const answer = await askById(run, task, name, next.id);
      if (answer === "absent") gone.push(next.id);
      else if (answer === "alive") alive += 1;
      else ended = answer.noCredit?.message ?? "the rest is asked for in the next sync";
      if (alive >= MOST_ALIVE) ended = `${counted(alive, "row")} of those it did not meet are there`;
      if (clock.now() > until) ended = "the rest is asked for in the next sync";
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, run.options.concurrency) }, ask));
  return { gone, ended };
};

/**
 * Whether 404s are to be believed: the service knows a row by id that the walk has met. An organization whose tier was
 * lowered gets 404 for everything (API.md, Access tiers), and so does a token without that route.
 */
const knowsLiveRow = async (run: SyncRun, task: ScopeTask, name: AskableStream): Promise<boolean> => {
  const met = { table: name, walkId: task.walkId, limit: CONTROLS };
  for (const id of await run.deps.warehouse.metRows(met)) {
    const answer = await askById(run, task, name, id);
    if (answer === "alive") return true;
    if (answer !== "absent") return false;
  }
  return false;
};

const deleteGone = async (run: SyncRun, task: ScopeTask, name: AskableStream, ids: readonly string[]) => {
  const now = run.deps.clock.now();
  const deleted = await run.deps.warehouse.deleteKeys({ table: name, ids, runId: run.runId, now });
  run.stats.of(name).deleted += deleted;
  adjustRows(run, task, -deleted);
};

/** Asks for suspects and deletes those that are gone. Answers with what kept it from settling all of them. */
const settleSuspects = async (run: SyncRun, task: ScopeTask, name: AskableStream): Promise<string | null> => {
  const walkBefore = task.before?.status === "idle" ? task.before.walkId : null;
  const search = { table: name, walkId: task.walkId, walkBefore, limit: MOST_ASKED };
  const likely = isProven(task);
  const suspects = (await run.deps.warehouse.suspects(search)).filter(
    ({ orphan, missedTwice }) => likely || orphan || missedTwice,
  );
  if (suspects.length === 0) return null;
  const { missing } = await missingOf(run, task);
  const atStake = Math.max(missing, suspects.length);
  const refusal = guardDeletes(task.stream, { rows: task.rows, missing: atStake }, run.options);
  if (refusal !== null) return refusal.message;
  const { gone, ended } = await askSuspects(run, task, name, suspects);
  if (gone.length === 0) return ended;
  if (!(await knowsLiveRow(run, task, name))) return "the service knows no row by its id, so its 404s prove nothing";
  await deleteGone(run, task, name, gone);
  return ended;
};

/** What the walk, and what was asked for since, could not confirm; null: everything is. */
const openIn = async (run: SyncRun, task: ScopeTask): Promise<Unconfirmed | null> => {
  const unmet = task.firstMirror ? 0 : (await missingOf(run, task)).missing;
  const open = unconfirmedIn({ rows: task.rows, unmet, counted: countedBy(task) });
  if (open !== null || isProven(task)) return open;
  return { rows: 0, because: "rows changed places while the list was read" };
};

const end = async (run: SyncRun, task: ScopeTask, unconfirmed: Unconfirmed | null) => {
  const { name } = task.stream;
  if (unconfirmed !== null) {
    const text = `${name}: ${counted(unconfirmed.rows, "row")} unconfirmed: ${unconfirmed.because}`;
    run.deps.emit({ kind: "note", level: "warn", text });
  }
  const now = run.deps.clock.now();
  const addsUp = unconfirmed === null;
  const state = finishedState(task, { whole: true, addsUp, unconfirmed, now, runId: run.runId });
  // What this walk has met is kept: a row that the next one does not meet either is asked for by id.
  await commitState(run, addsUp ? state : { ...state, walkId: task.walkId });
  closeTask(run, task);
};

/**
 * The list moved while it was walked, and its changes can be read: they show what came in, and how many rows the service
 * counts now. A list at rest would be counted the same again.
 */
const canLook = (run: SyncRun, task: ScopeTask): boolean =>
  isAskable(task.stream.name) &&
  task.stream.watermark !== undefined &&
  shapeOf(run, task.stream.name).changeOrder &&
  task.progress?.kind === "walk" &&
  task.progress.coverage.moved &&
  isProven(task) &&
  !run.deps.signal.aborted;

/** Ends a walk of the whole list that does not add up. Answers with whether the task goes on: its changes are read. */
export const closeGap = async (run: SyncRun, task: ScopeTask): Promise<"ended" | "goes on"> => {
  const { name } = task.stream;
  let kept: string | null = null;
  // What a first mirror has met is what it holds.
  if (isAskable(name) && !task.firstMirror) kept = await settleSuspects(run, task, name);
  const open = await openIn(run, task);
  const onlyCount = open !== null && (task.firstMirror || (await missingOf(run, task)).missing === 0);
  if (onlyCount && canLook(run, task)) {
    lookAfterWalk(task, shapeOf(run, name));
    return "goes on";
  }
  await end(run, task, open === null || kept === null ? open : { ...open, because: `${open.because}; ${kept}` });
  return "ended";
};

/** Ends the reading of changes after such a walk: `agrees` when the counts do. */
export const endLook = async (run: SyncRun, task: ScopeTask, agrees: boolean): Promise<void> => {
  const open = agrees ? null : await openIn(run, task);
  await end(run, task, agrees ? null : (open ?? { rows: 0, because: "the list moved while its changes were read" }));
};

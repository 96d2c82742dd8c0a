// Suspects: rows that a reading of the whole list did not return, and rows whose account is gone. It requests them by id, which
// costs nothing if they are gone, and deletes those that return 404. docs/decisions/0081-closing-a-gap.md.
import type { ScopedTable } from "../../../catalog/tables.ts";
import { counted } from "../../../core/text/units.ts";
import type { Suspect } from "../../../warehouse/load/suspects.ts";
import { coverageOf } from "../../list/ways/progress.ts";
import { totalOf } from "../../task/scope-state.ts";
import { type ScopeTask, uncountable } from "../../task/scope-task.ts";
import type { SyncRun } from "../state/run-state.ts";
import { adjustRows } from "../state/task-ends.ts";
import { missingOf } from "./apply-deletes.ts";
import { askById } from "./ask-by-id.ts";
import { guardDeletes } from "./delete-guard.ts";

/** Limits on rows requested by id in one run, and on the time, because paid requests share the rate limit. */
export const MOST_ASKED = 250;
const MOST_ASKING_MS = 120_000;
/** Rows that still exist cost a credit each; after this many the guess is bad. */
const MOST_ALIVE = 3;
/** Concurrent requests. */
const AT_ONCE = 4;
/** Rows that the walk returned, requested as a control before 404s are trusted. */
const CONTROLS = 3;

/** True when rows keep their order and every page was joined, so that the walk skipped no row. */
export const isProven = (task: ScopeTask): boolean => {
  if (task.progress === null) return false;
  const coverage = coverageOf(task.progress);
  if (coverage === null || !coverage.proven) return false;
  return task.progress.kind !== "walk" || task.progress.ordered || !coverage.moved;
};

/** Number of rows that the service counts, minus records that the mirror cannot hold. */
export const countedBy = (task: ScopeTask): number | null => {
  const total = totalOf(task);
  return total === null ? null : total - uncountable(task);
};

interface Asked {
  readonly gone: readonly string[];
  /** Reason why it ended before every suspect was requested; null: it did not. */
  readonly ended: string | null;
}

/** A row that the walk returned is a suspect only while the mirror holds more rows than the service counts. */
const exceedsCount = (task: ScopeTask, gone = 0): boolean =>
  task.rows - gone > (countedBy(task) ?? Number.POSITIVE_INFINITY);

/** Requests suspects, several at a time, until enough are known, too many exist, or nothing more may be sent. */
const askSuspects = async (
  run: SyncRun,
  task: ScopeTask,
  name: ScopedTable,
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
      if (next.met && !exceedsCount(task, gone.length)) return;
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
 * Whether 404s can be trusted: the service must know a row by id that the walk returned. An organization with a
 * lowered tier gets 404 for everything (API.md, Access tiers), and so does a token without access to the route.
 */
const knowsLiveRow = async (run: SyncRun, task: ScopeTask, name: ScopedTable): Promise<boolean> => {
  const met = { table: name, walkId: task.walkId, limit: CONTROLS };
  for (const id of await run.deps.warehouse.metRows(met)) {
    const answer = await askById(run, task, name, id);
    if (answer === "alive") return true;
    if (answer !== "absent") return false;
  }
  return false;
};

const deleteGone = async (run: SyncRun, task: ScopeTask, name: ScopedTable, ids: readonly string[]) => {
  const now = run.deps.clock.now();
  const deleted = await run.deps.warehouse.deleteKeys({ table: name, ids, runId: run.runId, now });
  run.stats.of(name).deleted += deleted;
  adjustRows(run, task, -deleted);
};

/** Requests suspects and deletes those that are gone. Returns the reason if some remain. */
export const settleSuspects = async (run: SyncRun, task: ScopeTask, name: ScopedTable): Promise<string | null> => {
  const walkBefore = task.before?.status === "idle" ? task.before.walkId : null;
  const search = { table: name, walkId: task.walkId, walkBefore, limit: MOST_ASKED };
  const likely = isProven(task);
  const suspects = (await run.deps.warehouse.suspects(search)).filter(
    ({ met, orphan, missedTwice }) => (likely || orphan || missedTwice) && (!met || exceedsCount(task)),
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

// Suspects: rows that a reading of the whole list did not return, and rows whose account is gone. It requests them by id, which
// costs nothing if they are gone, and deletes those that return 404. docs/decisions/gone-rows.md.

import type { ScopedTable } from "../../../catalog/tables.ts";
import { counted } from "../../../core/text/units.ts";
import type { Suspect } from "../../../warehouse/load/suspects.ts";
import { acceptedGap } from "../../../warehouse/record/checkpoint.ts";
import { type ListState, type Live, liveOf, readingOf, uncountable } from "../../list/state.ts";
import { totalOf } from "../../list/stored-state.ts";
import { coverageOf } from "../../list/ways/progress.ts";
import { adjustRows } from "../state/list-ends.ts";
import type { OpenList } from "../state/open-list.ts";
import { isFiltered, type SyncRun } from "../state/run-state.ts";
import { missingOf } from "./apply-deletes.ts";
import { askById, isAskable } from "./ask-apart.ts";
import { guardDeletes } from "./delete-guard.ts";

/** Limits on rows requested by id in one run, and on the time, because paid requests share the rate limit. */
const MOST_ASKED = 250;
const MOST_ASKING_MS = 120_000;
/** Rows that still exist cost a credit each; after this many the guess is bad. */
const MOST_ALIVE = 3;
/** Concurrent requests. */
const AT_ONCE = 4;
/** Rows that the walk returned, requested as a control before 404s are trusted. */
const CONTROLS = 3;

/** True when rows keep their order and every page was joined, so that the walk skipped no row. */
export const isProven = (list: Live): boolean => {
  const progress = readingOf(list)?.progress;
  if (progress === undefined) return false;
  const coverage = coverageOf(progress);
  if (coverage === null || !coverage.proven) return false;
  return progress.kind !== "walk" || progress.ordered || !coverage.moved;
};

/** Number of rows that the service counts, minus records that the mirror cannot hold. */
export const countedBy = (list: Live): number | null => {
  const total = totalOf(list);
  return total === null ? null : total - uncountable(list);
};

interface Asked {
  readonly gone: readonly string[];
  /** Rows that the list lacks, and that their own route returns. */
  readonly alive: number;
  /** Reason why it ended before every suspect was requested; null: it did not. */
  readonly ended: string | null;
}

/** What remains of suspects. `rows`: rows that the list lacks, and that their own route returns. */
export interface Left {
  readonly because: string;
  readonly rows: number;
}

/** Why rows remain; null: none does. A list without a count does not show that it lacks them. */
const leftOf = (list: Live, { alive, ended }: Asked): Left | null => {
  if (ended !== null) return { because: ended, rows: alive };
  if (alive === 0 || totalOf(list) !== null) return null;
  return { because: `the list lacks ${counted(alive, "row")}, which the service returns by id`, rows: alive };
};

/** A row that the walk returned is a suspect only while the mirror holds more rows than the service counts. */
const exceedsCount = ({ state }: OpenList, gone = 0): boolean =>
  liveOf(state).rows - gone > (countedBy(liveOf(state)) ?? Number.POSITIVE_INFINITY);

/** Requests suspects, several at a time, until enough are known, too many exist, or nothing more may be sent. */
const askSuspects = async (
  run: SyncRun,
  list: OpenList,
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
      if (next.met && !exceedsCount(list, gone.length)) return;
      const answer = await askById(run, list, name, next.id);
      if (answer === "absent") gone.push(next.id);
      else if (answer === "alive" || answer === "another") alive += 1;
      else ended = answer.noCredit?.message ?? "the rest is asked for in the next sync";
      if (alive >= MOST_ALIVE) ended = `${counted(alive, "row")} of those it did not meet are there`;
      if (clock.now() > until) ended = "the rest is asked for in the next sync";
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, run.options.concurrency) }, ask));
  return { gone, alive, ended };
};

/**
 * Whether 404s can be trusted: the service must know a row by id that the walk returned. An organization with a
 * lowered tier gets 404 for everything (API.md, Access tiers), and so does a token without access to the route.
 */
const knowsLiveRow = async (run: SyncRun, list: OpenList, name: ScopedTable): Promise<boolean> => {
  const met = { table: name, walkId: liveOf(list.state).walkId, limit: CONTROLS };
  for (const id of await run.deps.warehouse.metRows(met)) {
    const answer = await askById(run, list, name, id);
    if (answer === "alive") return true;
    if (answer !== "absent" && answer !== "another") return false;
  }
  return false;
};

/** Moves rows of the list to history. */
export const deleteGone = async (run: SyncRun, list: OpenList, name: ScopedTable, ids: readonly string[]) => {
  const now = run.deps.clock.now();
  const deleted = await run.deps.warehouse.deleteKeys({ table: name, ids, runId: run.runId, now });
  run.stats.of(name).deleted += deleted;
  adjustRows(run, list, -deleted);
};

/** Requests suspects and deletes those that are gone. */
export const settleSuspects = async (run: SyncRun, list: OpenList, name: ScopedTable): Promise<Left | null> => {
  const live = liveOf(list.state);
  const walkBefore = live.before?.status === "idle" ? live.before.walkId : null;
  const search = { table: name, walkId: live.walkId, walkBefore, limit: MOST_ASKED };
  const likely = isProven(live);
  const suspects = (await run.deps.warehouse.suspects(search)).filter(
    ({ met, orphan, missedTwice }) => (likely || orphan || missedTwice) && (!met || exceedsCount(list)),
  );
  if (suspects.length === 0) return null;
  const { missing } = await missingOf(run, list);
  const atStake = Math.max(missing, suspects.length);
  const refusal = guardDeletes(list.stream, { rows: live.rows, missing: atStake }, run.options);
  if (refusal !== null) return { because: refusal.message, rows: 0 };
  const asked = await askSuspects(run, list, name, suspects);
  const { gone } = asked;
  if (gone.length === 0) return leftOf(live, asked);
  if (!(await knowsLiveRow(run, list, name))) {
    return { because: "the service knows no row by its id, so its 404s prove nothing", rows: 0 };
  }
  await deleteGone(run, list, name, gone);
  return leftOf(live, asked);
};

// Deletes beside many changes. A reading of changes that came to the end of its list has returned every row, as after a change of
// all scores. Where the service counts fewer rows than the mirror holds, the rows that it did not return are asked for by
// id: that is free if they are gone, and a walk of the same list would cost a credit a page.

/** Rows that may turn out to be there, for a credit each: they changed, and so moved, while the list was read. */
const MOST_MOVED = 2;

/** Whether this reading, and no earlier run's, returned the list from its first page to its last. */
const cameToTheEnd = (state: ListState): boolean => {
  const reading = readingOf(state);
  if (reading?.progress.kind !== "watermark" || reading.firstMirror) return false;
  if (state.kind !== "reading") return false;
  const { coverage, sorted, resumed } = reading.progress;
  return coverage.complete && coverage.proven && sorted && !resumed;
};

/** Rows that the mirror holds beyond the service's count. */
const surplusOf = (list: Live): number => {
  const total = totalOf(list);
  return total === null ? 0 : list.rows - (total - (acceptedGap(list.before) ?? 0));
};

/** Deletes the rows that are gone. Returns whether the counts agree now, so that no walk is needed. */
export const settleAfterChanges = async (run: SyncRun, list: OpenList): Promise<boolean> => {
  const { name } = list.stream;
  const surplus = surplusOf(liveOf(list.state));
  if (!cameToTheEnd(list.state) || !isAskable(name) || isFiltered(run, name)) return false;
  if (surplus <= 0 || surplus > MOST_ASKED) return false;
  const { missing } = await missingOf(run, list);
  if (missing < surplus || missing > surplus + MOST_MOVED) return false;
  await settleSuspects(run, list, name);
  return surplusOf(liveOf(list.state)) === 0;
};

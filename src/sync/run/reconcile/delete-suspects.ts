// Finds deleted rows by requests for suspects: rows that a reading of the whole list did not return, and rows whose account is gone.
// Each is requested by its id (free if it returns 404); rows that return 404 move to history. docs/decisions/gone-rows.md.

import type { ScopedTable } from "../../../catalog/tables.ts";
import { counted } from "../../../core/text/units.ts";
import type { Suspect } from "../../../warehouse/load/suspects.ts";
import { acceptedGap, type ListState, type Live, liveOf, readingOf, rowsCounted } from "../../list/state.ts";
import { totalOf } from "../../list/stored-state.ts";
import { coverageOf } from "../../list/ways/progress.ts";
import type { OpenList } from "../state/open-list.ts";
import type { Run } from "../state/run-state.ts";
import { guardDeletes, missingOf } from "./delete-missing-rows.ts";
import {
  CONTROL_ROWS,
  type ExtraRequestParts,
  fetchRowsById,
  hasDetailRoute,
  moveToHistory,
  trusts404s,
} from "./extra-requests.ts";

/** Limits on rows requested by id in one run, and on the time, because paid requests share the rate limit. */
const MOST_ASKED = 250;
const MOST_ASKING_MS = 120_000;
/** Rows that still exist cost a credit each; after this many the guess is bad. */
const MOST_ALIVE = 3;
/** Concurrent requests. */
const AT_ONCE = 4;

/** True when rows keep their order and every page was joined, so that the walk skipped no row. */
export const isProven = (list: Live): boolean => {
  const progress = readingOf(list)?.progress;
  if (progress === undefined) return false;
  const coverage = coverageOf(progress);
  if (coverage === null || !coverage.proven) return false;
  return progress.kind !== "walk" || progress.ordered || !coverage.moved;
};

/** Number of rows that the service counts, without records that the mirror cannot hold. */
export const countedBy = (list: Live): number | null => {
  const total = totalOf(list);
  return total === null ? null : rowsCounted(list, total);
};

interface Asked {
  readonly gone: readonly string[];
  /** Rows that the list lacks, and that their own route returns. */
  readonly alive: number;
  /** Reason why it ended before every suspect was requested; null: it did not. */
  readonly ended: string | null;
}

/** What remains of suspects. `rows`: rows that the list lacks, and that their own route returns. */
export interface RemainingSuspects {
  readonly because: string;
  readonly rows: number;
}

/** Why rows remain; null: none does. A list without a count does not show that it lacks them. */
const leftOf = (list: Live, { alive, ended }: Asked): RemainingSuspects | null => {
  if (ended !== null) return { because: ended, rows: alive };
  if (alive === 0 || totalOf(list) !== null) return null;
  return { because: `the list lacks ${counted(alive, "row")}, which the service returns by id`, rows: alive };
};

/** A row that the walk returned is a suspect only while the mirror holds more rows than the service counts. */
const exceedsCount = ({ state }: OpenList, gone = 0): boolean =>
  liveOf(state).rows - gone > (countedBy(liveOf(state)) ?? Number.POSITIVE_INFINITY);

/** Requests suspects, several at a time, until enough are known, too many exist, or nothing more may be sent. */
const askSuspects = async (
  run: Run<ExtraRequestParts>,
  list: OpenList,
  suspects: readonly Suspect[],
): Promise<Asked> => {
  const { clock } = run.deps;
  const until = clock.now() + MOST_ASKING_MS;
  const met = new Set(suspects.flatMap((suspect) => (suspect.met ? suspect.id : [])));
  const { gone, obstacle, ...there } = await fetchRowsById(
    run,
    list,
    suspects.map(({ id }) => id),
    {
      atOnce: Math.min(AT_ONCE, run.options.concurrency),
      isEnough: (soFar, next) =>
        soFar.alive + soFar.moved >= MOST_ALIVE ||
        clock.now() > until ||
        (met.has(next) && !exceedsCount(list, soFar.gone)),
    },
  );
  const alive = there.alive + there.moved;
  if (obstacle === null && alive >= MOST_ALIVE)
    return { gone, alive, ended: `${counted(alive, "row")} of those it did not meet are there` };
  const isCut = obstacle !== null || clock.now() > until;
  return {
    gone,
    alive,
    ended: isCut ? (obstacle?.noCredit?.message ?? "the rest is asked for in the next sync") : null,
  };
};

/** Requests suspects and deletes those that are gone. */
export const deleteSuspects = async (
  run: Run<ExtraRequestParts | "work">,
  list: OpenList,
  name: ScopedTable,
): Promise<RemainingSuspects | null> => {
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
  const asked = await askSuspects(run, list, suspects);
  const { gone } = asked;
  if (gone.length === 0) return leftOf(live, asked);
  const met = await run.deps.warehouse.metRows({ table: name, walkId: live.walkId, limit: CONTROL_ROWS });
  if ((await trusts404s(run, list, met)) !== true) {
    return { because: "the service knows no row by its id, so its 404s prove nothing", rows: 0 };
  }
  await moveToHistory(run, list, gone);
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

/** Rows that the mirror holds beyond the service's present count; 0 if it does not count. */
export const surplusOf = ({ state }: OpenList): number => {
  const list = liveOf(state);
  const progress = list.kind === "reading" ? list.reading.progress : null;
  const total = progress?.kind === "filter" ? progress.total : totalOf(list);
  return total === null ? 0 : list.rows - (total - (acceptedGap(list.before) ?? 0));
};

/** Deletes the rows that are gone. Returns whether the counts agree now, so that no walk is needed. */
export const deleteAfterChanges = async (
  run: Run<ExtraRequestParts | "forms" | "work">,
  list: OpenList,
): Promise<boolean> => {
  const { name } = list.stream;
  const surplus = surplusOf(list);
  if (!cameToTheEnd(list.state) || !hasDetailRoute(name) || run.forms.isFiltered(name)) return false;
  if (surplus <= 0 || surplus > MOST_ASKED) return false;
  const { missing } = await missingOf(run, list);
  if (missing < surplus || missing > surplus + MOST_MOVED) return false;
  await deleteSuspects(run, list, name);
  return surplusOf(list) === 0;
};

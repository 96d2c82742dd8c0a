// Moves rows that a complete walk did not return to history (invariant I3). First it requests a few of them by id, and a guard refuses
// the delete if a list came back empty, if the share is too large, or if the service still returns such a row by its id.
import { z } from "zod";
import type { StreamSpec } from "../../../catalog/streams.ts";
import type { ScopedTable } from "../../../catalog/tables.ts";
import { DuckmirrorError } from "../../../core/errors.ts";
import { counted } from "../../../core/text/units.ts";
import { isHigher } from "../../list/coverage/coverage.ts";
import { liveOf, progressOf, readingOf } from "../../list/state.ts";
import { finishedState, walkingState } from "../../list/stored-state.ts";
import { coverageOf } from "../../list/ways/progress.ts";
import type { OpenList } from "../state/open-list.ts";
import type { DeleteGuard } from "../state/run-input.ts";
import type { Run } from "../state/run-state.ts";
import { endCutOff, rememberWindow } from "./end-at-window.ts";
import { type ExtraRequestParts, fetchRowsById, hasDetailRoute } from "./extra-requests.ts";

/** Rows requested by id before a delete: a 404 is free and confirms it, a 200 proves the walk wrong. */
export const PROBES = 3;

/** One scope whose walk added up, and the rows that it did not return. */
interface MissingRows {
  readonly list: OpenList;
  /** Mirrored rows in this scope. */
  readonly rows: number;
  readonly missing: number;
  /** Ids to probe. */
  readonly sample: readonly string[];
}

/**
 * Decides whether missing rows of a stream may be deleted; returns an error if not. `rows`: rows of all lists of the
 * stream compared in this run, so that one company closing its last job opening is no alarm while others are
 * unchanged.
 */
export const guardDeletes = (
  stream: StreamSpec,
  found: { readonly rows: number; readonly missing: number },
  guard: DeleteGuard,
): DuckmirrorError | null => {
  const { rows, missing } = found;
  if (missing === 0 || guard.allowMassDelete) return null;
  if (missing >= rows && stream.tier === "full")
    return new DuckmirrorError("TIER_LOWERED", { stream: stream.name, rows });
  return missing >= rows || missing / rows > guard.maxShare
    ? new DuckmirrorError("MASS_DELETE_REFUSED", { stream: stream.name, missing, rows })
    : null;
};

// Records that left their list and are still served by their id: archived, or merged into another. The list decides what the
// mirror holds, once two walks of two runs, each of which adds up, lack them. docs/decisions/gone-rows.md.

/** Search windows end at a multiple of this many rows. */
const ROUND = 50;

const sighting = z.object({ runId: z.string(), ids: z.array(z.string()) });

const nameOf = ({ stream }: OpenList): string => `unlisted.${stream.name}`;

/** True when the list may end at a search window, and some of these rows may lie behind it. */
const mayBeCutOff = ({ state }: OpenList, ids: readonly string[]): boolean => {
  const progress = progressOf(state);
  const coverage = progress === null ? null : coverageOf(progress);
  if (coverage === null) return true;
  const { end, size, total, tail } = coverage;
  const last = tail.at(-1);
  const isOrdered = progress?.kind === "walk" && progress.ordered && last !== undefined;
  if (isOrdered && ids.every((id) => isHigher(id, last))) return false;
  return end >= size && (total ?? end) % ROUND === 0;
};

/** Ids that the walk of an earlier run lacked, too. */
const missedBefore = async (run: Run, list: OpenList, ids: readonly string[]): Promise<readonly string[]> => {
  const text = (await run.deps.warehouse.capabilities()).get(nameOf(list)) ?? "null";
  const { success, data } = sighting.safeParse(JSON.parse(text));
  // A record that could not be read may be one of them.
  const mayBeThere = (readingOf(list.state)?.rejected ?? 0) > 0 || mayBeCutOff(list, ids);
  if (!success || data.runId === run.runId || mayBeThere) return [];
  return ids.filter((id) => data.ids.includes(id));
};

/** Stores what this walk lacks; the service returned one of these rows by its id. */
const rememberMissed = (run: Run, list: OpenList, ids: readonly string[]): Promise<void> => {
  const value = JSON.stringify({ runId: run.runId, ids });
  return run.deps.warehouse.setCapability(nameOf(list), value, run.deps.clock.now());
};

/** What was remembered is settled: a record that returns and leaves again is looked for twice again. */
const forgetMissed = async (run: Run, list: OpenList): Promise<void> => {
  const { warehouse, clock } = run.deps;
  const known = (await warehouse.capabilities()).get(nameOf(list)) ?? "null";
  if (known !== "null") await warehouse.setCapability(nameOf(list), "null", clock.now());
};

/** The rows of the list's walk, in the warehouse. */
const walkOf = ({ stream, candidate, state }: OpenList) => ({
  ...{ table: stream.table, walkId: liveOf(state).walkId },
  ...(stream.scope === "company" ? { company: candidate.scope } : {}),
});

export const missingOf = async (run: Run, list: OpenList): Promise<MissingRows> => {
  const found = await run.deps.warehouse.missing(walkOf(list));
  return { list, rows: found.rows, missing: found.missing, sample: found.sample };
};

/** Requests a few missing rows by id, without those that the walk of an earlier run lacked, too. `later`: this run could not find out. */
const probe = async (
  run: Run<ExtraRequestParts | "ending">,
  { list, sample }: MissingRows,
): Promise<"gone" | "alive" | "later"> => {
  if (!hasDetailRoute(list.stream.name)) return "gone";
  const before = await missedBefore(run, list, sample);
  const ids = sample.filter((id) => !before.includes(id)).slice(0, PROBES);
  const { alive, obstacle } = await fetchRowsById(run, list, ids, { isEnough: (soFar) => soFar.alive > 0 });
  if (alive > 0 || obstacle === null) return alive > 0 ? "alive" : "gone";
  if (obstacle.noCredit !== null) run.ending.stop(obstacle.noCredit);
  return "later";
};

const refuse = async (run: Run<"ends">, scopes: readonly MissingRows[], error: DuckmirrorError) => {
  for (const { list, missing } of scopes) await run.ends.fail(list, error, { resumable: false, unconfirmed: missing });
};

/** The next run decides, whenever that is: it believes the pages only after it has asked the service again. */
export const leaveUndecided = async (run: Run<"ends">, list: OpenList): Promise<void> => {
  list.transition({ kind: "believed-no-more" });
  await run.ends.commit(walkingState(list.state, run.runId));
  run.ends.postpone(list);
};

const apply = async (run: Run<"ends" | "forms" | "stats" | "work">, { list, missing }: MissingRows) => {
  const verdict = { whole: true, addsUp: true };
  await rememberWindow(run, list, "settled");
  run.work.adjustRows(list, -missing);
  if (missing === 0) return run.ends.finish(list, verdict);
  const now = run.deps.clock.now();
  const state = finishedState(liveOf(list.state), { ...verdict, now, runId: run.runId });
  const deletion = { ...walkOf(list), expected: missing, runId: run.runId, now, scope: state };
  run.stats.countDeleted(list.candidate.stream, await run.deps.warehouse.deleteMissing(deletion));
  run.ends.close(list);
};

/**
 * Rows that a filtered walk did not return are outside the scope or gone; neither is asked, because asking costs a
 * credit if they exist. A list without any row proves nothing.
 */
const leaveOutside = async (
  run: Run<"ends" | "work">,
  table: ScopedTable,
  lists: readonly OpenList[],
): Promise<void> => {
  const { warehouse, emit } = run.deps;
  for (const list of lists) {
    const { rows, missing } = await missingOf(run, list);
    const empty = missing > 0 && missing === rows;
    if (!empty) {
      // They may also be gone; nobody asked.
      const left = await warehouse.mark({ of: "walk", table, inside: false, walkId: liveOf(list.state).walkId });
      emit({ kind: "note", level: "info", text: `${table}: ${counted(left, "row")} left the scope` });
      run.work.adjustRows(list, -left);
    }
    const unconfirmed = empty ? { rows, because: "the list with the filters of scope is empty" } : null;
    await run.ends.finish(list, { whole: true, addsUp: !empty, unconfirmed });
  }
};

/** Decides on rows that the walks of one stream did not return, and moves them to history if nothing contradicts. */
export const deleteMissingRows = async (
  run: Run<ExtraRequestParts | "ending" | "ends" | "forms" | "suspected" | "work">,
  stream: StreamSpec,
  lists: readonly OpenList[],
): Promise<void> => {
  if (run.forms.isFiltered(stream.name)) return leaveOutside(run, stream.name, lists);
  const scopes: MissingRows[] = [];
  for (const list of lists) scopes.push(await missingOf(run, list));
  const missing = scopes.reduce((sum, scope) => sum + scope.missing, 0);
  const refusal = guardDeletes(stream, { rows: run.suspected.comparedRows(stream.name), missing }, run.options);
  if (refusal !== null) return refuse(run, scopes, refusal);
  for (const scope of scopes) {
    const verdict = await probe(run, scope);
    if (verdict === "alive" && stream.scope === "organization" && mayBeCutOff(scope.list, scope.sample)) {
      await endCutOff(run, scope.list, scope.missing);
      continue;
    }
    if (verdict === "alive") {
      await rememberMissed(run, scope.list, scope.sample);
      await refuse(run, [scope], new DuckmirrorError("DELETE_PROBE_FAILED", { stream: stream.name }));
      continue;
    }
    if (verdict === "later") await leaveUndecided(run, scope.list);
    else {
      await apply(run, scope);
      await forgetMissed(run, scope.list);
    }
  }
};

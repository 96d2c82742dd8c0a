// Records that left their list and are still served by their id: archived, or merged into another. The list decides what the
// mirror holds, once two walks of two runs, each of which adds up, lack them. docs/decisions/the-list-decides.md.
import { z } from "zod";
import { isHigher } from "../../list/coverage/id-order.ts";
import { progressOf } from "../../list/state.ts";
import { coverageOf } from "../../list/ways/progress.ts";
import type { OpenList } from "../state/open-list.ts";
import type { SyncRun } from "../state/run-state.ts";

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
export const missedBefore = async (
  run: SyncRun,
  list: OpenList,
  ids: readonly string[],
): Promise<readonly string[]> => {
  const text = (await run.deps.warehouse.capabilities()).get(nameOf(list)) ?? "null";
  const { success, data } = sighting.safeParse(JSON.parse(text));
  if (!success || data.runId === run.runId || mayBeCutOff(list, ids)) return [];
  return ids.filter((id) => data.ids.includes(id));
};

/** Stores what this walk lacks; the service returned one of these rows by its id. */
export const rememberMissed = (run: SyncRun, list: OpenList, ids: readonly string[]): Promise<void> => {
  const value = JSON.stringify({ runId: run.runId, ids });
  return run.deps.warehouse.setCapability(nameOf(list), value, run.deps.clock.now());
};

/** What was remembered is settled: a record that returns and leaves again is looked for twice again. */
export const forgetMissed = async (run: SyncRun, list: OpenList): Promise<void> => {
  const { warehouse, clock } = run.deps;
  const known = (await warehouse.capabilities()).get(nameOf(list)) ?? "null";
  if (known !== "null") await warehouse.setCapability(nameOf(list), "null", clock.now());
};

// Closes the gap after a walk that did not add up. It requests rows that are probably gone by id, which costs nothing
// if they are, and deletes those that return 404. Then it reads the list's changes once more: if the counts agree,
// the mirror is complete although no walk added up. docs/decisions/gone-rows.md.
//
//   walk ended ─▶ suspects asked by id ─▶ agrees ─▶ complete
//                        │                  ▲
//                        ├─ differs ─▶ changes read ─▶ differs ─▶ unconfirmed
//                        └─ unmet rows left, or the 404s are not to be trusted ─▶ unconfirmed
import { counted } from "../../../core/text/units.ts";
import type { Unconfirmed } from "../../../warehouse/record/checkpoint.ts";
import { liveOf, progressOf, readingOf } from "../../list/state.ts";
import { finishedState, totalOf } from "../../list/stored-state.ts";
import { unconfirmedIn } from "../state/completeness.ts";
import { closeList, commitState } from "../state/list-ends.ts";
import type { OpenList } from "../state/open-list.ts";
import { isFiltered, type SyncRun, shapeOf } from "../state/run-state.ts";
import { missingOf } from "./apply-deletes.ts";
import { isAskable } from "./ask-by-id.ts";
import { rememberWindow } from "./at-window.ts";
import { countedBy, isProven, settleSuspects } from "./suspects.ts";

/** A first walk returned exactly the mirrored rows. */
const isFirst = ({ state }: OpenList): boolean => readingOf(state)?.firstMirror === true;

/** Rows that neither the walk nor the later requests confirmed; null: all are confirmed. */
const openIn = async (run: SyncRun, list: OpenList): Promise<Unconfirmed | null> => {
  const unmet = isFirst(list) ? 0 : (await missingOf(run, list)).missing;
  const live = liveOf(list.state);
  const open = unconfirmedIn({ rows: live.rows, unmet, counted: countedBy(live) });
  if (open !== null || isProven(live)) return open;
  const because =
    totalOf(live) === null
      ? "the service does not count its rows, and nothing proves that these are all"
      : "rows changed places while the list was read";
  return { rows: 0, because };
};

const end = async (run: SyncRun, list: OpenList, unconfirmed: Unconfirmed | null) => {
  const { name } = list.stream;
  if (unconfirmed !== null) {
    const text = `${name}: ${counted(unconfirmed.rows, "row")} unconfirmed: ${unconfirmed.because}`;
    run.deps.emit({ kind: "note", level: "warn", text });
  }
  const now = run.deps.clock.now();
  const addsUp = unconfirmed === null;
  const live = liveOf(list.state);
  await rememberWindow(run, list, unconfirmed !== null);
  const state = finishedState(live, { whole: true, addsUp, unconfirmed, now, runId: run.runId });
  // Keep the walk's keys: a row that the next walk does not return either is requested by id.
  await commitState(run, addsUp ? state : { ...state, walkId: live.walkId });
  closeList(run, list);
};

/**
 * True when the list changed during the walk and its changes can be read: they show new rows and the present count.
 * While the list is unchanged, its count would be the same again.
 */
const canLook = (run: SyncRun, { stream, state }: OpenList): boolean => {
  const progress = progressOf(state);
  return (
    isAskable(stream.name) &&
    stream.watermark !== undefined &&
    shapeOf(run, stream.name).changeOrder &&
    progress?.kind === "walk" &&
    progress.coverage.moved &&
    isProven(liveOf(state)) &&
    !run.deps.signal.aborted
  );
};

/** True when the mirror holds more rows than the service counts: changes only add rows. */
const hasSurplus = ({ state }: OpenList): boolean => {
  const counted = countedBy(liveOf(state));
  return counted !== null && liveOf(state).rows > counted;
};

/** Ends a walk of the whole list that does not add up. Returns whether it continues by reading the changes. */
export const closeGap = async (run: SyncRun, list: OpenList): Promise<"ended" | "goes on"> => {
  const { name } = list.stream;
  let kept: string | null = null;
  // Rows that a filtered walk did not return may exist outside the scope, where asking costs a credit each.
  if (isAskable(name) && !isFirst(list) && !isFiltered(run, name)) kept = await settleSuspects(run, list, name);
  const open = await openIn(run, list);
  const onlyCount = open !== null && (isFirst(list) || (await missingOf(run, list)).missing === 0);
  if (onlyCount && !hasSurplus(list) && canLook(run, list)) return "goes on";
  await end(run, list, open === null || kept === null ? open : { ...open, because: `${open.because}; ${kept}` });
  return "ended";
};

/** Ends the reading of changes after such a walk; `agrees`: the counts agree. */
export const endLook = async (run: SyncRun, list: OpenList, agrees: boolean): Promise<void> => {
  const open = agrees ? null : await openIn(run, list);
  await end(run, list, agrees ? null : (open ?? { rows: 0, because: "the list moved while its changes were read" }));
};

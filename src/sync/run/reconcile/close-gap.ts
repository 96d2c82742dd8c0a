// Closes the gap between mirror and service after a walk that did not add up, or whose list may have changed while it was read: deletes
// rows whose id returns 404 (free), then reads the changes since the walk began, and the present count. The list ends complete, or as
// `unconfirmed` with a reason. docs/decisions/gone-rows.md.
//
//   walk ended ─▶ suspects requested by id ─▶ changes read ─▶ agrees ─▶ complete
//                        │                          └─ differs ─▶ unconfirmed
//                        └─ unmet rows left, or the 404s are not to be trusted ─▶ unconfirmed
import type { Unconfirmed } from "../../../warehouse/record/checkpoint.ts";
import { isBelieved, mayHaveChanged } from "../../list/decide.ts";
import { isActive, type Live, liveOf, readingOf, unreadIn } from "../../list/state.ts";
import { totalOf } from "../../list/stored-state.ts";
import { unconfirmedIn } from "../state/completeness.ts";
import type { OpenList } from "../state/open-list.ts";
import type { Run } from "../state/run-state.ts";
import { missingOf } from "./delete-missing-rows.ts";
import { countedBy, deleteSuspects, isProven, type RemainingSuspects } from "./delete-suspects.ts";
import { rememberWindow } from "./end-at-window.ts";
import { type ExtraRequestParts, hasDetailRoute } from "./extra-requests.ts";

/** A first walk returned exactly the mirrored rows. */
const isFirst = ({ state }: OpenList): boolean => readingOf(state)?.firstMirror === true;

/** Rows that neither the walk nor the later requests confirmed; null: all are confirmed. */
const openIn = async (run: Run, list: OpenList): Promise<Unconfirmed | null> => {
  const unmet = isFirst(list) ? 0 : (await missingOf(run, list)).missing;
  const live = liveOf(list.state);
  const open = unconfirmedIn({ rows: live.rows, unmet, counted: countedBy(live), unread: unreadIn(live) });
  if (open === null && !isBelieved(live)) return { rows: 0, because: "rows came and went while the list was read" };
  if (open !== null || isProven(live)) return open;
  const because =
    totalOf(live) === null
      ? "the service does not count its rows, and nothing proves that these are all"
      : "rows changed places while the list was read";
  return { rows: 0, because };
};

const end = async (run: Run<"ends" | "forms">, list: OpenList, unconfirmed: Unconfirmed | null) => {
  const addsUp = unconfirmed === null;
  if (!addsUp) run.ends.noteUnconfirmed(list, unconfirmed);
  await rememberWindow(run, list, addsUp ? "settled" : "unconfirmed");
  const live = liveOf(list.state);
  // Only another walk shows what is missing, if the counts agree and the pages are not believed.
  const walkAgain = unconfirmed?.rows === 0 && !isBelieved(live) ? { walkedAt: null } : {};
  // The walk's keys are kept: a row that the next walk does not return either is requested by id.
  const more = addsUp ? {} : { walkId: live.walkId, ...walkAgain };
  await run.ends.finish(list, { whole: true, addsUp, unconfirmed }, more);
};

/** True when the list may have changed during the walk, and its changes can be read: they show new rows and the present count. */
const canLook = (run: Run<"forms">, { stream, state }: OpenList): boolean =>
  hasDetailRoute(stream.name) &&
  stream.watermark !== undefined &&
  run.forms.ofStream(stream.name).changeOrder &&
  isActive(state) &&
  mayHaveChanged(state) &&
  isProven(state) &&
  !run.deps.signal.aborted;

/** Rows that a list without a count lacks, although their own route returns them. */
const lackedBy = (live: Live, kept: RemainingSuspects | null): RemainingSuspects | null =>
  kept !== null && kept.rows > 0 && totalOf(live) === null ? kept : null;

/** What is open, with the reason why suspects remain. */
const withReason = (open: Unconfirmed | null, kept: RemainingSuspects | null): Unconfirmed | null =>
  open === null || kept === null || open === kept ? open : { ...open, because: `${open.because}; ${kept.because}` };

/** Ends a walk of the whole list, or lets it go on by reading the changes. */
export const closeGap = async (
  run: Run<ExtraRequestParts | "ends" | "forms" | "work">,
  list: OpenList,
): Promise<"ended" | "goes on"> => {
  const { name } = list.stream;
  let kept: RemainingSuspects | null = null;
  // Rows that a filtered walk did not return may exist outside the scope, where asking costs a credit each.
  if (hasDetailRoute(name) && !isFirst(list) && !run.forms.isFiltered(name))
    kept = await deleteSuspects(run, list, name);
  const open = (await openIn(run, list)) ?? lackedBy(liveOf(list.state), kept);
  const isMet = open === null || isFirst(list) || (await missingOf(run, list)).missing === 0;
  if (isMet && canLook(run, list)) {
    // The reading of changes that follows forgets it, if that settles the list.
    if (open !== null) await rememberWindow(run, list, "unconfirmed");
    return "goes on";
  }
  await end(run, list, withReason(open, kept));
  return "ended";
};

/** Ends the reading of changes after such a walk; `agrees`: the counts agree. */
export const endClosing = async (run: Run<"ends" | "forms">, list: OpenList, agrees: boolean): Promise<void> => {
  const isProof = agrees && isBelieved(liveOf(list.state));
  const open = isProof ? null : await openIn(run, list);
  await end(run, list, isProof ? null : (open ?? { rows: 0, because: "the list moved while its changes were read" }));
};

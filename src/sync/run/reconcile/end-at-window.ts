// Ends lists that the service never returns to their end (a search window, list/search-window.ts): stores the row at which walks stop, and
// ends the list as `unconfirmed`, with that reason, instead of paying for another walk. docs/decisions/end-of-a-list.md.
import { counted } from "../../../core/text/units.ts";
import { endsAtWindow, endsThereAgain, type WalkEnd, windowAfter } from "../../list/search-window.ts";
import { type Live, liveOf, progressOf, uncountable, unreadIn } from "../../list/state.ts";
import { unconfirmedIn } from "../state/completeness.ts";
import type { OpenList } from "../state/open-list.ts";
import type { Run } from "../state/run-state.ts";

/** Stores where a walk ended that does not add up, or that the list ends nowhere too early any more. */
export const rememberWindow = async (run: Run<"forms">, list: OpenList, end: WalkEnd): Promise<void> => {
  const { name, scope } = list.stream;
  if (scope !== "organization") return;
  const shape = run.forms.ofStream(name);
  const times = { now: run.deps.clock.now(), startedAt: run.startedAt };
  const window = windowAfter(shape.window, liveOf(list.state), end, times);
  if (window !== shape.window) await run.forms.store(name, { ...shape, window });
};

/**
 * Ends a walk that adds up to a count which stops at a search window: the service still returns rows by their ids that the
 * walk lacks. Nothing is deleted, and the next look agrees unless something changes.
 */
export const endCutOff = async (run: Run<"ends" | "forms">, list: OpenList, missing: number): Promise<void> => {
  await rememberWindow(run, list, "cutOff");
  const end = "the list and its count end before rows that the service still returns by their ids";
  const unconfirmed = { rows: missing, because: `the last walk did not meet ${counted(missing, "row")}; ${end}` };
  run.ends.noteUnconfirmed(list, unconfirmed);
  await run.ends.finish(list, { whole: true, addsUp: false, unconfirmed }, { rowsAtWalk: liveOf(list.state).rows });
};

/** The service's count of a list whose changes came without a gap, or up to its window; null: they did not. */
const countOfChanges = (live: Live): number | null => {
  const progress = progressOf(live);
  if (live.kind === "deleting") return null;
  if (progress?.kind !== "watermark" || !progress.sorted) return null;
  const { proven, endsEarly, total } = progress.coverage;
  return proven || endsEarly ? total : null;
};

/**
 * Ends a reading of changes of a list whose count differs from the mirror's, if a walk would only end at the same row again: the
 * count stayed the same (`steady`), or varies as it did before (`varying`). Returns whether it did.
 */
export const endedAtWindow = async (
  run: Run<"ends" | "forms">,
  list: OpenList,
  count: "steady" | "varying",
): Promise<boolean> => {
  const live = liveOf(list.state);
  const { before } = live;
  const now = run.deps.clock.now();
  const { window } = run.forms.ofStream(list.stream.name);
  const total = countOfChanges(live);
  if (run.options.full || !endsAtWindow(window, now) || total === null || before === undefined) return false;
  const isSteady = before.totalCount === total;
  if ((count === "steady") !== isSteady || !endsThereAgain(window, { total, rows: live.rows, isSteady })) return false;
  const end = isSteady
    ? `the service returns the list up to row ${window.rows} only`
    : `the service's count varies, and ${window.walks} walks ended at row ${window.rows}`;
  const open = unconfirmedIn({ rows: live.rows, unmet: 0, counted: total - uncountable(live), unread: unreadIn(live) });
  const unconfirmed = { rows: open?.rows ?? 0, because: open === null ? end : `${open.because}; ${end}` };
  run.ends.noteUnconfirmed(list, unconfirmed);
  // The next look agrees unless something changes.
  const more = { unconfirmed, totalCount: total, rowsAtWalk: live.rows, walkId: before.walkId };
  await run.ends.finish(list, { whole: false, addsUp: false }, more);
  return true;
};

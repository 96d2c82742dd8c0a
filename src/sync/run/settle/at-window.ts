// Lists that end at a search window: what their walks showed is remembered, and a reading of changes ends labelled, instead of
// with another walk that ends there. docs/decisions/lists-cut-off.md.
import { counted } from "../../../core/text/units.ts";
import { liveOf, progressOf, uncountable } from "../../list/state.ts";
import { finishedState } from "../../list/stored-state.ts";
import { endsAtWindow, windowAfter } from "../../list/window.ts";
import { rememberShape } from "../../plan/remembered.ts";
import { unconfirmedIn } from "../state/completeness.ts";
import { closeList, commitState } from "../state/list-ends.ts";
import type { OpenList } from "../state/open-list.ts";
import { type SyncRun, shapeOf } from "../state/run-state.ts";

/** Stores where a walk ended that does not add up, or that the list ends nowhere too early any more. */
export const rememberWindow = async (run: SyncRun, list: OpenList, unconfirmed: boolean): Promise<void> => {
  const { warehouse, clock } = run.deps;
  const { name, scope } = list.stream;
  if (scope !== "organization") return;
  const before = shapeOf(run, name);
  const window = windowAfter(before.window, liveOf(list.state), unconfirmed, clock.now());
  if (window === before.window) return;
  const shape = { ...before, window };
  run.shapes.set(name, shape);
  await rememberShape(warehouse, name, shape, clock.now());
};

/** Ends a reading of changes of a list whose count stayed the same and differs from the mirror's, if a walk would only end at the window again. Returns whether it did. */
export const endedAtWindow = async (run: SyncRun, list: OpenList): Promise<boolean> => {
  const live = liveOf(list.state);
  const now = run.deps.clock.now();
  const { window } = shapeOf(run, list.stream.name);
  const progress = progressOf(live);
  if (live.kind === "deleting" || live.order.widens !== undefined || run.options.full) return false;
  if (progress?.kind !== "watermark" || !progress.sorted || !endsAtWindow(window, now)) return false;
  const { proven, endsEarly, total } = progress.coverage;
  if (total === null || live.before?.totalCount !== total || (!proven && !endsEarly)) return false;
  const end = `the service returns the list up to row ${window.rows} only`;
  const open = unconfirmedIn({ rows: live.rows, unmet: 0, counted: total - uncountable(live) });
  const unconfirmed = { rows: open?.rows ?? 0, because: open === null ? end : `${open.because}; ${end}` };
  const text = `${list.stream.name}: ${counted(unconfirmed.rows, "row")} unconfirmed: ${unconfirmed.because}`;
  run.deps.emit({ kind: "note", level: "warn", text });
  const state = finishedState(live, { whole: false, addsUp: false, now, runId: run.runId });
  // The next look agrees unless something changes.
  await commitState(run, {
    ...state,
    unconfirmed,
    totalCount: total,
    rowsAtWalk: live.rows,
    walkId: live.before.walkId,
  });
  closeList(run, list);
  return true;
};

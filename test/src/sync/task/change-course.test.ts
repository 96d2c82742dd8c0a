import { expect, test } from "vitest";
import type { StreamName } from "../../../../src/catalog/streams.ts";
import { initialShape, type ListShape } from "../../../../src/sync/list/form.ts";
import type { Candidate } from "../../../../src/sync/plan/candidate.ts";
import {
  readChangesAfterWalk,
  readChangesAgain,
  reshape,
  turnIntoChanges,
  turnIntoFilter,
  turnIntoWalk,
} from "../../../../src/sync/task/change-course.ts";
import { createTask, type ScopeTask, takePage } from "../../../../src/sync/task/scope-task.ts";
import { idleState } from "../plan/planning-input.ts";

const T0 = Date.UTC(2026, 10, 22);
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** The newest change that the mirror holds. */
const WATERMARK = T0 - DAY;

const aTask = (
  stream: StreamName,
  mode: Candidate["mode"],
  { rows = 5, ...more }: Partial<Candidate> & { readonly rows?: number } = {},
): ScopeTask =>
  createTask({
    candidate: { stream, scope: "", mode, overlap: false, because: "", requests: 1, worth: 0, ...more },
    before: idleState({ stream, scope: "", at: T0 - DAY }, { watermark: WATERMARK }),
    shape: initialShape(10),
    rows,
    runId: "run-1",
    now: T0,
    content: ["fullContent"],
  });
const withPage = (task: ScopeTask): ScopeTask => {
  const values = [T0, T0 - 1];
  takePage(task, { page: 1, perPage: 10, role: "cover", ids: ["2", "1"], rows: 2, values, total: 9 }, T0);
  return task;
};
const shape = (more: Partial<ListShape> = {}): ListShape => ({ ...initialShape(10), ...more });

test("a short read that becomes a walk counts anew, under a walk id of its own", () => {
  const task = withPage(aTask("accounts", "watermark"));
  Object.assign(task, { rejected: 1, misfits: 2, forgotten: new Set(["x"]), content: [] });
  const before = task.walkId;
  turnIntoWalk(task, shape(), "run-1", T0 + HOUR);
  expect(task.walkId).not.toBe(before);
  expect(task).toMatchObject({
    startedAt: T0 + HOUR,
    pages: 0,
    rejected: 0,
    misfits: 0,
    content: ["fullContent"],
    firstMirror: false,
    progress: { kind: "walk", proof: "descending", coverage: { end: 0, size: 10, overlap: true } },
  });
  expect([task.forgotten.size, task.onlyPage.size]).toEqual([0, 0]);
});

test("only ids that grow, in a list that may be sorted, prove that pages join; pages share rows if any may be deleted", () => {
  const walked = (stream: StreamName, more: Partial<ListShape>, rows: number) => {
    const task = aTask(stream, "watermark", { rows });
    turnIntoWalk(task, shape(more), "run-1", T0);
    return task.progress?.kind === "walk" ? [task.progress.proof, task.progress.coverage.overlap] : null;
  };
  expect(walked("accounts", {}, 0)).toEqual(["descending", false]);
  expect(walked("accounts", { sort: false }, 0)).toEqual(["identity", true]);
  expect(walked("contacts", {}, 5)).toEqual(["identity", true]);
});

test("changes are read from before the watermark: an hour where it is a time of change, two days where it may be a date", () => {
  const since = (stream: StreamName) => {
    const task = aTask(stream, "walk");
    turnIntoChanges(task, shape());
    return task.progress;
  };
  expect(since("accounts")).toMatchObject({ kind: "watermark", since: WATERMARK - HOUR, thorough: true });
  expect(since("contacts")).toMatchObject({ kind: "watermark", since: WATERMARK - 2 * DAY });
});

test("after the walk of a wider scope no page alone is all that was read", () => {
  const task = aTask("accounts", "walk");
  turnIntoChanges(task, shape());
  expect(task.pages).toBe(2);
});

test("a reading of changes goes on by filter from the same time, or reads its head again; other readings stay", () => {
  const filtered = withPage(aTask("contacts", "watermark"));
  turnIntoFilter(filtered, shape());
  expect(filtered).toMatchObject({ pages: 0, progress: { kind: "filter", since: WATERMARK - 2 * DAY } });
  const again = withPage(aTask("accounts", "watermark"));
  readChangesAgain(again);
  // What it has seen stays the next watermark.
  expect(again).toMatchObject({ pages: 0, progress: { kind: "watermark", since: T0 - HOUR, newest: T0, pages: 0 } });
  const walk = withPage(aTask("accounts", "walk"));
  const { progress } = walk;
  turnIntoFilter(walk, shape());
  readChangesAgain(walk);
  expect(walk.progress).toBe(progress);
});

test("after a walk that did not add up, its changes are read, and what the mirror cannot hold is remembered", () => {
  const task = withPage(aTask("accounts", "walk"));
  Object.assign(task, { rejected: 1, misfits: 2, forgotten: new Set(["x"]) });
  readChangesAfterWalk(task, shape());
  expect(task).toMatchObject({ closing: 4, progress: { kind: "watermark", since: T0 - HOUR } });
});

test("a list that does not sort by change date is filtered where it can be, else walked", () => {
  const reshaped = (stream: StreamName, mode: Candidate["mode"], more: Partial<ListShape>) => {
    const task = aTask(stream, mode);
    reshape(task, shape(more));
    return task.progress?.kind;
  };
  expect(reshaped("contacts", "watermark", { changeOrder: false })).toBe("filter");
  expect(reshaped("contacts", "watermark", { changeOrder: false, changeFilter: false })).toBe("walk");
  expect(reshaped("accounts", "watermark", { changeOrder: false })).toBe("walk");
  expect(reshaped("contacts", "filter", { changeFilter: false })).toBe("walk");
  expect(reshaped("contacts", "filter", { changeOrder: false })).toBe("filter");
  expect(reshaped("account_insights", "on-change", { changeOrder: false })).toBeUndefined();
});

test("an excerpt from a date on stays one, also of a service that takes no filter by change date", () => {
  const task = aTask("contacts", "filter", { since: T0 - 7 * DAY });
  reshape(task, shape({ changeFilter: false, perPage: 4 }));
  expect(task.progress).toMatchObject({ kind: "filter", only: true, since: T0 - 7 * DAY, coverage: { size: 4 } });
});

test("from the head the new shape is taken as it is; once a page is read, pages only get smaller", () => {
  const head = aTask("accounts", "walk");
  reshape(head, shape({ perPage: 20, sort: false }));
  expect(head.progress).toMatchObject({ proof: "identity", coverage: { size: 20, end: 0 } });
  // The service granted two rows of ten.
  const later = withPage(aTask("accounts", "walk"));
  reshape(later, shape({ perPage: 20, sort: false }));
  expect(later.progress).toMatchObject({ proof: "descending", coverage: { size: 2, end: 2 } });
  reshape(later, shape({ perPage: 1 }));
  expect(later.progress).toMatchObject({ coverage: { size: 1, end: 2 } });
});

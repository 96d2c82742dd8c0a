import { expect, test } from "vitest";
import type { StreamName } from "../../../../src/catalog/streams.ts";
import {
  closeByChanges,
  readByFilter,
  readChangesAgain,
  reshape,
  walkWhole,
} from "../../../../src/sync/list/course.ts";
import { initialShape, type ListShape } from "../../../../src/sync/list/form.ts";
import { next } from "../../../../src/sync/list/next.ts";
import type { ReadingOrder, ScopeMode } from "../../../../src/sync/list/order.ts";
import { openList, progressOf, type Reading, type ReadingList } from "../../../../src/sync/list/state.ts";
import { idleState } from "../plan/planning-input.ts";

const T0 = Date.UTC(2026, 10, 22);
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** The newest change that the mirror holds. */
const WATERMARK = T0 - DAY;

const opened = (
  stream: StreamName,
  mode: ScopeMode,
  { rows = 5, ...more }: Partial<ReadingOrder> & { readonly rows?: number } = {},
) =>
  openList({
    order: { stream, scope: "", mode, overlap: false, ...more },
    before: idleState({ stream, scope: "", at: T0 - DAY }, { watermark: WATERMARK }),
    shape: initialShape(10),
    rows,
    runId: "run-1",
    now: T0,
    content: ["fullContent"],
  });
const aList = (...given: Parameters<typeof opened>): ReadingList => {
  const list = opened(...given);
  if (list.kind !== "reading") throw new TypeError("no list");
  return list;
};
const withPage = (list: ReadingList): ReadingList => {
  const values = [T0, T0 - 1];
  const read = { page: 1, perPage: 10, role: "cover", ids: ["2", "1"], rows: 2, values, total: 9 } as const;
  const { state } = next(list, { kind: "page", read, receivedAt: T0 });
  if (state.kind !== "reading") throw new TypeError(state.kind);
  return state;
};
const knowing = (list: ReadingList, more: Partial<Reading>): ReadingList => ({
  ...list,
  reading: { ...list.reading, ...more },
});
const shape = (more: Partial<ListShape> = {}): ListShape => ({ ...initialShape(10), ...more });

test("a short read that becomes a walk counts anew, under a walk id of its own", () => {
  const counted = { rejected: 1, misfits: 2, forgotten: new Set(["x"]), content: [] };
  const list = knowing(withPage(aList("accounts", "watermark")), counted);
  const walk = walkWhole(list, { shape: shape(), runId: "run-1", now: T0 + HOUR });
  expect(walk.walkId).not.toBe(list.walkId);
  expect(walk.startedAt).toBe(T0 + HOUR);
  expect(walk.reading).toMatchObject({
    pages: 0,
    rejected: 0,
    misfits: 0,
    content: ["fullContent"],
    firstMirror: false,
    progress: { kind: "walk", proof: "descending", coverage: { end: 0, size: 10, overlap: true } },
  });
  expect([walk.reading.forgotten.size, walk.reading.onlyPage.size]).toEqual([0, 0]);
});

test("only ids that grow, in a list that may be sorted, prove that pages join; pages share rows if any may be deleted", () => {
  const walked = (stream: StreamName, more: Partial<ListShape>, rows: number) => {
    const list = aList(stream, "watermark", { rows });
    const { progress } = walkWhole(list, { shape: shape(more), runId: "run-1", now: T0 }).reading;
    return progress.kind === "walk" ? [progress.proof, progress.coverage.overlap] : null;
  };
  expect(walked("accounts", {}, 0)).toEqual(["descending", false]);
  expect(walked("accounts", { sort: false }, 0)).toEqual(["identity", true]);
  expect(walked("contacts", {}, 5)).toEqual(["identity", true]);
});

test("a reading of changes goes on by filter from the same time, or reads its head again; other readings stay", () => {
  const filtered = readByFilter(withPage(aList("contacts", "watermark")), shape());
  expect(filtered.reading).toMatchObject({ pages: 0, progress: { kind: "filter", since: WATERMARK - 2 * DAY } });
  const again = readChangesAgain(withPage(aList("accounts", "watermark")));
  // What it has seen stays the next watermark.
  const progress = { kind: "watermark", since: T0 - HOUR, pages: 0 };
  expect(again.reading).toMatchObject({ pages: 0, newest: T0, progress });
  const walk = withPage(aList("accounts", "walk"));
  expect([readByFilter(walk, shape()), readChangesAgain(walk)]).toEqual([walk, walk]);
});

test("after a walk that did not add up, its changes are read, and what the mirror cannot hold is remembered", () => {
  const counted = { rejected: 1, misfits: 2, forgotten: new Set(["x"]) };
  const closing = closeByChanges(knowing(withPage(aList("accounts", "walk")), counted), shape());
  expect(closing).toMatchObject({ kind: "closing", uncountable: 4 });
  expect(closing.reading.progress).toMatchObject({ kind: "watermark", since: T0 - HOUR });
});

test("a list that does not sort by change date is filtered where it can be, else walked", () => {
  const reshaped = (stream: StreamName, mode: ScopeMode, more: Partial<ListShape>) =>
    progressOf(reshape(opened(stream, mode), shape(more)))?.kind;
  expect(reshaped("contacts", "watermark", { changeOrder: false })).toBe("filter");
  expect(reshaped("contacts", "watermark", { changeOrder: false, changeFilter: false })).toBe("walk");
  expect(reshaped("accounts", "watermark", { changeOrder: false })).toBe("walk");
  expect(reshaped("contacts", "filter", { changeFilter: false })).toBe("walk");
  expect(reshaped("contacts", "filter", { changeOrder: false })).toBe("filter");
  expect(reshaped("account_insights", "on-change", { changeOrder: false })).toBeUndefined();
});

test("an excerpt from a date on stays one, also of a service that takes no filter by change date", () => {
  const excerpt = reshape(
    aList("contacts", "filter", { since: T0 - 7 * DAY }),
    shape({ changeFilter: false, perPage: 4 }),
  );
  expect(progressOf(excerpt)).toMatchObject({ kind: "filter", only: true, since: T0 - 7 * DAY, coverage: { size: 4 } });
});

test("from the head the new shape is taken as it is; once a page is read, pages only get smaller", () => {
  const head = reshape(aList("accounts", "walk"), shape({ perPage: 20, sort: false }));
  expect(progressOf(head)).toMatchObject({ proof: "identity", coverage: { size: 20, end: 0 } });
  // The service granted two rows of ten.
  const later = reshape(withPage(aList("accounts", "walk")), shape({ perPage: 20, sort: false }));
  expect(progressOf(later)).toMatchObject({ proof: "descending", coverage: { size: 2, end: 2 } });
  expect(progressOf(reshape(later, shape({ perPage: 1 })))).toMatchObject({ coverage: { size: 1, end: 2 } });
});

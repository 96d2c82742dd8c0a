// One list from its beginning to what is stored of it: where its reading begins, when it changes its course, how it resumes, and its
// count, watermark and verdict when it ends.
import { describe, expect, test } from "vitest";
import { type StreamName, streamSpec } from "../../../../src/catalog/streams.ts";
import type { Coverage } from "../../../../src/sync/list/coverage/coverage.ts";
import type { PageRead } from "../../../../src/sync/list/coverage/read-types.ts";
import { initialForm, type ListForm } from "../../../../src/sync/list/form.ts";
import { next } from "../../../../src/sync/list/next.ts";
import { windowAfter } from "../../../../src/sync/list/search-window.ts";
import {
  acceptedGap,
  isActive,
  type Live,
  liveOf,
  openList,
  overlapMs,
  overlaps,
  progressOf,
  type Reading,
  type ReadingList,
  type ReadingOrder,
  type ScopeMode,
  startProgress,
  stepOf as stepOfList,
  uncountable,
} from "../../../../src/sync/list/state.ts";
import { finishedState, totalOf, unreadState, walkingState } from "../../../../src/sync/list/stored-state.ts";
import {
  closeByChanges,
  readByFilter,
  readChangesAgain,
  walkWhole,
  withForm,
} from "../../../../src/sync/list/switch-reading.ts";
import type { ScopeState } from "../../../../src/warehouse/record/checkpoint.ts";
import { due, idleState } from "../plan/planning-input.ts";

const T0 = Date.UTC(2026, 10, 22);
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const shape = (more: Partial<ListForm> = {}): ListForm => ({ ...initialForm(10), ...more });

interface Opening extends Partial<ReadingOrder> {
  readonly before?: ScopeState | undefined;
  readonly rows?: number;
  readonly now?: number;
  readonly content?: readonly string[];
}

/** A list that is read this way, before its first page. */
const opened = (stream: StreamName, mode: ScopeMode, { before, rows = 0, now = T0, content, ...more }: Opening = {}) =>
  openList({
    ...{
      order: { stream, scope: "", mode, overlap: false, ...more },
      before,
      shape: shape(),
      rows,
      runId: "run-1",
      now,
    },
    ...(content === undefined ? {} : { content }),
  });
/** A page of three rows, which are all. */
const page = (more: Partial<PageRead> = {}): PageRead => ({
  ...{ page: 1, perPage: 10, role: "cover", ids: ["3", "2", "1"], rows: 3, values: [T0 - 1, T0 - 2, T0 - 3], total: 3 },
  ...more,
});
const withPage = (list: Live, read: PageRead, receivedAt = T0): Live =>
  liveOf(next(list, { kind: "page", read, receivedAt }).state);
/** The list with something else known of its reading. */
const knowing = <L extends Live>(list: L, more: Partial<Reading>): L =>
  list.kind === "reading" ? { ...list, reading: { ...list.reading, ...more } } : list;
const asReading = (list: Live): ReadingList => {
  if (list.kind !== "reading") throw new TypeError(list.kind);
  return list;
};

const begun = (
  stream: StreamName,
  more: Partial<ReadingOrder>,
  { shape: given = {}, before }: { readonly shape?: Partial<ListForm>; readonly before?: Partial<ScopeState> } = {},
) =>
  startProgress(
    due(stream, "walk", more),
    streamSpec(stream),
    { ...initialForm(50), ...given },
    before === undefined ? undefined : idleState({ stream, scope: "", at: T0 }, before),
    true,
  );

describe("changes are read again from some time before the watermark", () => {
  test("an hour where the service writes times, two days where it writes dates", () => {
    expect(overlapMs(streamSpec("accounts"))).toBe(HOUR);
    expect(overlapMs(streamSpec("signals"))).toBe(streamSpec("signals").watermark === "updatedAt" ? HOUR : 48 * HOUR);
    expect(overlapMs({ ...streamSpec("accounts"), watermark: "date" })).toBe(48 * HOUR);
  });

  test.each(["watermark", "filter"] as const)("by the strategy %s; from the beginning without one", (mode) => {
    const since = T0 - HOUR;
    expect(begun("accounts", { mode }, { before: { watermark: T0 } })).toMatchObject({ kind: mode, since });
    expect(begun("accounts", { mode }, { before: { watermark: null } })).toMatchObject({ since: 0 });
    expect(begun("accounts", { mode })).toMatchObject({ since: 0 });
  });

  test("`--since` asks for exactly its day, and concludes nothing", () => {
    const excerpt = begun("accounts", { mode: "filter", since: 7 }, { before: { watermark: T0 } });
    expect(excerpt).toMatchObject({ since: 7, only: true });
  });
});

test("a walk relies on falling ids only where the list is asked for in their order", () => {
  const [grows] = (["accounts", "contacts", "signals"] as const).filter(
    (stream) => streamSpec(stream).walkOrder?.grows === true,
  );
  if (grows === undefined) throw new Error("no list of growing ids");
  expect(begun(grows, {})).toMatchObject({ kind: "walk", proof: "descending" });
  expect(begun(grows, {}, { shape: { sort: false } })).toMatchObject({ proof: "identity" });
  expect(begun("news_articles", {})).toMatchObject({ proof: "identity", coverage: { size: 50, overlap: true } });
});

test("a log is read to its oldest entry the first time", () => {
  expect(begun("usage", { mode: "log" })).toMatchObject({ kind: "log", first: true, since: null });
  expect(begun("usage", { mode: "log", since: 7 }, { before: {} })).toMatchObject({ first: false, since: 7 });
});

test("a single request has no progress", () => {
  for (const mode of ["on-change", "resolve", "detail", "capture"] as const)
    expect(begun("companies", { mode })).toBeNull();
});

test("pages share rows in a reconciling walk, and where rows could be deleted", () => {
  const shared = [overlaps({ overlap: true }, 0), overlaps({ overlap: false }, 1), overlaps({ overlap: false }, 0)];
  expect(shared).toEqual([true, true, false]);
});

/** A list of five rows that a walk of yesterday left with its newest change, before its first page and after one of two rows. */
const WATERMARK = T0 - DAY;
const known = (stream: StreamName, mode: ScopeMode, more: Opening = {}) =>
  opened(stream, mode, {
    before: idleState({ stream, scope: "", at: T0 - DAY }, { watermark: WATERMARK }),
    ...{ rows: 5, content: ["fullContent"], ...more },
  });
const knownList = (...given: Parameters<typeof known>) => asReading(known(...given));
const afterPage = (...given: Parameters<typeof known>) =>
  asReading(withPage(known(...given), page({ ids: ["2", "1"], rows: 2, values: [T0, T0 - 1], total: 9 })));

test("a short read that becomes a walk counts anew, under a walk id of its own", () => {
  const counted = { rejected: 1, misfits: 2, forgotten: new Set(["x"]), content: [] };
  const list = knowing(afterPage("accounts", "watermark"), counted);
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
  const walked = (stream: StreamName, more: Partial<ListForm>, rows: number) => {
    const list = knownList(stream, "watermark", { rows });
    const { progress } = walkWhole(list, { shape: shape(more), runId: "run-1", now: T0 }).reading;
    return progress.kind === "walk" ? [progress.proof, progress.coverage.overlap] : null;
  };
  expect(walked("accounts", {}, 0)).toEqual(["descending", false]);
  expect(walked("accounts", { sort: false }, 0)).toEqual(["identity", true]);
  expect(walked("contacts", {}, 5)).toEqual(["identity", true]);
});

test("a reading of changes goes on by filter from the same time, or reads its head again; other readings stay", () => {
  const filtered = readByFilter(afterPage("contacts", "watermark"), shape());
  expect(filtered.reading).toMatchObject({ pages: 0, progress: { kind: "filter", since: WATERMARK - 2 * DAY } });
  const again = readChangesAgain(afterPage("accounts", "watermark"));
  // What it has seen stays the next watermark.
  const progress = { kind: "watermark", since: T0 - HOUR, pages: 0 };
  expect(again.reading).toMatchObject({ pages: 0, newest: T0, progress });
  const walk = afterPage("accounts", "walk");
  expect([readByFilter(walk, shape()), readChangesAgain(walk)]).toEqual([walk, walk]);
});

test("after a walk that did not add up, its changes are read, and what the mirror cannot hold is remembered", () => {
  const counted = { rejected: 1, misfits: 2, forgotten: new Set(["x"]) };
  const closing = closeByChanges(knowing(afterPage("accounts", "walk"), counted), shape());
  expect(closing).toMatchObject({ kind: "closing", unread: 3 });
  expect(uncountable(closing)).toBe(4);
  expect(closing.reading.progress).toMatchObject({ kind: "watermark", since: T0 - HOUR });
});

test("a list that does not sort by change date is filtered where it can be, else walked", () => {
  const reshaped = (stream: StreamName, mode: ScopeMode, more: Partial<ListForm>) =>
    progressOf(withForm(known(stream, mode), shape(more)))?.kind;
  expect(reshaped("contacts", "watermark", { changeOrder: false })).toBe("filter");
  expect(reshaped("contacts", "watermark", { changeOrder: false, changeFilter: false })).toBe("walk");
  expect(reshaped("accounts", "watermark", { changeOrder: false })).toBe("walk");
  expect(reshaped("contacts", "filter", { changeFilter: false })).toBe("walk");
  expect(reshaped("contacts", "filter", { changeOrder: false })).toBe("filter");
  expect(reshaped("account_insights", "on-change", { changeOrder: false })).toBeUndefined();
});

test("an excerpt from a date on stays one, also of a service that takes no filter by change date", () => {
  const excerpt = withForm(
    knownList("contacts", "filter", { since: T0 - 7 * DAY }),
    shape({ changeFilter: false, perPage: 4 }),
  );
  expect(progressOf(excerpt)).toMatchObject({ kind: "filter", only: true, since: T0 - 7 * DAY, coverage: { size: 4 } });
});

test("from the head the new shape is taken as it is; once a page is read, pages only get smaller", () => {
  const head = withForm(knownList("accounts", "walk"), shape({ perPage: 20, sort: false }));
  expect(progressOf(head)).toMatchObject({ proof: "identity", coverage: { size: 20, end: 0 } });
  // The service granted two rows of ten.
  const later = withForm(afterPage("accounts", "walk"), shape({ perPage: 20, sort: false }));
  expect(progressOf(later)).toMatchObject({ proof: "descending", coverage: { size: 2, end: 2 } });
  expect(progressOf(withForm(later, shape({ perPage: 1 })))).toMatchObject({ coverage: { size: 1, end: 2 } });
});

// A list that resumes: what it read is believed for a while, then the service is asked again.

const stepOf = (list: Live, seen: number) => {
  if (!isActive(list)) throw new TypeError(list.kind);
  return stepOfList(list, { seen, matching: null }, 4);
};

/** The state of a list that was read its whole list of three, and was cut off before its verdict. */
const readToTheEnd = (mode: ScopeMode): ScopeState => {
  const { list } = stepOf(opened("accounts", mode), 0);
  return walkingState(withPage(list, page()), "r");
};

test("soon after, a walk that read everything has its verdict without a request", () => {
  const list = opened("accounts", "walk", { now: T0 + 9 * MINUTE, before: readToTheEnd("walk") });
  expect(stepOf(list, 3).step).toMatchObject({ kind: "done", addsUp: true });
});

test("later, it asks for the end of the list once more, and reads on where the list has grown", () => {
  const { step, list } = stepOf(opened("accounts", "walk", { now: T0 + 11 * MINUTE, before: readToTheEnd("walk") }), 3);
  expect(step).toEqual({ kind: "read", reads: [{ page: 1, perPage: 10, role: "bridge" }] });
  const again = withPage(list, page({ role: "bridge", values: [null, null, null] }), T0 + 11 * MINUTE);
  expect(stepOf(again, 3).step).toMatchObject({ kind: "done", addsUp: true });
});

test("a read of changes that was at its end starts anew", () => {
  // The planner continues whatever was interrupted as a walk.
  const soon = opened("accounts", "walk", { now: T0 + MINUTE, before: readToTheEnd("watermark") });
  expect(progressOf(soon)).toMatchObject({ kind: "watermark", pages: 1 });
  const late = opened("accounts", "walk", { now: T0 + 11 * MINUTE, before: readToTheEnd("watermark") });
  expect(progressOf(late)).toMatchObject({ kind: "watermark", pages: 0 });
  expect(stepOf(late, 0).step).toEqual({ kind: "read", reads: [{ page: 1, perPage: 10, role: "cover" }] });
});

// What is stored of a list after it was read.

const BEFORE = idleState(
  { stream: "accounts", scope: "", at: T0 - DAY },
  { watermark: T0 - DAY, totalCount: 12, rowsAtWalk: 10, walkId: "w0" },
);
const aList = (mode: ScopeMode, before: ScopeState | undefined = BEFORE) =>
  opened("accounts", mode, { before, rows: 3 });
/** The list with something else known of its coverage. */
const covering = (list: Live, more: Partial<Coverage>): Live => {
  const progress = progressOf(list);
  if (progress?.kind !== "walk") throw new TypeError("no walk");
  return knowing(list, { progress: { ...progress, coverage: { ...progress.coverage, ...more } } });
};
const ended = (list: Live, more: Partial<Parameters<typeof finishedState>[1]>) =>
  finishedState(list, { whole: true, addsUp: true, now: T0 + 5, runId: "r", ...more });

describe("a walk that has ended", () => {
  test("that adds up is complete: count and rows of now, the keys dropped", () => {
    const list = withPage(aList("walk"), page());
    expect(ended(list, {})).toMatchObject({
      ...{ status: "idle", walkId: null, cursor: null, totalCount: 3, rowsAtWalk: 3, unconfirmed: null },
      ...{ checkedAt: T0 + 5, walkedAt: T0 + 5, watermark: T0 - 1 },
    });
  });

  test("that does not add up says so; in an unchanged list the service's count is its own", () => {
    const list = withPage(aList("walk"), page({ total: 3 }));
    const unconfirmed = { rows: 1, because: "x" };
    const still = ended(list, { addsUp: false, unconfirmed });
    expect(still).toMatchObject({ unconfirmed, rowsAtWalk: 3, walkedAt: T0 + 5 });
    const moved = covering(list, { moved: true });
    expect(ended(moved, { addsUp: false, unconfirmed })).toMatchObject({ rowsAtWalk: null, walkedAt: T0 + 5 });
    const unproven = covering(moved, { proven: false });
    expect(ended(unproven, { addsUp: false, unconfirmed }).walkedAt).toBe(BEFORE.walkedAt);
  });

  test("moves the watermark no further than its start, and never back", () => {
    const list = withPage(aList("walk"), page({ values: [T0 + 9, T0 + 8, T0] }));
    expect(ended(knowing(list, { firstNewest: T0 + 2 }), {}).watermark).toBe(T0 + 2);
    const older = withPage(aList("walk"), page({ values: [T0 - 3 * DAY, null, null] }));
    expect(ended(older, {}).watermark).toBe(T0 - DAY);
  });

  test("leaves out dates that lie too far ahead, and sets a watermark back that does", () => {
    const list = withPage(aList("walk"), page({ values: [T0 + 9999 * DAY, T0 - 1, null] }));
    expect(ended(list, {}).watermark).toBe(T0 - 1);
    const behind = aList("walk", { ...BEFORE, watermark: T0 + 9999 * DAY });
    const healed = withPage(behind, page({ values: [T0 + 9999 * DAY, T0 - 1, null] }));
    expect(ended(healed, {}).watermark).toBe(T0 - 1);
    expect(ended(healed, { addsUp: false }).watermark).toBe(T0 + 9999 * DAY);
  });
});

describe("a walk that ends before the service's count", () => {
  const early = (before: Partial<ScopeState>) => {
    const list = withPage(aList("walk", { ...BEFORE, ...before }), page({ total: 5 }));
    return ended(covering(list, { endsEarly: true, proven: false, total: 5 }), {
      addsUp: false,
      unconfirmed: { rows: 2, because: "x" },
    });
  };
  const unconfirmed = { rows: 2, because: "x" };

  test("as far before it as the last one is complete: the service counts records that it does not return", () => {
    expect(early({ unconfirmed, totalCount: 5, rowsAtWalk: 3 })).toMatchObject({ rowsAtWalk: 3, walkedAt: T0 + 5 });
  });

  test("for the first time is not", () => {
    expect(early({ unconfirmed: null })).toMatchObject({ walkedAt: BEFORE.walkedAt });
    expect(early({ unconfirmed, totalCount: 5, rowsAtWalk: 4 })).toMatchObject({ walkedAt: BEFORE.walkedAt });
  });
});

test("a reading of changes keeps the accepted gap and the verdict of the last walk", () => {
  const unconfirmed = { rows: 2, because: "x" };
  const list = withPage(aList("watermark", { ...BEFORE, unconfirmed }), page({ total: 20 }));
  expect(ended(list, { whole: false, addsUp: false })).toMatchObject({
    totalCount: 20,
    rowsAtWalk: 18,
    walkedAt: BEFORE.walkedAt,
    checkedAt: T0 + 5,
    unconfirmed,
    walkId: "w0",
  });
});

test("a filtered reading says nothing about the count of the whole list", () => {
  expect(totalOf(withPage(aList("filter"), page({ total: 2 })))).toBe(12);
});

test("while it is read, a list keeps what is known of its list, and a cursor", () => {
  const state = walkingState(withPage(aList("walk"), page({ total: 30 })), "r");
  expect(state).toMatchObject({ status: "walking", totalCount: 12, rowsAtWalk: 10, walkedAt: BEFORE.walkedAt });
  expect(JSON.parse(state.cursor ?? "")).toMatchObject({ readAt: T0, newest: T0 - 1 });
});

test("a record's version is stored even if the service sets it back", () => {
  const record = liveOf(next(aList("on-change"), { kind: "record", version: T0 - 9 * DAY }).state);
  expect(ended(record, { whole: false, addsUp: false }).watermark).toBe(T0 - 9 * DAY);
});

test("a scope that was never read has nothing but its names", () => {
  const { stream, scope, status, runId, ...rest } = unreadState("filings", "c", "r");
  expect([stream, scope, status, runId]).toEqual(["filings", "c", "idle", "r"]);
  expect(new Set(Object.values(rest))).toEqual(new Set([null]));
});

test("the gap is what the service counts beyond the rows, or fewer, and unknown until a complete walk has ended", () => {
  expect(acceptedGap({ totalCount: 10, rowsAtWalk: 7 })).toBe(3);
  expect(acceptedGap({ totalCount: 7, rowsAtWalk: 10 })).toBe(-3);
  expect(acceptedGap({ totalCount: 0, rowsAtWalk: 0 })).toBe(0);
  expect(
    [{ totalCount: null, rowsAtWalk: 7 }, { totalCount: 7, rowsAtWalk: null }, undefined].map(acceptedGap),
  ).toEqual([null, null, null]);
});

test("walks that end at the same row know how far the count fell between their pages, though it agrees at the end", () => {
  const opening = opened("accounts", "walk", { rows: 6 });
  const { progress } = asReading(opening).reading;
  if (progress.kind !== "walk") throw new TypeError(progress.kind);
  const coverage = { ...progress.coverage, end: 6, total: 6, moved: true, fall: 2 };
  const list = knowing(opening, { progress: { ...progress, coverage } });
  const before = { rows: 6, walks: 1, notBefore: T0, spread: 0 };
  const after = windowAfter(before, list, "unconfirmed", { now: T0 + DAY, startedAt: T0 + HOUR });
  expect(after).toMatchObject({ rows: 6, walks: 2, spread: 2 });
});

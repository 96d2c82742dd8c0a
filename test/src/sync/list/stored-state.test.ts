// What is stored of a list after it was read: its count, its watermark, and whether it is complete.
import { describe, expect, test } from "vitest";
import type { PageRead } from "../../../../src/sync/list/coverage/contract.ts";
import type { Coverage } from "../../../../src/sync/list/coverage/coverage.ts";
import { initialShape } from "../../../../src/sync/list/form.ts";
import { next } from "../../../../src/sync/list/next.ts";
import type { ScopeMode } from "../../../../src/sync/list/order.ts";
import { acceptedGap, type Live, liveOf, openList, progressOf, type Reading } from "../../../../src/sync/list/state.ts";
import { finishedState, totalOf, unreadState, walkingState } from "../../../../src/sync/list/stored-state.ts";
import type { ScopeState } from "../../../../src/warehouse/record/checkpoint.ts";
import { idleState } from "../plan/planning-input.ts";

const T0 = Date.UTC(2026, 10, 22);
const DAY = 86_400_000;
const BEFORE = idleState(
  { stream: "accounts", scope: "", at: T0 - DAY },
  { watermark: T0 - DAY, totalCount: 12, rowsAtWalk: 10, walkId: "w0" },
);
const aList = (mode: ScopeMode, before: ScopeState | undefined = BEFORE, rows = 3): Live => {
  const order = { stream: "accounts", scope: "", mode, overlap: false } as const;
  return openList({ order, before, shape: initialShape(10), rows, runId: "r", now: T0 });
};
/** The list after a page. */
const withPage = (list: Live, read: PageRead): Live => liveOf(next(list, { kind: "page", read, receivedAt: T0 }).state);
/** The list with something else known of its reading. */
const knowing = (list: Live, more: Partial<Reading>): Live =>
  list.kind === "reading" ? { ...list, reading: { ...list.reading, ...more } } : list;
/** The list with something else known of its coverage. */
const covering = (list: Live, more: Partial<Coverage>): Live => {
  const progress = progressOf(list);
  if (progress?.kind !== "walk") throw new TypeError("no walk");
  return knowing(list, { progress: { ...progress, coverage: { ...progress.coverage, ...more } } });
};
const page = (more: Partial<PageRead> = {}): PageRead => ({
  page: 1,
  perPage: 10,
  role: "cover",
  ids: ["3", "2", "1"],
  rows: 3,
  values: [T0 - 1, T0 - 2, T0 - 3],
  total: 3,
  ...more,
});
const ended = (list: Live, more: Partial<Parameters<typeof finishedState>[1]>) =>
  finishedState(list, { whole: true, addsUp: true, now: T0 + 5, runId: "r", ...more });

describe("a walk", () => {
  test("that adds up is complete: count and rows of now, the keys dropped", () => {
    const list = withPage(aList("walk"), page());
    expect(ended(list, {})).toMatchObject({
      status: "idle",
      walkId: null,
      cursor: null,
      totalCount: 3,
      rowsAtWalk: 3,
      checkedAt: T0 + 5,
      walkedAt: T0 + 5,
      watermark: T0 - 1,
      unconfirmed: null,
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
    const list = withPage(aList("walk", { ...BEFORE, ...before }, 3), page({ total: 5 }));
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

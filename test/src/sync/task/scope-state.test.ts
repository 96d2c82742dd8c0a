// What is stored of a list after a task: its count, its watermark, and whether it is complete.
import { describe, expect, test } from "vitest";
import type { PageRead } from "../../../../src/sync/list/coverage/contract.ts";
import { initialShape } from "../../../../src/sync/list/form.ts";
import type { Candidate } from "../../../../src/sync/plan/candidate.ts";
import { finishedState, totalOf, unreadState, walkingState } from "../../../../src/sync/task/scope-state.ts";
import { createTask, takePage } from "../../../../src/sync/task/scope-task.ts";
import type { ScopeState } from "../../../../src/warehouse/record/checkpoint.ts";
import { idleState } from "../plan/planning-input.ts";

const T0 = Date.UTC(2026, 10, 22);
const DAY = 86_400_000;
const BEFORE = idleState(
  { stream: "accounts", scope: "", at: T0 - DAY },
  { watermark: T0 - DAY, totalCount: 12, rowsAtWalk: 10, walkId: "w0" },
);
const aTask = (mode: Candidate["mode"], before: ScopeState | undefined = BEFORE, rows = 3) => {
  const candidate = { stream: "accounts", scope: "", overlap: false, because: "", requests: null, worth: 0 } as const;
  return createTask({ candidate: { ...candidate, mode }, before, shape: initialShape(10), rows, runId: "r", now: T0 });
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
const ended = (task: ReturnType<typeof aTask>, more: Partial<Parameters<typeof finishedState>[1]>) =>
  finishedState(task, { whole: true, addsUp: true, now: T0 + 5, runId: "r", ...more });

describe("a walk", () => {
  test("that adds up is complete: count and rows of now, the keys dropped", () => {
    const task = aTask("walk");
    takePage(task, page(), T0);
    expect(ended(task, {})).toMatchObject({
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
    const task = aTask("walk");
    takePage(task, page({ total: 3 }), T0);
    const unconfirmed = { rows: 1, because: "x" };
    const still = ended(task, { addsUp: false, unconfirmed });
    expect(still).toMatchObject({ unconfirmed, rowsAtWalk: 3, walkedAt: T0 + 5 });
    if (task.progress?.kind !== "walk") throw new Error("no walk");
    task.progress = { ...task.progress, coverage: { ...task.progress.coverage, moved: true } };
    expect(ended(task, { addsUp: false, unconfirmed })).toMatchObject({ rowsAtWalk: null, walkedAt: T0 + 5 });
    task.progress = { ...task.progress, coverage: { ...task.progress.coverage, proven: false } };
    expect(ended(task, { addsUp: false, unconfirmed }).walkedAt).toBe(BEFORE.walkedAt);
  });

  test("moves the watermark no further than its start, and never back", () => {
    const task = aTask("walk");
    takePage(task, page({ values: [T0 + 9, T0 + 8, T0] }), T0);
    task.firstNewest = T0 + 2;
    expect(ended(task, {}).watermark).toBe(T0 + 2);
    const older = aTask("walk");
    takePage(older, page({ values: [T0 - 3 * DAY, null, null] }), T0);
    expect(ended(older, {}).watermark).toBe(T0 - DAY);
  });

  test("leaves out dates that lie too far ahead, and sets a watermark back that does", () => {
    const task = aTask("walk");
    takePage(task, page({ values: [T0 + 9999 * DAY, T0 - 1, null] }), T0);
    expect(ended(task, {}).watermark).toBe(T0 - 1);
    const healed = aTask("walk", { ...BEFORE, watermark: T0 + 9999 * DAY });
    takePage(healed, page({ values: [T0 + 9999 * DAY, T0 - 1, null] }), T0);
    expect(ended(healed, {}).watermark).toBe(T0 - 1);
    expect(ended(healed, { addsUp: false }).watermark).toBe(T0 + 9999 * DAY);
  });
});

describe("a walk that ends before the service's count", () => {
  const early = (before: Partial<ScopeState>) => {
    const task = aTask("walk", { ...BEFORE, ...before }, 3);
    takePage(task, page({ total: 5 }), T0);
    if (task.progress?.kind !== "walk") throw new Error("no walk");
    task.progress = {
      ...task.progress,
      coverage: { ...task.progress.coverage, endsEarly: true, proven: false, total: 5 },
    };
    return ended(task, { addsUp: false, unconfirmed: { rows: 2, because: "x" } });
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
  const task = aTask("watermark", { ...BEFORE, unconfirmed });
  takePage(task, page({ total: 20 }), T0);
  expect(ended(task, { whole: false, addsUp: false })).toMatchObject({
    totalCount: 20,
    rowsAtWalk: 18,
    walkedAt: BEFORE.walkedAt,
    checkedAt: T0 + 5,
    unconfirmed,
    walkId: "w0",
  });
});

test("a filtered reading says nothing about the count of the whole list", () => {
  const task = aTask("filter");
  takePage(task, page({ total: 2 }), T0);
  expect(totalOf(task)).toBe(12);
});

test("while it runs, a task keeps what is known of its list, and a cursor", () => {
  const task = aTask("walk");
  takePage(task, page({ total: 30 }), T0);
  const state = walkingState(task, "r");
  expect(state).toMatchObject({ status: "walking", totalCount: 12, rowsAtWalk: 10, walkedAt: BEFORE.walkedAt });
  expect(JSON.parse(state.cursor ?? "")).toMatchObject({ readAt: T0, newest: T0 - 1 });
});

test("a record's version is stored even if the service sets it back", () => {
  const task = aTask("on-change");
  task.newest = T0 - 9 * DAY;
  expect(ended(task, { whole: false, addsUp: false }).watermark).toBe(T0 - 9 * DAY);
});

test("a scope that was never read has nothing but its names", () => {
  const { stream, scope, status, runId, ...rest } = unreadState("filings", "c", "r");
  expect([stream, scope, status, runId]).toEqual(["filings", "c", "idle", "r"]);
  expect(new Set(Object.values(rest))).toEqual(new Set([null]));
});

// A list that resumes: what it read is believed for a while, then the service is asked again.
import { expect, test } from "vitest";
import type { PageRead } from "../../../../src/sync/list/coverage/contract.ts";
import { initialShape } from "../../../../src/sync/list/form.ts";
import { next } from "../../../../src/sync/list/next.ts";
import type { ReadingOrder, ScopeMode } from "../../../../src/sync/list/order.ts";
import { type Active, isActive, openList, stepOf as stepOfList } from "../../../../src/sync/list/state.ts";
import { walkingState } from "../../../../src/sync/list/stored-state.ts";
import type { ScopeState } from "../../../../src/warehouse/record/checkpoint.ts";

const T0 = Date.UTC(2026, 10, 22);
const MINUTE = 60_000;
const ids = ["3", "2", "1"];
const order = (mode: ScopeMode): ReadingOrder => ({ stream: "accounts", scope: "", mode, overlap: false });
const active = (state: ReturnType<typeof next>["state"]): Active => {
  if (!isActive(state)) throw new TypeError(state.kind);
  return state;
};
const listAt = (mode: ScopeMode, now: number, before?: ScopeState): Active =>
  active(openList({ order: order(mode), before, shape: initialShape(10), rows: 0, runId: "r", now }));
const withPage = (list: Active, read: PageRead, receivedAt: number): Active =>
  active(next(list, { kind: "page", read, receivedAt }).state);
const stepOf = (list: Active, seen: number, room: number) => stepOfList(list, { seen, matching: null }, room);

/** The state of a list that was read its whole list of three, and was cut off before its verdict. */
const readToTheEnd = (mode: ScopeMode): ScopeState => {
  const values = [T0 - 3, T0 - 2, T0 - 1].toReversed();
  const read = { page: 1, perPage: 10, role: "cover", ids, rows: 3, values, total: 3 } as const;
  return walkingState(withPage(stepOf(listAt(mode, T0), 0, 4).list, read, T0), "r");
};

test("soon after, a walk that read everything has its verdict without a request", () => {
  const list = listAt("walk", T0 + 9 * MINUTE, readToTheEnd("walk"));
  expect(stepOf(list, 3, 4).step).toMatchObject({ kind: "done", addsUp: true });
});

test("later, it asks for the end of the list once more, and reads on where the list has grown", () => {
  const { step, list } = stepOf(listAt("walk", T0 + 11 * MINUTE, readToTheEnd("walk")), 3, 4);
  expect(step).toEqual({ kind: "read", reads: [{ page: 1, perPage: 10, role: "bridge" }] });
  const read = { page: 1, perPage: 10, role: "bridge", ids, rows: 3, values: [null, null, null], total: 3 } as const;
  expect(stepOf(withPage(list, read, T0 + 11 * MINUTE), 3, 4).step).toMatchObject({ kind: "done", addsUp: true });
});

test("a read of changes that was at its end starts anew", () => {
  // The planner continues whatever was interrupted as a walk.
  const soon = listAt("walk", T0 + MINUTE, readToTheEnd("watermark"));
  expect(soon.reading.progress).toMatchObject({ kind: "watermark", pages: 1 });
  const late = listAt("walk", T0 + 11 * MINUTE, readToTheEnd("watermark"));
  expect(late.reading.progress).toMatchObject({ kind: "watermark", pages: 0 });
  expect(stepOf(late, 0, 4).step).toEqual({ kind: "read", reads: [{ page: 1, perPage: 10, role: "cover" }] });
});

// What the archive keeps of a list's next request.
import { expect, test } from "vitest";
import { initialShape, type ListShape } from "../../../../src/sync/list/form.ts";
import { openList } from "../../../../src/sync/list/state.ts";
import { wantedCall } from "../../../../src/sync/run/wanted-call.ts";

test("what a list grants is archived by the form of its request", () => {
  const shape: ListShape = { ...initialShape(50), inDefault: ["light"], grants: ["light", "heavy"] };
  const order = { stream: "accounts", scope: "", mode: "walk", overlap: false } as const;
  const list = openList({ order, before: undefined, shape, rows: 0, runId: "r", now: 0 });
  const read = { page: 2, perPage: 50, role: "cover" } as const;
  const usage = { historyDays: 30, breakdowns: ["endpoint"] };
  const options = { view: "default", content: [], rowScope: {}, exclude: [], usage } as const;
  const { call, detail } = wantedCall(list, read, shape, options, new Set());
  expect(detail).toMatchObject({ read, overlap: false, work: "walk" });
  expect(detail.granted).toEqual(call.query.onlyWithFields === undefined ? shape.inDefault : shape.grants);
});

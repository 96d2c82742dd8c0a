// A list of a run decides about one event at a time.
import { expect, test } from "vitest";
import type { Deciding } from "../../../../../src/sync/run/state/open-list.ts";
import { aList } from "../a-list.ts";

const absent: Deciding = { kind: "absent" };
const goOn: Deciding = { kind: "go-on" };

test("an event that comes while another is decided waits for its turn, and whoever brings it need not wait", async () => {
  const list = aList();
  const order: string[] = [];
  let release: () => void = () => undefined;
  const first = new Promise<void>((resolve) => {
    release = resolve;
  });
  list.later(absent);
  const draining = list.drain(async ({ kind }) => {
    order.push(`${kind} begins`);
    if (kind === "absent") await first;
    order.push(`${kind} ends`);
  });
  list.later(goOn);
  await list.drain(async () => void order.push("twice at once"));
  expect([list.deciding, order]).toEqual([true, ["absent begins"]]);
  release();
  await draining;
  expect([list.deciding, order]).toEqual([false, ["absent begins", "absent ends", "go-on begins", "go-on ends"]]);
});

test("a decision that fails leaves the list free to decide", async () => {
  const list = aList();
  list.later(goOn);
  const failed = list.drain(() => Promise.reject(new Error("disk full")));
  await expect(failed).rejects.toThrow("disk full");
  expect(list.deciding).toBe(false);
});

test("an event replaces the state, and an old one stays as it was", () => {
  const list = aList();
  const before = list.state;
  list.tell({ kind: "rows", by: 3 });
  expect([before, list.state]).toMatchObject([{ rows: 0 }, { rows: 3 }]);
});

// Shares of a fetcher's slots.
import { expect, test } from "vitest";
import { createFairShare } from "../../../../../src/queue/remote/fetcher/fair-share.ts";

test("an organization holds at most a quarter of the slots while others wait, and all of them when nobody does", () => {
  const share = createFairShare(8);
  share.enter("a");
  expect(share.admits("a", true)).toBe(true);
  share.enter("a");
  expect(share.admits("a", true)).toBe(false);
  expect(share.admits("a", false)).toBe(true);
  expect(share.admits("b", true)).toBe(true);
});

test("a request that hangs gives its slot back, and leaves once", () => {
  const share = createFairShare(4);
  const seat = share.enter("a");
  expect(share.admits("a", true)).toBe(false);
  seat.slow();
  seat.slow();
  expect(share.admits("a", true)).toBe(true);
  expect(share.hanging()).toBe(1);
  seat.leave();
  seat.leave();
  expect(share.hanging()).toBe(0);
  share.enter("a").leave();
  expect(share.admits("a", true)).toBe(true);
});

// Pages that fail because they are large, and the size that is asked for instead.
import { describe, expect, test } from "vitest";
import { initialShape } from "../../../../src/sync/list/form.ts";
import {
  afterAnswerTo,
  sizeBelow,
  sizeFailureOf,
  withLargePagesAgain,
  withSmallerPages,
} from "../../../../src/sync/request/smaller-pages.ts";
import { broken, refused } from "./outcomes.ts";

const DAY = 86_400_000;
const T0 = 1_000;

describe("which failures a smaller page may avoid", () => {
  test.each([500, 502, 503, 413])("status %i", (status) => {
    expect(sizeFailureOf(refused(status))).toBe("answered");
  });
  test.each([408, 504])("status %i, which comes late", (status) => {
    expect(sizeFailureOf(refused(status))).toBe("slow");
  });
  test.each([400, 401, 404, 422, 429, 501])("not status %i", (status) => {
    expect(sizeFailureOf(refused(status))).toBeNull();
  });
  test("a time limit after the request was sent and a body over the limit, but no lost connection", () => {
    expect(sizeFailureOf(broken("timeout"))).toBe("slow");
    expect(sizeFailureOf(broken("too_large"))).toBe("paid");
    expect(
      [broken("timeout", { reached: "unsent" }), broken("reset"), broken("dns", { reached: "unsent" })].map(
        sizeFailureOf,
      ),
    ).toEqual([null, null, null]);
  });
});

test("a size is halved, after a time limit quartered, down to the documented default of 20", () => {
  expect([1000, 500, 250, 100, 50, 25, 20].map((size) => sizeBelow(size, "answered"))).toEqual([
    500,
    250,
    100,
    50,
    25,
    20,
    null,
  ]);
  expect([1000, 250, 50, 20].map((size) => sizeBelow(size, "slow"))).toEqual([250, 50, 20, null]);
});

describe("the size that failed", () => {
  const shape = { ...initialShape(1000), settled: true };
  const smaller = withSmallerPages(withSmallerPages(shape, 500, T0), 250, T0 + 1);

  test("is the largest one, since its first failure", () => {
    expect(smaller).toEqual({ ...shape, perPage: 250, settled: false, failed: { perPage: 1000, at: T0 } });
  });

  test("is excused by an answer to a page as large, not by a smaller one", () => {
    const failed = { perPage: 1000, at: T0 };
    expect(afterAnswerTo(smaller, failed, 250)).toBe(smaller);
    expect(afterAnswerTo(smaller, failed, 1000)).toMatchObject({ perPage: 1000, failed: null });
  });

  test("is tried again after a week", () => {
    const stored = { ...smaller, settled: true };
    expect(withLargePagesAgain(stored, T0 + 7 * DAY - 1)).toBe(stored);
    expect(withLargePagesAgain(stored, T0 + 7 * DAY)).toEqual({ ...shape, settled: false });
    expect(withLargePagesAgain(shape, T0 + 70 * DAY)).toBe(shape);
  });
});

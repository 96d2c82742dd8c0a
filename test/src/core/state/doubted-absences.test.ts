// When a 404 whose body is no JSON is believed.
import { expect, test } from "vitest";
import { type Doubt, withDoubt, withoutDoubt } from "../../../../src/core/state/doubted-absences.ts";

const HOUR = 3_600_000;
const NEWS = { stream: "news_articles", scope: "c1" };

/** In which of these syncs the 404 is believed; null: in none. */
const believedAt = (times: readonly number[]): number | null => {
  let known: readonly Doubt[] = [];
  for (const [index, at] of times.entries()) {
    const after = withDoubt(known, NEWS, at);
    if (after.believed) return index + 1;
    known = after.known;
  }
  return null;
};

test("it is believed by the third sync in a row if the first was a day before, and by the sixth anyway", () => {
  expect(believedAt([0, HOUR, 24 * HOUR])).toBe(3);
  expect(believedAt([0, 24 * HOUR])).toBeNull();
  expect(believedAt([0, HOUR, 2 * HOUR, 23.9 * HOUR])).toBeNull();
  expect(believedAt([0, 1, 2, 3, 4, 5])).toBe(6);
});

test("any other answer begins anew, each list and company on its own; what is believed is forgotten", () => {
  const twice = withDoubt(withDoubt([], NEWS, 0).known, NEWS, HOUR).known;
  const other = withDoubt(twice, { ...NEWS, scope: "c2" }, 30 * HOUR);
  expect([other.believed, other.known.length]).toEqual([false, 2]);
  expect(withoutDoubt(twice, NEWS)).toEqual([]);
  expect(withoutDoubt(twice, { ...NEWS, scope: "c2" })).toBe(twice);
  expect(withDoubt(twice, NEWS, 24 * HOUR)).toEqual({ believed: true, known: [] });
});

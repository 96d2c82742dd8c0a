// Which requests get a line of their own in the audit trail, and which are only counted.
import { expect, test } from "vitest";
import { createLineCounts } from "../../../../src/server/audit-trail/hooks.ts";

const KIND = { name: "refused", most: 60 };

test("the next minute begins with the number of those without a line", () => {
  const { next, left } = createLineCounts<string>();
  const written = Array.from({ length: 65 }, (_, nth) => next(KIND, 100_000, `request ${nth}`));
  expect(written.filter((unwritten) => unwritten === 0)).toHaveLength(60);
  expect(written.slice(60)).toEqual(Array(5).fill(null));
  expect(left()).toEqual([{ last: "request 64", unwritten: 5 }]);
  expect(next(KIND, 160_000, "later")).toBe(5);
  expect(left()).toEqual([]);
});

test("many kinds do not fill the memory", () => {
  const { next, left } = createLineCounts<null>();
  for (let nth = 0; nth < 5_000; nth++) next({ name: String(nth), most: 1 }, 0, null);
  next({ name: "4999", most: 1 }, 0, null);
  expect(left()).toHaveLength(1);
});

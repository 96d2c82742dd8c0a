// Which refusals get a line of their own in the audit trail, and which are only counted.
import { expect, test } from "vitest";
import { countRefusal, NO_REFUSALS } from "../../../../src/server/audit-trail/refusal-lines.ts";

test("the next minute begins with the number of those without a line", () => {
  let lines = NO_REFUSALS;
  for (let nth = 0; nth < 65; nth++) lines = countRefusal(lines, 100_000).next;
  expect(lines.unwritten).toBe(5);
  expect(countRefusal(lines, 160_000)).toEqual({ write: true, next: { since: 160_000, lines: 1, unwritten: 0 } });
});

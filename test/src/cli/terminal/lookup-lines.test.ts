// A lookup's result for people.
import { expect, test } from "vitest";
import { lookupLines } from "../../../../src/cli/terminal/lookup-json.ts";
import { nothingFound } from "../../../../src/sync/lookup/mirror-answer.ts";

type Result = Parameters<typeof lookupLines>[0];
const result = (more: Partial<Result>): Result => ({
  ...nothingFound(0, "found"),
  ...{ kind: "company", input: "acme.com", source: "service", credits: 1, kept: true, error: null },
  ...more,
});
const lines = (more: Partial<Result>, now = 0) => lookupLines(result(more), now).split("\n");

test("values come line by line, members of objects indented, and what is empty is left out", () => {
  const record = {
    id: 9007199254740993n,
    name: null,
    tags: ["a", { b: 1n }],
    none: [],
    place: { city: "Oslo", zip: null },
  };
  expect(lines({ record })).toEqual([
    "id                      9007199254740993",
    "tags",
    "  - a",
    '  - {"b":1}',
    "place",
    "  city                    Oslo",
    "source: service, 1 credit",
    "",
  ]);
  expect(lines({ record: { empty: { a: null } } })[0]).toBe("source: service, 1 credit");
});

test("an answer of the mirror has its age, never a negative one; one of the service has none", () => {
  expect(lines({ source: "mirror", credits: 0, asOf: 1_000 }, 61_000)[0]).toBe(
    "source: mirror, as of 1m ago, 0 credits",
  );
  expect(lines({ source: "mirror", credits: 0, asOf: 9_000 }, 0)[0]).toContain("as of 0.0s ago");
  expect(lines({ asOf: 1_000 }, 61_000)[0]).not.toContain("ago");
});

test("an answer that the mirror does not hold yet says when it will", () => {
  expect(lines({ kept: false })[0]).toMatch(/1 credit; it enters the mirror with the next run that can write to it$/);
});

test("candidates are listed, and the latest call only where there is one", () => {
  const found = lines({ candidates: [{ id: 7n }, { id: 8n }], latestEarningsCall: { year: 2026 } });
  expect(found.slice(0, 4)).toEqual([
    "latestEarningsCall",
    "  year                    2026",
    'candidate               {"id":7}',
    'candidate               {"id":8}',
  ]);
});

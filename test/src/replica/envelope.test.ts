// The text of a response around records that are JSON already.
import { expect, test } from "vitest";
import { type Answer, dataAnswer, type IncludedShape, writeEnvelope } from "../../../src/replica/envelope.ts";

const USAGE = { limit: 10, used: 3, remaining: 7, resetsAt: 86_400_000 };
const written = (answer: Answer, includedShape: IncludedShape = "plural-array", usage: typeof USAGE | null = USAGE) =>
  JSON.parse(writeEnvelope(answer, { requestId: "r", now: 0, usage, includedShape }));
const records = [
  { key: "a", object: '{"id":"a"}' },
  { key: "b", object: '{"id":"b"}' },
];
const withCompanies = (kind: "record" | "records" | "list", found = records): Answer => ({
  ...dataAnswer("[]", false),
  included: [{ one: "company", many: "companies", kind, records: found }],
});

test("the last page counts, though it is not full; an empty list has none", () => {
  const pages = (totalCount: number) =>
    written({ ...dataAnswer("[]", false), paging: { page: 1, perPage: 10, totalCount } }).meta.totalPages;
  expect([pages(0), pages(10), pages(11)]).toEqual([0, 1, 2]);
  expect(written(dataAnswer("[]", false)).meta).not.toHaveProperty("totalPages");
});

test("usage is shown where the route has it and the mirror knows a figure", () => {
  expect(written(dataAnswer("{}", true)).usage).toEqual({ ...USAGE, resetsAt: "1970-01-02T00:00:00.000Z" });
  expect(written(dataAnswer("{}", false))).not.toHaveProperty("usage");
  expect(written(dataAnswer("{}", true), "map", null)).not.toHaveProperty("usage");
});

test.each<[IncludedShape, unknown]>([
  ["plural-array", { companies: [{ id: "a" }, { id: "b" }] }],
  ["singular-array", { company: [{ id: "a" }, { id: "b" }] }],
  ["map", { companies: { a: { id: "a" }, b: { id: "b" } } }],
  ["object", { company: { id: "a" } }],
  ["none", undefined],
])("related records of a list have the shape %s", (shape, included) => {
  expect(written(withCompanies("records"), shape).included).toEqual(included);
});

test("a single record has its own name in any shape, and is left out where there is none", () => {
  expect(written(withCompanies("record"), "map").included).toEqual({ company: { id: "a" } });
  expect(written(withCompanies("record", [])).included).toEqual({});
  expect(written(withCompanies("list", []), "object").included).toEqual({ companies: [] });
});

test("members come in the order of the document, and an insight that was not found has no data", () => {
  const { data: _, ...rest } = dataAnswer("{}", false);
  const answer: Answer = { ...rest, head: [["status", '"not_found"']], tail: [["candidates", "[]"]] };
  expect(Object.keys(written(answer))).toEqual(["status", "candidates", "meta"]);
  expect(Object.keys(written({ ...answer, data: "{}" }))).toEqual(["status", "data", "candidates", "meta"]);
});

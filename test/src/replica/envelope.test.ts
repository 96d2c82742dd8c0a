// The text of a response around records that are JSON already.

import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { type Answer, codingFor, compressed, dataAnswer, writeEnvelope } from "../../../src/replica/envelope.ts";

// The coding of a body: what the client accepts, and brotli where it takes both alike.

test.each([
  [undefined, undefined],
  ["", undefined],
  ["identity", undefined],
  ["gzip", "gzip"],
  ["gzip, br", "br"],
  ["GZIP, BR;q=0.5", "gzip"],
  ["br;q=0.5, gzip;q=0.5", "br"],
  ["br;q=0, gzip", "gzip"],
  ["gzip;q=0", undefined],
  ["brotli, xgzip", undefined],
  [["gzip", "br;q=0"], "gzip"],
])("for accept-encoding %j it is %s", (accept, coding) => {
  expect(codingFor(accept, 1024)).toBe(coding);
});

test("a body of less than a KiB stays as it is", () => {
  expect(codingFor("br", 1023)).toBeUndefined();
});

test("each coding is the one that its name says", async () => {
  const body = Buffer.from("a".repeat(2000));
  expect(brotliDecompressSync(await compressed(body, "br"))).toEqual(body);
  expect(gunzipSync(await compressed(body, "gzip"))).toEqual(body);
});

const USAGE = { limit: 10, used: 3, remaining: 7, resetsAt: 86_400_000 };
const written = (answer: Answer, usage: typeof USAGE | null = USAGE) =>
  JSON.parse(writeEnvelope(answer, { requestId: "r", now: 0, usage }));
const records = [
  { key: "a", object: '{"id":"a"}' },
  { key: "b", object: '{"id":"b"}' },
];
const withCompanies = (kind: "record" | "list", found = records): Answer => ({
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
  expect(written(dataAnswer("{}", true), null)).not.toHaveProperty("usage");
});

test("related records of a list are an array, also an empty one; a single record is left out where there is none", () => {
  expect(written(withCompanies("list")).included).toEqual({ companies: [{ id: "a" }, { id: "b" }] });
  expect(written(withCompanies("list", [])).included).toEqual({ companies: [] });
  expect(written(withCompanies("record")).included).toEqual({ company: { id: "a" } });
  expect(written(withCompanies("record", [])).included).toEqual({});
});

test("members come in the order of the document, and an insight that was not found has no data", () => {
  const { data: _, ...rest } = dataAnswer("{}", false);
  const answer: Answer = { ...rest, head: [["status", '"not_found"']], tail: [["candidates", "[]"]] };
  expect(Object.keys(written(answer))).toEqual(["status", "candidates", "meta"]);
  expect(Object.keys(written({ ...answer, data: "{}" }))).toEqual(["status", "data", "candidates", "meta"]);
});

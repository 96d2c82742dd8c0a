// Records by key: read together, each by whom it was asked for.
import { beforeEach, expect, test } from "vitest";
import { tableSpec } from "../../../src/catalog/tables.ts";
import { createLookups, type Reader } from "../../../src/replica/reader.ts";
import { aMirror } from "./rig.ts";

/** Records that each statement so far found, in the order in which they ended: no one promises that order. */
let statements: number[];
let failing: boolean;
let reader: Reader;

const database = await aMirror();
await database.run(`INSERT INTO main.contacts (id, organization_id, first_name, _synced_at, _run_id)
  SELECT id::VARCHAR, 'o', 'N' || id, now(), 'r' FROM range(1, 3001) t(id)`);
beforeEach(() => {
  statements = [];
  failing = false;
  reader = {
    query: database.query,
    cells: async (sql, params) => {
      const rows = failing ? Promise.reject(new Error("lost")) : database.cells(sql, params);
      statements.push((await rows).length);
      return rows;
    },
  };
});

const fields = tableSpec("contacts").fields.filter(({ name }) => name === "id" || name === "firstName");
const what = { table: "contacts", fields, extra: false } as const;
const keysFrom = (first: number, count: number) => Array.from({ length: count }, (_, n) => String(first + n));

test("keys asked for while two statements are under way are read by one statement", async () => {
  const find = createLookups(reader);
  const keys = keysFrom(1, 40);
  const found = await Promise.all(keys.map((key) => find(what, [key])));
  expect(found.map((records, index) => records.get(keys[index] ?? "")?.object)).toEqual(
    keys.map((key) => `{"id":"${key}","firstName":"N${key}"}`),
  );
  expect(statements.toSorted((a, b) => a - b)).toEqual([1, 1, 38]);
});

test("a statement reads whole pages up to a thousand keys, and a larger page by itself", async () => {
  const find = createLookups(reader);
  const pages = [1, 1, 400, 400, 400, 1500, 1].map((count, index) => keysFrom(1 + index * 10, count));
  const found = await Promise.all(pages.map((keys) => find(what, keys)));
  for (const [index, keys] of pages.entries()) expect(keys.filter((key) => !found[index]?.has(key))).toEqual([]);
  // The first two, then 400 and 400 of which 390 are the same, then 400, then 1500 by itself, then the last.
  expect(statements.toSorted((a, b) => a - b)).toEqual([1, 1, 1, 400, 410, 1500]);
});

test("other columns are another statement, and a key that is not there is not found", async () => {
  const find = createLookups(reader);
  const [whole, linked] = await Promise.all([
    find(what, ["7", "none"]),
    find({ ...what, fields: [], links: ["first_name"] }, ["7"]),
  ]);
  expect([...whole.keys()]).toEqual(["7"]);
  expect(linked.get("7")).toEqual({ key: "7", object: "{}", links: ["N7"] });
});

test("a failure is everyone's in its statement, and nobody's after it", async () => {
  const find = createLookups(reader);
  failing = true;
  const outcomes = await Promise.allSettled(keysFrom(1, 5).map((key) => find(what, [key])));
  expect(outcomes.map(({ status }) => status)).toEqual(Array.from({ length: 5 }, () => "rejected"));
  failing = false;
  expect((await find(what, ["3"])).get("3")?.key).toBe("3");
});

// Values and order of the replica's records, and what differs between a mirror and the service.
import fc from "fast-check";
import { beforeEach, expect, test } from "vitest";
import { matchRoute } from "../../../src/replica/query/route-match.ts";
import { aMirror, ask as answerOf, aReplica } from "./rig.ts";

const database = await aMirror();
beforeEach(async () => {
  for (const table of ["accounts", "usage_snapshots"]) await database.run(`DELETE FROM ${table}`);
});
const ask = (path: string, query?: Record<string, string>) => answerOf(database, path, query);
const asked = async (path: string, query?: Record<string, string>) => JSON.parse(await ask(path, query));

const INSERT = `INSERT INTO main.accounts (id, organization_id, created_at, updated_at, type, name, main_score, summary, _extra)
  VALUES (CAST($1 AS BIGINT), 'o', '2026-01-01', '2026-01-01 10:00:00.123456', 'prospect', $2, CAST($3 AS DOUBLE), $4, $5)`;

test("absent values are left out, whole scores have no fraction, times carry microseconds only where there are some", async () => {
  await database.run(INSERT, ["9223372036854775807", null, "50", null, null]);
  expect(await ask("/v1/accounts/9223372036854775807")).toContain(
    '"data":{"id":9223372036854775807,"organizationId":"o","createdAt":"2026-01-01T00:00:00.000Z",' +
      '"updatedAt":"2026-01-01T10:00:00.123456Z","type":"prospect","mainScore":50}',
  );
});

test("JSON columns come out as they were stored: nulls, order and long numbers included", async () => {
  const summary = '{"b":null,"a":[1,{"x":12345678901234567890.5}],"é":""}';
  await database.run(INSERT, ["1", "A", "0.1", summary, null]);
  expect(await ask("/v1/accounts")).toContain(`"mainScore":0.1,"summary":${summary}}`);
});

test("what the mirror kept in _extra is part of the record, unless fields were named", async () => {
  await database.run(INSERT, ["1", "A", null, null, ' { "newField": {"a": 9007199254740993} , "priority": "high" } ']);
  const record = await ask("/v1/accounts/1");
  expect(JSON.parse(record)).toMatchObject({ data: { name: "A", newField: {}, priority: "high" } });
  expect(record).toContain("9007199254740993");
  expect(await ask("/v1/accounts", { onlyWithFields: "id,name" })).toContain('"data":[{"id":1,"name":"A"}]');
  await database.run("UPDATE main.accounts SET _extra = '{}'");
  expect(await asked("/v1/accounts/1")).toMatchObject({ data: { name: "A" } });
});

test("any text comes back unchanged, and can be asked for", async () => {
  const text = fc.string({ unit: "grapheme", minLength: 1, maxLength: 40 }).filter((name) => !name.includes("\u0000"));
  await fc.assert(
    fc.asyncProperty(fc.array(text, { minLength: 8, maxLength: 20 }), async (names) => {
      await database.run("DELETE FROM main.accounts");
      for (const [id, name] of names.entries()) await database.run(INSERT, [String(id), name, null, null, null]);
      const { data } = await asked("/v1/accounts", { sortBy: "id", sortOrder: "asc" });
      expect(data.map(({ name }: { name: string }) => name)).toEqual(names);
      const found = async (textQuery: string) => (await asked("/v1/accounts", { textQuery })).meta.totalCount;
      expect(await found(names[0] ?? "")).toBeGreaterThan(0);
      // A sign of a pattern is a sign like any other.
      for (const sign of ["%", "_"]) expect(await found(sign)).toBe(names.filter((name) => name.includes(sign)).length);
    }),
    { numRuns: 5 },
  );
});

test("ties are broken by id, in the direction of the sort, and missing values come last", async () => {
  for (const [id, score] of [
    ["3", "5"],
    ["1", "5"],
    ["2", null],
    ["4", "9"],
  ] as const) {
    await database.run(INSERT, [id, null, score, null, null]);
  }
  const ids = async (query: Record<string, string>) =>
    /"data":(\[.*?\]),"meta"/.exec(await ask("/v1/accounts", { onlyWithFields: "id", ...query }))?.[1];
  expect(await ids({})).toBe('[{"id":4},{"id":3},{"id":1},{"id":2}]');
  expect(await ids({ sortOrder: "asc" })).toBe('[{"id":1},{"id":3},{"id":4},{"id":2}]');
  expect(await ids({ sortBy: "id", sortOrder: "asc" })).toBe('[{"id":1},{"id":2},{"id":3},{"id":4}]');
});

test("shows the quota it saw last, and zeros before it saw one", async () => {
  expect(await asked("/v1/usage")).toMatchObject({ data: { quota: { limit: 0, used: 0 } } });
  await database.run(
    `INSERT INTO main.usage_snapshots (captured_at, "limit", used, remaining, resets_at)
       VALUES ('2026-05-01', 100, 10, 90, '2026-06-01'), ('2026-05-02', 100, 30, 70, '2026-06-01')`,
  );
  expect(await asked("/v1/usage")).toMatchObject({
    data: { quota: { limit: 100, used: 30, remaining: 70, resetsAt: "2026-06-01T00:00:00.000Z" } },
  });
});

test("takes no feedback and allows a thousand rows a page", async () => {
  const feedback = { match: matchRoute("POST", "/v1/feedback"), query: {}, body: { message: "x" } };
  await expect(aReplica(database).answer(feedback)).rejects.toMatchObject({ status: 405 });
  await ask("/v1/accounts", { perPage: "1000" });
  await expect(ask("/v1/accounts", { perPage: "1001" })).rejects.toMatchObject({ status: 400 });
});

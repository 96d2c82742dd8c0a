import { join } from "node:path";
import fc from "fast-check";
import { beforeEach, describe, expect, test } from "vitest";
import { writeEnvelope } from "../../../src/replica/envelope.ts";
import { matchRoute } from "../../../src/replica/query/route-match.ts";
import { createReplica } from "../../../src/replica/replica.ts";
import { openDatabase } from "../../../src/warehouse/duckdb/database.ts";
import { migrate } from "../../../src/warehouse/file/migrate.ts";
import { forFile } from "../../support/for-file.ts";
import { dirForFile } from "../warehouse/temp-dir.ts";

const NOW = Date.UTC(2026, 4, 20);
const dir = dirForFile();

const database = await forFile(openDatabase(join(dir, "mirror.duckdb"), { threads: 1 }));
await migrate(database, NOW);
beforeEach(async () => {
  for (const table of ["accounts", "signals", "companies", "usage_snapshots"])
    await database.run(`DELETE FROM ${table}`);
});

/** Body of a 200, as text. */
const ask = async (path: string, query: Record<string, string> = {}): Promise<string> => {
  const replica = createReplica({ database, clock: { now: () => NOW }, tier: () => "full" });
  const answer = await replica.answer({ match: matchRoute("GET", path), query });
  return writeEnvelope(answer, { requestId: "r", now: NOW, usage: null, includedShape: "plural-array" });
};

const INSERT = `INSERT INTO main.accounts (id, organization_id, created_at, updated_at, type, name, main_score, summary, _extra)
  VALUES (CAST($1 AS BIGINT), 'o', '2026-01-01', '2026-01-01 10:00:00.123456', 'prospect', $2, CAST($3 AS DOUBLE), $4, $5)`;

describe("values", () => {
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
    await database.run(INSERT, [
      "1",
      "A",
      null,
      null,
      ' { "newField": {"a": 9007199254740993} , "priority": "high" } ',
    ]);
    const record = await ask("/v1/accounts/1");
    expect(JSON.parse(record)).toMatchObject({ data: { name: "A", newField: {}, priority: "high" } });
    expect(record).toContain("9007199254740993");
    expect(await ask("/v1/accounts", { onlyWithFields: "id,name" })).toContain('"data":[{"id":1,"name":"A"}]');
    await database.run("UPDATE main.accounts SET _extra = '{}'");
    expect(JSON.parse(await ask("/v1/accounts/1"))).toMatchObject({ data: { name: "A" } });
  });

  test("any text comes back unchanged, and can be asked for", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: "grapheme", minLength: 1, maxLength: 40 }).filter((text) => !text.includes("\u0000")),
        async (name) => {
          await database.run("DELETE FROM main.accounts");
          await database.run(INSERT, ["1", name, null, null, null]);
          expect(JSON.parse(await ask("/v1/accounts"))).toMatchObject({ data: [{ name }] });
          const quoted = await ask("/v1/accounts", { textQuery: name, ids: "1" });
          expect(JSON.parse(quoted)).toMatchObject({ meta: { totalCount: 1 } });
        },
      ),
      { numRuns: 60 },
    );
  });

  test("values never become SQL", async () => {
    await database.run(INSERT, ["1", "Robert'); DROP TABLE accounts;--", null, null, null]);
    for (const text of ["'", "%", "_", '"', "$1", "'); DROP TABLE accounts;--"]) {
      for (const param of ["textQuery", "domain", "companyId", "ownerId", "type", "hasSignalsOfType"]) {
        await ask("/v1/accounts", { [param]: text });
      }
      await ask("/v1/signals", { textQuery: text, type: text });
      await ask(`/v1/account-insights`, { query: text });
    }
    expect(JSON.parse(await ask("/v1/accounts", { textQuery: "'); DROP" }))).toMatchObject({ meta: { totalCount: 1 } });
    expect(JSON.parse(await ask("/v1/accounts", { textQuery: "%" }))).toMatchObject({ meta: { totalCount: 0 } });
  });
});

describe("order", () => {
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
});

describe("a mirror", () => {
  test("shows the quota it saw last, and zeros before it saw one", async () => {
    expect(JSON.parse(await ask("/v1/usage"))).toMatchObject({ data: { quota: { limit: 0, used: 0 } } });
    await database.run(
      `INSERT INTO main.usage_snapshots (captured_at, "limit", used, remaining, resets_at)
       VALUES ('2026-05-01', 100, 10, 90, '2026-06-01'), ('2026-05-02', 100, 30, 70, '2026-06-01')`,
    );
    expect(JSON.parse(await ask("/v1/usage"))).toMatchObject({
      data: { quota: { limit: 100, used: 30, remaining: 70, resetsAt: "2026-06-01T00:00:00.000Z" } },
    });
  });

  test("takes no feedback and allows a thousand rows a page", async () => {
    const replica = createReplica({ database, clock: { now: () => NOW }, tier: () => "full" });
    const match = matchRoute("POST", "/v1/feedback");
    await expect(replica.answer({ match, query: {}, body: { message: "x" } })).rejects.toMatchObject({ status: 405 });
    await ask("/v1/accounts", { perPage: "1000" });
    await expect(ask("/v1/accounts", { perPage: "1001" })).rejects.toMatchObject({ status: 400 });
  });
});

// Erasing people from the working database: their rows are gone, and their ids wherever else they are.
import { beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { createIdEraser } from "../../../../src/core/forgotten.ts";
import { openDatabase } from "../../../../src/warehouse/duckdb/database.ts";
import { migrate } from "../../../../src/warehouse/file/migrate.ts";
import { forgetRows, type Person } from "../../../../src/warehouse/forget/people.ts";
import { forFile } from "../../../support/for-file.ts";

const ANN: Person = {
  id: "ann-0001",
  hash: "h1",
  traces: [
    { kind: "id", text: "ann-0001" },
    { kind: "email", text: "ann@a.example" },
    { kind: "name", text: "Ann-Marie Ash" },
  ],
};
const AT = "'2026-01-01 00:00:00+00'";

const database = await forFile(openDatabase(":memory:", { threads: 1 }));
await migrate(database, 0);
beforeEach(async () => {
  for (const table of ["rejects", "schema_drift", "requests", "stream_state", "checks"])
    await database.run(`DELETE FROM sync.${table}`);
  for (const table of ["contacts", "usage_requests"])
    await database.run(`DELETE FROM main.${table}; DELETE FROM history.${table}`);
});

const forget = (...people: readonly Person[]) => {
  const eraser = createIdEraser(new Map(people.map(({ id, hash }) => [id, `forgotten:${hash}`])));
  return database.transaction((tx) => forgetRows(tx, people, eraser));
};
const texts = async (sql: string) =>
  (
    await database.query(
      `SELECT CAST(x AS VARCHAR) AS x FROM (${sql}) AS t(x)`,
      [],
      z.object({ x: z.string().nullable() }),
    )
  ).map(({ x }) => x);
const aContact = (id: string) =>
  database.run(`INSERT INTO main.contacts (id, email) VALUES ('${id}', '${id}@a.example')`);
const aRequest = (id: string, stream: string, url: string, scope = "") =>
  database.run(
    `INSERT INTO sync.requests (request_id, run_id, stream, scope, endpoint, url, charge, started_at, duration_ms, bytes, rows, attempt)
     VALUES ('${id}', 'r', '${stream}', '${scope}', 'e', '${url}', 'spent', ${AT}, 1, 1, 1, 1)`,
  );

test("their rows and versions are gone, those of others stay, and the numbers are reported", async () => {
  await aContact("ann-0001");
  await aContact("bea-0002");
  for (const change of ["update", "update"])
    await database.run(`INSERT INTO history.contacts (id, change, valid_to) VALUES ('ann-0001', '${change}', ${AT})`);
  expect(await forget(ANN)).toEqual({ current: 1, versions: 2, rejects: 0 });
  expect(await texts("SELECT id FROM main.contacts")).toEqual(["bea-0002"]);
  expect(await texts("SELECT id FROM history.contacts")).toEqual([]);
});

test("a rejected record of theirs is dropped, found by an address; one that only has the same name stays", async () => {
  const reject = (record: unknown, table = "contacts") =>
    database.run(
      `INSERT INTO sync.rejects (rejected_at, run_id, request_id, stream, table_name, position, reason, record)
       VALUES (${AT}, 'r', 'q', 'contacts', '${table}', 0, 'no id', '${JSON.stringify(record)}')`,
    );
  await reject({ email: "ann@a.example" });
  await reject({ email: "joann@a.example", name: "Ann-Marie Ash" });
  await reject({ email: "ann@a.example" }, "accounts");
  expect((await forget(ANN)).rejects).toBe(1);
  expect(await texts("SELECT table_name || ' ' || (record ->> 'email') FROM sync.rejects ORDER BY 1")).toEqual([
    "accounts ann@a.example",
    "contacts joann@a.example",
  ]);
});

test("their ids leave addresses and scopes of the ledger; a similar id of another stays", async () => {
  await aRequest("1", "contacts", "/v1/contacts/ann-0001", "ann-0001");
  await aRequest("2", "contacts", "/v1/contacts/ann-00012");
  await forget(ANN);
  expect(await texts("SELECT url || ' ' || scope FROM sync.requests ORDER BY request_id")).toEqual([
    "/v1/contacts/forgotten:h1 forgotten:h1",
    "/v1/contacts/ann-00012 ",
  ]);
});

test("a short id is a text like any other, but where contacts are named", async () => {
  await aRequest("1", "accounts", "/v1/accounts?page=7", "7");
  await aRequest("2", "contacts", "/v1/contacts/7", "7");
  await forget({ id: "7", hash: "h7", traces: [{ kind: "id", text: "7" }] });
  expect(await texts("SELECT url || ' ' || scope FROM sync.requests ORDER BY request_id")).toEqual([
    "/v1/accounts?page=7 7",
    "/v1/contacts/forgotten:h7 forgotten:h7",
  ]);
});

test("a cursor that holds an id reads on without it", async () => {
  await database.run(
    `INSERT INTO sync.stream_state (stream, scope, status, cursor, run_id)
     VALUES ('contacts', '', 'walking', '{"page":3,"ids":["ann-0001","bea-0002"]}', 'r')`,
  );
  await forget(ANN);
  expect(await texts("SELECT cursor FROM sync.stream_state")).toEqual(['{"page":3,"ids":["forgotten:h1","bea-0002"]}']);
});

test("the service's request history, and its earlier versions, keep their other values to the last digit", async () => {
  for (const table of ["main", "history"])
    await database.run(
      `INSERT INTO ${table}.usage_requests BY NAME (SELECT 1 AS id, '/v1/contacts/ann-0001' AS endpoint,
         '{"contactId":"ann-0001"}' AS input, '{"of":"ann-0001","big":12345678901234567890}' AS _extra
         ${table === "main" ? "" : `, 'update' AS change, ${AT} AS valid_to`})`,
    );
  await forget(ANN);
  for (const table of ["main", "history"])
    expect([table, await texts(`SELECT concat_ws(' ', endpoint, input, _extra) FROM ${table}.usage_requests`)]).toEqual(
      [
        table,
        ['/v1/contacts/forgotten:h1 {"contactId":"forgotten:h1"} {"of":"forgotten:h1","big":12345678901234567890}'],
      ],
    );
});

test("an escaped id leaves rejected records of the request history and drift values; those of others stay", async () => {
  const [id, form] = ["ada.lovelace@example.com", "ada.lovelace%40example.com"];
  for (const path of [form, "bea%40example.com"]) {
    await database.run(
      `INSERT INTO sync.rejects (rejected_at, run_id, request_id, stream, table_name, position, reason, record)
       VALUES (${AT}, 'r', 'q', 'usage_requests', 'usage_requests', 0, 'no id', '{"endpoint":"GET \\/v1\\/contacts\\/${path}"}')`,
    );
    await database.run(
      `INSERT INTO sync.schema_drift VALUES ('usage_requests', 'endpoint', 'new_value', '/v1/contacts/${path}', 1, ${AT}, ${AT}, 'r')`,
    );
  }
  await forget({ id, hash: "h1", traces: [{ kind: "id", text: id }] });
  expect(await texts("SELECT record ->> 'endpoint' FROM sync.rejects ORDER BY 1")).toEqual([
    "GET /v1/contacts/bea%40example.com",
    "GET /v1/contacts/forgotten:h1",
  ]);
  expect(await texts("SELECT detail FROM sync.schema_drift")).toEqual(["/v1/contacts/bea%40example.com"]);
});

test("results of the user's checks keep no sample, whatever their status", async () => {
  for (const status of ["failed", "broken"])
    await database.run(
      `INSERT INTO sync.checks ("check", severity, status, sample, "at") VALUES ('${status}', 'error', '${status}', '"ann@a.example"', ${AT})`,
    );
  await forget(ANN);
  expect(
    await texts("SELECT \"check\" || coalesce(CAST(sample AS VARCHAR), ': none') FROM sync.checks ORDER BY ALL"),
  ).toEqual(["broken: none", "failed: none"]);
});

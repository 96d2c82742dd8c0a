// Columns that hold no value anywhere: left out of statements, without a trace in what is answered.
import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { createFilledColumns, type FilledColumns } from "../../../../src/replica/cache/list-cache.ts";
import type { Reader } from "../../../../src/replica/reader.ts";
import { aMirror, ask } from "../rig.ts";

const database = await aMirror();
// A subtype in one row only; an empty text and an empty `_extra` are values.
await database.run(`INSERT INTO main.signals (id, organization_id, account_id, type, headline, description, subtype, date, _extra, _first_synced_at, _synced_at, _run_id)
  SELECT i, 'o', i % 3, 'podcast', 'h' || i, '', CASE WHEN i = 77 THEN 'late' END, TIMESTAMPTZ '2026-01-01' + to_hours(i),
    CASE WHEN i = 5 THEN '{"new":1}' END, now(), now(), 'r' FROM range(100) r(i)`);

/** A reader, the statements that read columns, and the promise of each. */
const spied = () => {
  const statements: string[] = [];
  const running: Promise<unknown>[] = [];
  const reader: Reader = {
    query: (sql, params, row) => database.query(sql, params, row),
    cells: (sql, params) => {
      statements.push(sql);
      const rows = database.cells(sql, params);
      running.push(rows);
      return rows;
    },
  };
  return { reader, statements, running };
};

/** The columns of a reader that has read signals often enough, once they are looked up. */
const known = async (reader: Reader, running: readonly Promise<unknown>[]): Promise<FilledColumns> => {
  const columns = createFilledColumns(reader);
  for (let read = 0; read < 10; read += 1) await ask(reader, "/v1/signals/1", {}, { columns });
  await Promise.all(running);
  await setImmediate();
  return columns;
};

test("answers are the same to the byte without the columns that hold no value", async () => {
  const { reader, running } = spied();
  const columns = await known(reader, running);
  const asked: [path: string, query?: Record<string, string>][] = [
    ["/v1/signals", { perPage: "100" }],
    ["/v1/signals", { perPage: "7", page: "3", sortBy: "headline", include: "account" }],
    ["/v1/signals", { onlyWithFields: "id,subtype,fullContent" }],
    ["/v1/signals", { sortBy: "subtype" }],
    ["/v1/signals/77"],
    ["/v1/signals/5"],
  ];
  for (const [path, query] of asked) {
    expect(await ask(reader, path, query, { columns })).toBe(await ask(database, path, query));
  }
});

test("after ten reads of a table, empty columns are no longer read, and columns with one value are", async () => {
  const { reader, statements, running } = spied();
  const columns = await known(reader, running);
  expect(statements.filter((sql) => sql.includes("EXISTS"))).toHaveLength(1);
  expect(statements[0]).toContain(`t."full_content"`);
  await ask(reader, "/v1/signals/1", {}, { columns });
  expect(statements.at(-1)).not.toContain(`t."full_content"`);
  expect(statements.at(-1)).toContain(`t."subtype"`);
  expect(statements.at(-1)).toContain("t._extra");
});

test("a table whose columns cannot be looked up is read with all of them", async () => {
  const { reader, statements, running } = spied();
  const failing: Reader = {
    ...reader,
    cells: (sql, params) =>
      sql.includes("EXISTS") ? Promise.reject(new TypeError("busy")) : reader.cells(sql, params),
  };
  const columns = await known(failing, running);
  await ask(failing, "/v1/signals/1", {}, { columns });
  expect(statements.at(-1)).toContain(`t."full_content"`);
});

// What users change at a destination: their own columns stay; a column or table that they took away comes back with the next
// change; what they edited comes back with --take-over; what cannot be merged is an error that names the table. Shows P44.
import { expect, test } from "vitest";
import { z } from "zod";
import { seededRandom } from "../support/chance.ts";
import { change } from "../support/change-mirror.ts";
import { forFile } from "../support/for-file.ts";
import { startPostgres } from "../support/postgres.ts";
import { aFolder, catalogUrl, deliver, differences, type LakeCall, report, withReader } from "./a-lake.ts";
import { addContacts } from "./erasing.ts";
import { commitSignals, dumpOf } from "./moving-mirror.ts";
import { dumpPostgres, rowsIn } from "./read-postgres.ts";

const server = await forFile(startPostgres());

const random = seededRandom(5);
const moveSignals = (dataDir: string, count = 5) =>
  change(dataDir, (warehouse) => commitSignals(warehouse, 1, count, random));

const delivered = async (call: LakeCall) =>
  Object.fromEntries((await deliver(call)).tables.map((table) => [table.table, table]));

const sql = (text: string) => rowsIn(server.url, text);

/** Tables whose rows in Postgres are others than those of the snapshot, columns of users left aside. */
const differing = async (dataDir: string): Promise<readonly string[]> => {
  await sql("ALTER TABLE duckmirror.signals DROP COLUMN IF EXISTS mine");
  const { dump } = await dumpPostgres(server.url);
  const wanted = Object.entries(await dumpOf(dataDir));
  const isOther = ([table, { columns, rows }]: (typeof wanted)[number]): boolean => {
    const held = dump[table];
    // A column that comes back is the last one.
    const places = columns.map((column) => held?.columns.indexOf(column) ?? -1);
    const found = held?.rows.map((row) => {
      const cells = z.array(z.unknown()).parse(JSON.parse(row));
      return JSON.stringify(places.map((place) => cells[place]));
    });
    return held?.columns.length !== columns.length || JSON.stringify(found?.sort()) !== JSON.stringify(rows);
  };
  return wanted.filter(isOther).map(([table]) => table);
};

/** A mirror that was delivered to Postgres, where then a user ran `altered`, and moved since. */
const alteredPostgres = async (altered: string) => {
  await sql("DROP SCHEMA IF EXISTS duckmirror CASCADE");
  const dataDir = aFolder();
  await moveSignals(dataDir, 9);
  const call = { dataDir, settings: { kind: "postgres", url: server.url, extension_directory: undefined } };
  await delivered(call);
  await sql(altered);
  await moveSignals(dataDir);
  return { dataDir, call };
};

test.each([
  ["a column of a user", "ALTER TABLE duckmirror.signals ADD COLUMN mine text DEFAULT 'x'", "changes"],
  ["a dropped column", "ALTER TABLE duckmirror.signals DROP COLUMN headline", "whole"],
  ["a renamed column", "ALTER TABLE duckmirror.signals RENAME COLUMN headline TO mine", "whole"],
  ["a dropped table", "DROP TABLE duckmirror.signals", "whole"],
  ["a dropped schema", "DROP SCHEMA duckmirror CASCADE", "whole"],
])("Postgres, %s: the next delivery brings what is missing", async (_, altered, extent) => {
  const { dataDir, call } = await alteredPostgres(altered);
  expect((await delivered(call)).signals?.extent).toBe(extent);
  expect(await differing(dataDir)).toEqual([]);
});

test("Postgres, edited and deleted rows: --take-over brings them back, also when the mirror has not changed since", async () => {
  const { dataDir, call } = await alteredPostgres("SELECT 1");
  await delivered(call);
  await sql(
    "DELETE FROM duckmirror.signals WHERE id < 3; UPDATE duckmirror.signals SET headline = 'mine' WHERE id = 4",
  );
  expect(await delivered(call)).toEqual({});
  expect(await differing(dataDir)).toEqual(["signals"]);
  expect((await delivered({ ...call, takeOver: true })).signals).toMatchObject({ extent: "whole", written: 3 });
  expect(await differing(dataDir)).toEqual([]);
});

test.each([
  ["a type", "ALTER TABLE duckmirror.signals ALTER COLUMN headline TYPE varchar(3) USING left(headline, 3)"],
  ["a key", "ALTER TABLE duckmirror.signals DROP CONSTRAINT signals_pkey"],
  [
    "a duty",
    "ALTER TABLE duckmirror.signals ADD COLUMN mine int; ALTER TABLE duckmirror.signals ADD CHECK (mine IS NOT NULL) NOT VALID",
  ],
])(
  "Postgres, %s that rows do not fit: the error names the table, and nothing changes; without the table the delivery ends well",
  async (_, altered) => {
    const { dataDir, call } = await alteredPostgres(altered);
    const before = await dumpPostgres(server.url);
    const { error } = await report(call);
    expect(error).toMatchObject({ code: "DESTINATION_FAILED", message: expect.stringContaining("table signals: ") });
    expect(await dumpPostgres(server.url)).toEqual(before);
    await sql("DROP TABLE duckmirror.signals");
    await delivered(call);
    expect(await differing(dataDir)).toEqual([]);
  },
);

/** Runs a user's statements in the lake. */
const inLake = (at: string, statements: readonly string[]) =>
  withReader(at, async (run) => {
    await run("DETACH lake");
    await run(`ATTACH '${catalogUrl("sqlite").replace("lake/", `${at}/lake/`)}' AS lake`);
    for (const one of statements) await run(one);
    await run("DETACH lake");
  });

test("a lake: a dropped table and a dropped column come back with the next change, edited rows with --take-over", async () => {
  const dataDir = aFolder();
  await moveSignals(dataDir, 9);
  await addContacts(dataDir, ["contact-1", "contact-2"]);
  const call = { dataDir };
  await delivered(call);
  await inLake(dataDir, ["DROP TABLE lake.main.accounts", "ALTER TABLE lake.main.contacts DROP COLUMN email"]);
  await moveSignals(dataDir);
  await delivered(call);
  expect(await differences(dataDir, dataDir)).toEqual({});
  await inLake(dataDir, [
    "DELETE FROM lake.main.signals WHERE id < 3",
    "UPDATE lake.main.signals SET headline = 'mine' WHERE id = 4",
  ]);
  expect(await delivered(call)).toEqual({});
  expect(Object.keys(await differences(dataDir, dataDir))).toEqual(["signals"]);
  await delivered({ ...call, takeOver: true });
  expect(await differences(dataDir, dataDir)).toEqual({});
});

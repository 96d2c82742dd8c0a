// Files from elsewhere: what their catalog holds is judged in the fenced process, before anything binds it.
import { copyFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { openDatabase } from "../../../../src/warehouse/duckdb/database.ts";
import { openSnapshot } from "../../../../src/warehouse/read/query.ts";
import { assertForeignCatalog, assertOwnCatalog } from "../../../../src/warehouse/user-sql/trusted-files.ts";
import { change } from "../../../support/change-mirror.ts";
import { dirForFile, tempDir } from "../temp-dir.ts";

const dir = dirForFile();
const snapshot = join(dir, "warehouse.duckdb");
beforeAll(() => change(dir, async () => undefined));

const planted = async (sql: string): Promise<string> => {
  const folder = tempDir();
  const file = join(folder, "warehouse.duckdb");
  copyFileSync(snapshot, file);
  const database = await openDatabase(file);
  await database.run(sql);
  await database.close();
  return file;
};

test("a mirror's own snapshot passes, by its note and without it", async () => {
  expect(readFileSync(join(dir, "state", "published"), "utf8")).toMatch(/^\d+ \d+ \d+ \d+\n$/);
  await assertOwnCatalog(snapshot);
  const copy = join(tempDir(), "copy.duckdb");
  copyFileSync(snapshot, copy);
  await assertForeignCatalog(copy);
});

// Three of a kind in one file: its refusal names three. Entries are read only where no view or macro is refused.
test.each([
  {
    "view main.planted": "CREATE VIEW main.planted AS SELECT 1",
    "view main.contacts": "DROP TABLE main.contacts; CREATE VIEW main.contacts AS SELECT 1 AS id",
    "view marts.freshness": "CREATE OR REPLACE VIEW marts.freshness AS FROM read_text('/etc/passwd')",
  },
  {
    "view marts.p": "CREATE VIEW marts.p AS SELECT lag(1, -9223372036854775808) OVER ()",
    "view marts.q": "CREATE VIEW marts.q AS SELECT (any_value('a'::BLOB) EXPORT_STATE)::BLOB",
    "view marts.r AS SELECT 1 --": "CREATE VIEW marts.\"r AS SELECT 1 --\" AS SELECT getvariable('x')",
  },
  {
    "view marts.p": "CREATE VIEW marts.p(\"x AS SELECT 1 --\") AS SELECT getvariable('x')",
    "macro main.lower": "CREATE MACRO main.lower(x) AS getvariable(x)",
    "macro as_of.p": "CREATE MACRO as_of.p() AS TABLE FROM read_text('/etc/passwd')",
  },
  {
    "macro main.lower": "CREATE MACRO main.lower(x) AS x",
    "macro as_of.p": "CREATE MACRO as_of.p(moment) AS TABLE SELECT 1 AS x",
  },
  {
    "column main.p.a": "CREATE TABLE main.p (a VARCHAR DEFAULT getvariable('x'))",
    "table main.q with a check or a generated column": "CREATE TABLE main.q (a INTEGER, b AS (a + 1))",
    "table main.r with a check or a generated column": "CREATE TABLE main.r (a INTEGER CHECK (a > 1))",
  },
  {
    "index main.i": "CREATE INDEX i ON main.contacts (id)",
    "sequence main.s": "CREATE SEQUENCE main.s",
    "type main.mood": "CREATE TYPE main.mood AS ENUM ('a')",
  },
  {
    "name a": 'CREATE TABLE main."a"" AS t, glob(\'/etc/*\') AS ""b" (x INTEGER)',
    "name x), (SELECT 1": 'CREATE TABLE main.p ("x), (SELECT 1" INTEGER)',
  },
  {
    "view marts.p (unlike": "CREATE VIEW marts.p AS SELECT count(*) AS n FROM range(1000000000000) AS t",
    "view marts.freshness (unlike":
      "CREATE OR REPLACE VIEW marts.freshness AS SELECT count(*) AS n FROM range(1000000000000) AS t",
    "macro as_of.contacts (unlike":
      "CREATE OR REPLACE MACRO as_of.contacts(moment) AS TABLE SELECT * FROM main.contacts",
  },
])("refused, each with its name: %j", async (plants: Readonly<Record<string, string>>) => {
  const file = await planted(Object.values(plants).join("; "));
  const error: unknown = await openSnapshot(file).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: "CATALOG_REFUSED" });
  for (const name of Object.keys(plants)) expect(String(error)).toContain(name);
});

test("a note that came along with a file does not vouch for it", async () => {
  const file = await planted("CREATE VIEW main.planted AS SELECT 1");
  mkdirSync(join(file, "..", "state"), { recursive: true });
  copyFileSync(join(dir, "state", "published"), join(file, "..", "state", "published"));
  await expect(openSnapshot(file)).rejects.toMatchObject({ code: "CATALOG_REFUSED" });
});

test("a file that is to become a working file may hold other views: they are made anew before anything binds them", async () => {
  const slow = "SELECT count(*) AS n FROM range(1000000000000) AS t";
  const file = await planted(`CREATE OR REPLACE VIEW marts.freshness AS ${slow}; CREATE VIEW marts.p AS ${slow}`);
  await assertForeignCatalog(file);
  await expect(assertOwnCatalog(file)).rejects.toMatchObject({ code: "CATALOG_REFUSED" });
  const folder = tempDir();
  mkdirSync(join(folder, "state"), { mode: 0o700 });
  copyFileSync(file, join(folder, "state", "working.duckdb"));
  await change(folder, async () => undefined);
  const published = join(folder, "warehouse.duckdb");
  const copy = join(tempDir(), "copy.duckdb");
  copyFileSync(published, copy);
  const database = await openSnapshot(copy);
  expect(await database.cells("SELECT count(*) > 10 FROM marts.freshness", [])).toEqual([[true]]);
  await database.close();
});

test("more tables, with any plain name and constant defaults, are no harm", async () => {
  const file = await planted("CREATE TABLE main.more (a INTEGER DEFAULT 7, b VARCHAR[], c STRUCT(d JSON))");
  await assertOwnCatalog(file);
  expect(existsSync(`${file}.wal`)).toBe(false);
});

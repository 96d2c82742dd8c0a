import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { TABLE_NAMES } from "../../../../../src/catalog/tables.ts";
import { systemClock } from "../../../../../src/core/clock.ts";
import { openDatabase } from "../../../../../src/warehouse/duckdb/database.ts";
import { migrate } from "../../../../../src/warehouse/file/migrate.ts";
import { aFolder, cli } from "../../../../support/cli.ts";

const NOW = Date.UTC(2025, 5, 2);

const aMirror = async () => {
  const cwd = aFolder();
  const dataDir = join(cwd, "data");
  const database = await openDatabase(join(cwd, "warehouse.duckdb"), { threads: 1 });
  await migrate(database, NOW);
  await database.run(
    `INSERT INTO main.contacts (id, first_name, _synced_at) VALUES ('a', '=1+1', '2025-06-01 12:00:00Z'), ('b', 'Bo', '2025-01-01');`,
  );
  await database.close();
  return { cwd, dataDir, args: ["--data-dir", cwd] };
};

test("export writes Parquet below the data directory, says what it wrote, and says the second time that nothing changed", async () => {
  const { cwd, args } = await aMirror();
  // Signals have a file per month, and there are none.
  const first = await cli(["export", ...args]);
  expect(first).toMatchObject({ code: 0, err: "" });
  expect(first.out).toContain(`${TABLE_NAMES.length - 1} files written`);
  expect(existsSync(join(cwd, "export/contacts/contacts.parquet"))).toBe(true);
  const second = await cli(["export", "--json", ...args]);
  expect(JSON.parse(second.out)).toMatchObject({
    dir: join(cwd, "export"),
    format: "parquet",
    run_id: null,
    files: { written: 0, kept: TABLE_NAMES.length - 1, removed: 0 },
    rows: 2,
    bytes_written: 0,
  });
});

test("export takes tables, folder, format and formula guard", async () => {
  const { cwd, args } = await aMirror();
  const options = ["--tables", "contacts, history.contacts", "--dir", "sheets", "--format", "csv", "--guard-formulas"];
  expect(await cli(["export", ...options, ...args], { cwd })).toMatchObject({ code: 0 });
  expect(readFileSync(join(cwd, "sheets/contacts/contacts.csv"), "utf8")).toContain(",'=1+1,");
});

test("--since takes a time or an age", async () => {
  const { cwd, args } = await aMirror();
  const clock = { ...systemClock, now: () => NOW };
  for (const [since, rows] of [
    ["24h", 1],
    ["2025-01-01", 2],
    ["2025-06-01T12:00:00.000001Z", 0],
  ] as const) {
    const run = await cli(["export", "--since", since, "--dir", since, "--tables", "contacts", "--json", ...args], {
      cwd,
      clock,
    });
    expect(JSON.parse(run.out)).toMatchObject({ rows });
  }
});

test.each([
  [["--format", "xlsx"], "xlsx"],
  [["--since", "24h"], "--dir"],
  [["--since", "soon", "--dir", "x"], "soon"],
  [["--guard-formulas"], "--format csv"],
  [["--tables", "contact"], "Did you mean contacts"],
])("export %j is a usage error that names what is wrong", async (options, names) => {
  const { cwd, args } = await aMirror();
  const { code, err } = await cli(["export", ...options, ...args], { cwd });
  expect(code).toBe(2);
  expect(err).toContain(names);
});

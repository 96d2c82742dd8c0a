// Erasing a contact from a mirror whose rows are written here, without a sync.
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { systemClock } from "../../../../src/core/clock.ts";
import { isCode } from "../../../../src/core/errors.ts";
import { exportSnapshot } from "../../../../src/warehouse/export/export.ts";
import { rememberExport } from "../../../../src/warehouse/export/manifest.ts";
import { type ForgetRequest, forgetContacts } from "../../../../src/warehouse/forget/forget.ts";
import { keptFile, keptSnapshots } from "../../../../src/warehouse/read/kept-snapshots.ts";
import { runQuery } from "../../../../src/warehouse/read/query.ts";
import { change } from "../../../support/change-mirror.ts";
import { readParquet } from "../export-set.ts";
import { tempDir } from "../temp-dir.ts";

const ID = "7f3a1c52-person";

/** A published mirror with one contact, and what `sql` adds. */
const aMirror = async (sql = ""): Promise<string> => {
  const dataDir = tempDir();
  await change(dataDir, ({ database }) =>
    database.run(`INSERT INTO main.contacts (id, email, _synced_at, _run_id) VALUES
      ('${ID}', 'ada@lovelace.example', '2026-11-01', 'r1'), ('somebody-else', NULL, '2026-11-01', 'r1'); ${sql}`),
  );
  return dataDir;
};

const forget = (dataDir: string, more: Partial<ForgetRequest> = {}) =>
  forgetContacts(
    { dataDir, clock: systemClock },
    {
      ids: [ID],
      emails: [],
      all: false,
      exportDirs: [],
      bodies: () => ({ contacts: () => [], clean: () => null }),
      onStep: () => undefined,
      ...more,
    },
  );

const exported = async (dataDir: string, dir: string, tables: readonly string[]) =>
  exportSnapshot({
    snapshot: join(dataDir, "warehouse.duckdb"),
    dir,
    format: "parquet",
    tables,
    since: null,
    guardFormulas: false,
  });

test("an export of the service's request history is written again without the erased contact's id", async () => {
  const dataDir = await aMirror(`INSERT INTO main.usage_requests (id, endpoint, _synced_at, _run_id)
    VALUES (1, 'GET /v1/contacts/${ID}', '2026-11-01', 'r1');`);
  const dir = join(tempDir(), "lake");
  await exported(dataDir, dir, ["contacts", "usage_requests"]);
  const { scan } = await forget(dataDir, { exportDirs: [dir] });
  expect(scan.left).toEqual([]);
  const files = join(dir, "usage_requests/*.parquet");
  const [row] = await readParquet(`SELECT endpoint FROM read_parquet('${files}')`, z.object({ endpoint: z.string() }));
  expect(row?.endpoint).toMatch(/^GET \/v1\/contacts\/forgotten:[0-9a-f]{64}$/);
});

test("what a killed export left in a folder goes, although the folder holds no export yet", async () => {
  const dataDir = await aMirror();
  const dir = join(tempDir(), "lake");
  mkdirSync(join(dir, ".staging"), { recursive: true });
  writeFileSync(join(dir, ".staging/0.part"), ID);
  await rememberExport(dataDir, dir);
  await forget(dataDir);
  expect(existsSync(join(dir, ".staging"))).toBe(false);
});

test("a folder that is named and holds no export is refused before anything is erased", async () => {
  const dataDir = await aMirror();
  const typo = join(tempDir(), "lkae");
  await expect(forget(dataDir, { exportDirs: [typo] })).rejects.toSatisfy((error) => isCode(error, "USAGE"));
  expect(existsSync(join(dataDir, "state/archive/forgotten.json"))).toBe(false);
});

test("an export that is not found is named in the report, because it may be back tomorrow", async () => {
  const dataDir = await aMirror();
  await rememberExport(dataDir, "/mnt/duckmirror-test-away/lake");
  expect(await forget(dataDir)).toMatchObject({ exports: [], missing: ["/mnt/duckmirror-test-away/lake"] });
});

test("a copy that a killed backup left beside the mirror goes", async () => {
  const dataDir = await aMirror();
  const copy = join(dataDir, "state/backup-on-its-way-7");
  mkdirSync(copy);
  copyFileSync(join(dataDir, "warehouse.duckdb"), join(copy, "warehouse.duckdb"));
  expect((await forget(dataDir)).removed).toContain(copy);
  expect(existsSync(copy)).toBe(false);
});

const EMAIL_ID = "ada.lovelace@example.com";
const FORMS = ["ada.lovelace%40example.com", "ada.lovelace%2540example.com", EMAIL_ID];

test("an id that URLs escape leaves ledger and request history of both databases in every form", async () => {
  const requests = FORMS.map(
    (form, at) =>
      `('q${at}', 'r1', 'contacts', '', 'getContact', '/v1/contacts/${form}', 'spent', '2026-11-01', 1, 1, 1, 1)`,
  );
  const history = FORMS.map((form, at) => `(${at}, 'GET /v1/contacts/${form}', '2026-11-01', 'r1')`);
  const dataDir = await aMirror(`INSERT INTO sync.requests
      (request_id, run_id, stream, scope, endpoint, url, charge, started_at, duration_ms, bytes, rows, attempt)
      VALUES ${requests.join(", ")};
    INSERT INTO main.usage_requests (id, endpoint, _synced_at, _run_id) VALUES ${history.join(", ")};`);
  const { scan } = await forget(dataDir, { ids: [EMAIL_ID] });
  expect(scan.left).toEqual([]);
  for (const file of ["warehouse.duckdb", "state/working.duckdb"]) {
    const bytes = readFileSync(join(dataDir, file));
    for (const form of [...FORMS, "ada.lovelace"])
      expect([file, form, bytes.includes(form)]).toEqual([file, form, false]);
  }
});

test("an escaped id in a record that nothing erases is an error, which names the table", async () => {
  const dataDir = await aMirror(`INSERT INTO main.accounts (id, description, _synced_at, _run_id)
    VALUES (1, 'see /v1/contacts/ada.lovelace%40example.com', '2026-11-01', 'r1');`);
  const forgotten = forget(dataDir, { ids: [EMAIL_ID] });
  await expect(forgotten).rejects.toSatisfy((error) => isCode(error, "FORGET_INCOMPLETE"));
  await expect(forgotten).rejects.toThrow("main.accounts");
});

test("kept snapshots that hold the contact go and are named; those without the contact stay", async () => {
  const dataDir = tempDir();
  const snapshot = join(dataDir, "warehouse.duckdb");
  const publish = (sql: string) =>
    change(dataDir, ({ database }) => database.run(sql), { keepSnapshots: { count: 10, ageMs: null } });
  const row = (id: string) =>
    `INSERT INTO main.contacts (id, _synced_at, _run_id) VALUES ('${id}', '2026-11-01', 'r1')`;
  await publish(row("somebody-else"));
  await publish(row(ID));
  await publish(row("a-third-one"));
  const { removed, scan } = await forget(dataDir);
  expect(removed).toContain(keptFile(snapshot, 2));
  expect(scan.left).toEqual([]);
  // The third was the present one: it was replaced.
  expect((await keptSnapshots(snapshot)).map(({ n }) => n)).toEqual([4, 1]);
  for (const n of [2, 3]) expect(existsSync(keptFile(snapshot, n))).toBe(false);
  for (const { path } of await keptSnapshots(snapshot)) {
    const { rows } = await runQuery({ snapshot: path, sql: `SELECT count(*) FROM contacts WHERE id = '${ID}'` });
    expect(rows).toEqual([[0]]);
  }
});

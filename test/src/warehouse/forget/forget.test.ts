// Erasing a contact from a mirror whose rows are written here, without a sync.
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { systemClock } from "../../../../src/core/clock.ts";
import { exportSnapshot } from "../../../../src/warehouse/export/export.ts";
import { type ForgetRequest, forgetContacts } from "../../../../src/warehouse/forget/forget.ts";
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

import { expect, test } from "vitest";
import { LEDGER_TABLES } from "../../../../src/catalog/ledger-tables.ts";
import { TABLE_NAMES } from "../../../../src/catalog/tables.ts";
import { exportTables, fingerprintSql } from "../../../../src/warehouse/export/tables.ts";

const labels = (names: readonly string[], before: readonly string[] = []) =>
  exportTables(names, before).map(({ label }) => label);

test("without names the tables of main are exported, and those that the folder holds already, each once", () => {
  expect(labels([])).toEqual([...TABLE_NAMES]);
  expect(labels([], ["history.signals", "signals", "gone_since"])).toEqual([...TABLE_NAMES, "history.signals"]);
  expect(labels(["sync"])).toEqual(LEDGER_TABLES.map(({ name }) => `sync.${name}`));
});

test("a fingerprint covers what identifies a version, without columns that an older snapshot lacks", () => {
  const all = ["id", "_synced_at", "_run_id", "_in_scope", "title"].map((name) => ({ name, type: "VARCHAR" }));
  const [signals] = exportTables(["signals"], []);
  if (signals === undefined) throw new TypeError("no signals");
  expect(fingerprintSql(signals, all)).toContain('hash("id", "_synced_at", "_run_id", "_in_scope")');
  expect(fingerprintSql(signals, all.slice(0, 3))).toContain('hash("id", "_synced_at", "_run_id")');
});

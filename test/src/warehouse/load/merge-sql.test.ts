// The generated upsert, pinned: a change of it shows as a change of the golden file.
import { expect, test } from "vitest";
import type { TableName } from "../../../../src/catalog/tables.ts";
import { mergeSql } from "../../../../src/warehouse/load/load-batch.ts";

/** Every statement of a table's merge, one per paragraph, wrapped for reading. */
const written = (table: TableName, keptMask: bigint) => {
  const sql = mergeSql(table);
  const ranges = [
    { from: 0n, to: 9n },
    { from: 90_000n, to: 90_005n },
  ];
  const statements = [
    sql.createStage,
    sql.isLarge,
    sql.find,
    sql.oldByKeys,
    sql.oldInRanges(ranges),
    sql.noOld,
    sql.createChanged(keptMask),
    sql.storedExtra,
    sql.insertedByLoad,
    sql.updatedByLoad,
    sql.reordered,
    sql.copyOldToHistory("7"),
    sql.newRows,
    sql.deleteChanged.keys,
    sql.deleteChanged.range,
    sql.insertChanged,
    sql.insertNew,
  ];
  return `${statements.map((statement) => statement.replaceAll(", ", ",\n  ")).join(";\n\n")};\n`;
};

test("a table kept per company, two fields of which were not asked for", async () => {
  await expect(written("earnings_calls", 0b11_0000_0000n)).toMatchFileSnapshot("golden/merge-earnings_calls.sql");
});

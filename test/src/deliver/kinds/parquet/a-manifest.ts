// A manifest of a delivered set.
import type { SetEntry, SetManifest } from "../../../../../src/deliver/kinds/parquet/parquet-set.ts";

export const aPart = (table: string, file: string): SetEntry => ({
  ...{ file, table, partition: null, rows: 1, bytes: 10, sha256: "0", run: null, fingerprint: file },
});

/** `parts`: table -> files of its parts. */
export const aManifest = (delivery: string, parts: Readonly<Record<string, readonly string[]>>): SetManifest => ({
  version: 1,
  format: "parquet",
  delivery,
  delivered: { mirror: "m", n: 1, mark: "" },
  run: null,
  tables: Object.keys(parts),
  files: Object.entries(parts).flatMap(([table, files]) => files.map((file) => aPart(table, file))),
  retired: [],
  swept: "2026-01-01T00:00:00.000Z",
});

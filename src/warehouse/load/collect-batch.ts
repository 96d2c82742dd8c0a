// Merges all loads of one table in a commit into distinct rows, rejects, drift and seen keys. Pure.
// If a key occurs twice, the later record wins; a field it was not asked for keeps the earlier value. If one answer
// holds two different records with the same key, neither is newer: the one that loses is kept as a reject.
import { type TableName, type TableSpec, tableSpec } from "../../catalog/tables.ts";
import type { Strictness } from "../../core/config/field-settings.ts";
import { forgottenHash } from "../../core/forgotten.ts";
import { exactJson, type JsonValue } from "../../core/json.ts";
import type { TableLoad } from "../record/checkpoint.ts";
import type { ExtraEntries } from "../record/json-text.ts";
import { createNormalizer, type Drift, misfitOf, type NormalRow, type Reject } from "../record/normalize-record.ts";

/** Kinds of drift noted per batch, so that an enumeration that became free text does not fill the warehouse. */
const MOST_DRIFT = 200;

/** A load with its index in the checkpoint. */
export interface PlacedLoad {
  readonly load: TableLoad;
  readonly index: number;
}

export interface BatchRow {
  readonly row: NormalRow;
  /** Index of the load that counts this row. */
  readonly loadIndex: number;
  readonly receivedAt: number;
}

export interface BatchReject {
  readonly reject: Reject;
  readonly load: TableLoad;
  /** Place of the record in its load, from 0. */
  readonly position: number;
  /** True: the walk counts its key as seen, so the row it would have replaced stays. */
  readonly seen: boolean;
}

export interface SeenKey {
  readonly walkId: string;
  /** `` where the table's key has no company. */
  readonly companyId: string;
  readonly id: string;
}

export interface CountedDrift extends Drift {
  occurrences: number;
}

export interface TableBatch {
  readonly table: TableName;
  readonly rows: readonly BatchRow[];
  readonly rejects: readonly BatchReject[];
  readonly drift: readonly CountedDrift[];
  readonly seen: readonly SeenKey[];
  /** Loads whose rows only refresh stored ones (`TableLoad.knownOnly`). */
  readonly knownOnly: ReadonlySet<number>;
}

/**
 * Content of `_extra` after `later` is received over `stored`. Entries stay for fields that `later` neither holds nor
 * was asked for; unknown fields stay too when `later` is a partial (embedded) record.
 */
export const mergeExtra = (spec: TableSpec, stored: ExtraEntries, later: NormalRow): ExtraEntries => {
  const merged = new Map<string, string>();
  for (const [name, text] of stored) {
    const index = spec.fields.findIndex((field) => field.name === name);
    const stays = index >= 0 ? (later.kept >> BigInt(index)) & 1n : !later.full;
    if (stays) merged.set(name, text);
  }
  for (const [name, text] of later.extra) merged.set(name, text);
  return merged;
};

/** Combines two records with one key as if `earlier` had been committed before `later`. */
const fold = (spec: TableSpec, earlier: NormalRow, later: NormalRow): NormalRow => ({
  ...later,
  cells: later.cells.map((cell, index) => ((later.kept >> BigInt(index)) & 1n ? (earlier.cells[index] ?? null) : cell)),
  kept: later.kept & earlier.kept,
  full: later.full || earlier.full,
  extra: mergeExtra(spec, earlier.extra, later),
});

/** Key of a row as a walk stores it: company and id. */
const seenKey = (spec: TableSpec, row: NormalRow, walkId: string): SeenKey => {
  const cellOf = (column: string | undefined) =>
    String(row.cells[spec.fields.findIndex((field) => field.column === column)] ?? "");
  const companyId = spec.key[0] === "company_id" ? cellOf("company_id") : "";
  return { walkId, companyId, id: cellOf(spec.key.at(-1)) };
};

interface Collecting {
  readonly spec: TableSpec;
  readonly rows: Map<string, BatchRow>;
  readonly rejects: BatchReject[];
  readonly drift: Map<string, CountedDrift>;
  readonly seen: Map<string, SeenKey>;
  readonly knownOnly: ReadonlySet<number>;
}

const noteDrift = ({ drift }: Collecting, entry: Drift): void => {
  const id = `${entry.kind}\n${entry.field}\n${entry.detail}`;
  const known = drift.get(id);
  if (known !== undefined) known.occurrences += 1;
  else if (drift.size < MOST_DRIFT) drift.set(id, { ...entry, occurrences: 1 });
};

/** The record at `earlier` loses its key to a later one of the same answer; the same record twice loses nothing. */
const rejectEarlier = ({ rejects }: Collecting, load: TableLoad, earlier: number, record: JsonValue): void => {
  const lost = exactJson(load.records[earlier] ?? null);
  if (lost === exactJson(record)) return;
  const reason = "another record of the same answer has this key";
  rejects.push({ reject: { kind: "reject", reason, record: lost }, load, position: earlier, seen: false });
};

/** True unless a record of the row's own list is there already, which is no older, whichever came first. */
const mergeRow = ({ spec, rows, knownOnly }: Collecting, row: NormalRow, load: TableLoad, index: number): boolean => {
  const before = rows.get(row.keyText);
  if (load.knownOnly && before !== undefined && !knownOnly.has(before.loadIndex)) return false;
  const merged = before === undefined ? row : fold(spec, before.row, row);
  rows.set(row.keyText, { row: merged, loadIndex: index, receivedAt: load.receivedAt });
  return true;
};

const collectLoad = (collecting: Collecting, { load, index }: PlacedLoad, strictness: Strictness): void => {
  const { spec, rejects, seen } = collecting;
  const normalize = createNormalizer(load.table, load);
  const places = new Map<string, number>();
  for (const [position, record] of load.records.entries()) {
    // A placeholder for an erased contact is neither a row nor a reject.
    if (forgottenHash(record) !== null) continue;
    const row = normalize(record);
    if (row.kind === "reject") {
      rejects.push({ reject: row, load, position, seen: false });
      continue;
    }
    const misfit = strictness === "reject" ? misfitOf(row) : null;
    if (misfit === null) {
      const earlier = places.get(row.keyText);
      places.set(row.keyText, position);
      if (earlier !== undefined) rejectEarlier(collecting, load, earlier, record);
      if (!mergeRow(collecting, row, load, index)) continue;
    } else {
      const reject = { kind: "reject", reason: misfit, record: exactJson(record) } as const;
      rejects.push({ reject, load, position, seen: load.walkId !== null });
    }
    for (const entry of row.drift) noteDrift(collecting, entry);
    if (load.walkId !== null) seen.set(`${load.walkId}\n${row.keyText}`, seenKey(spec, row, load.walkId));
  }
};

/** `loads`: loads of this table in the order received. */
export const collectBatch = (
  table: TableName,
  loads: readonly PlacedLoad[],
  strictness: Strictness = "evolve",
): TableBatch => {
  const knownOnly = new Set<number>();
  for (const { load, index } of loads) if (load.knownOnly) knownOnly.add(index);
  const collecting: Collecting = {
    spec: tableSpec(table),
    rows: new Map(),
    rejects: [],
    drift: new Map(),
    seen: new Map(),
    knownOnly,
  };
  for (const load of loads) collectLoad(collecting, load, strictness);
  const { rows, rejects, drift, seen } = collecting;
  return {
    table,
    rows: [...rows.values()],
    rejects,
    drift: [...drift.values()],
    seen: [...seen.values()],
    knownOnly,
  };
};

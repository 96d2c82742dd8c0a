// Erases people from the working database: their rows and versions, rejected records, and their ids in the ledger, in
// cursors and in the service's request history. SQL is generated where the table varies; every value is bound.
import { z } from "zod";
import type { IdEraser } from "../../core/forgotten.ts";
import { formsOf } from "../../core/text/forms.ts";
import { quoted } from "../../core/text/sql-text.ts";
import type { SqlValue } from "../duckdb/duck-values.ts";
import type { Sql } from "../duckdb/statements.ts";

/** Everything known of a contact to be erased. */
export interface Person {
  readonly id: string;
  readonly hash: string;
  /** Texts that identify the contact: id, addresses, numbers, name. */
  readonly traces: readonly Trace[];
}

export interface Trace {
  readonly kind: "id" | "email" | "phone" | "address" | "name";
  readonly text: string;
}

/** Text columns outside the contacts table that may name a contact. */
const NAMING: readonly { readonly path: string; readonly columns: readonly string[]; readonly own: string }[] = [
  { path: "sync.requests", columns: ["url", "scope", "error"], own: "stream = 'contacts'" },
  { path: "sync.stream_state", columns: ["cursor", "walk_id", "error"], own: "stream = 'contacts'" },
  { path: "sync.runs", columns: ["summary", "error"], own: "false" },
  { path: "sync.rejects", columns: ["record", "reason"], own: "table_name = 'usage_requests'" },
  { path: "main.usage_requests", columns: ["endpoint", "input", "error", "_extra"], own: "true" },
  { path: "history.usage_requests", columns: ["endpoint", "input", "error", "_extra"], own: "true" },
];

const cells = z.array(z.string().nullable());
const namingRow = z.object({ row: z.union([z.bigint(), z.number()]).transform(BigInt), own: z.boolean(), cells });

const detailRow = z.object({ detail: z.string() });

/** A drift value with an id goes: it is part of the row's key, and two ids may have the same replacement. */
const dropDrift = async (tx: Sql, ids: readonly string[], eraser: IdEraser): Promise<void> => {
  const details = await tx.query(
    "SELECT DISTINCT detail FROM sync.schema_drift WHERE regexp_matches(detail, $1)",
    [ids.map(formsOf).join("|")],
    detailRow,
  );
  const theirs = details.flatMap(({ detail }) => (eraser.anywhere(detail) === detail ? [] : [detail]));
  await tx.run("DELETE FROM sync.schema_drift WHERE detail IN (SELECT unnest($1))", [theirs]);
};

const cleanTexts = async (tx: Sql, ids: readonly string[], eraser: IdEraser): Promise<void> => {
  for (const { path, columns, own } of NAMING) {
    const text = columns.map((column) => `CAST(${quoted(column)} AS VARCHAR)`);
    const rows = await tx.query(
      `SELECT rowid AS row, ${own} AS own, [${text.join(", ")}] AS cells FROM ${path}
       WHERE regexp_matches(concat_ws(' ', ${text.join(", ")}), $1)`,
      [ids.map(formsOf).join("|")],
      namingRow,
    );
    for (const { row, own: mine, cells: before } of rows) {
      const clean = (cell: string | null) => (cell === null ? null : mine ? eraser.among(cell) : eraser.anywhere(cell));
      const after = before.map(clean);
      const changed = columns.flatMap((column, at) => (after[at] === before[at] ? [] : [{ column, at }]));
      if (changed.length === 0) continue;
      const sets = changed.map(({ column }, position) => `${quoted(column)} = $${position + 1}`);
      const values: SqlValue[] = changed.map(({ at }) => after[at] ?? null);
      await tx.run(`UPDATE ${path} SET ${sets.join(", ")} WHERE rowid = $${values.length + 1}`, [...values, row]);
    }
  }
};

const recordRow = z.object({ row: z.union([z.bigint(), z.number()]).transform(BigInt), record: z.string() });

/** A rejected record has no usable key: it belongs to them if it holds an address or number of theirs. */
const dropRejects = async (tx: Sql, people: readonly Person[]): Promise<number> => {
  const telling = people.flatMap(({ traces }) => traces.filter(({ kind }) => kind !== "name").map(({ text }) => text));
  const rejects = await tx.query(
    "SELECT rowid AS row, record FROM sync.rejects WHERE table_name = 'contacts'",
    [],
    recordRow,
  );
  const theirs = rejects.filter(({ record }) => telling.some((text) => record.includes(JSON.stringify(text))));
  for (const { row } of theirs) await tx.run("DELETE FROM sync.rejects WHERE rowid = $1", [row]);
  return theirs.length;
};

export interface ForgottenRows {
  /** Rows of main.contacts. */
  readonly current: number;
  /** Rows of history.contacts. */
  readonly versions: number;
  readonly rejects: number;
}

/** Erases the people from every table, inside `tx`. */
export const forgetRows = async (tx: Sql, people: readonly Person[], eraser: IdEraser): Promise<ForgottenRows> => {
  const ids = people.map(({ id }) => id);
  const among = "IN (SELECT unnest($1))";
  const current = await tx.run(`DELETE FROM main.contacts WHERE id ${among}`, [ids]);
  const versions = await tx.run(`DELETE FROM history.contacts WHERE id ${among}`, [ids]);
  await tx.run(`DELETE FROM sync.walk_seen WHERE table_name = 'contacts' AND id ${among}`, [ids]);
  const values = people.flatMap(({ traces }) => traces.map(({ text }) => text));
  await tx.run(`DELETE FROM sync.schema_drift WHERE table_name = 'contacts' AND detail ${among}`, [values]);
  await tx.run("UPDATE sync.checks SET sample = NULL");
  const rejects = await dropRejects(tx, people);
  if (ids.length > 0) {
    await dropDrift(tx, ids, eraser);
    await cleanTexts(tx, ids, eraser);
  }
  return { current, versions, rejects };
};

// Compares the published snapshot with what a service says, row for row and field for field, in both directions.
// Knows of the mirror only what a reader of the file sees: tables, column names and types.
import { runQuery } from "../../src/warehouse/read/query.ts";
import { canonical, canonicalText } from "../second-server/json-text.ts";
import { microsOf } from "../second-server/times.ts";
import type { ApiTable, ApiTables } from "./service-reader.ts";

const columnName = (field: string): string => field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** What a cell must hold for the service's value, as comparable text. */
const expectedText = (type: string, value: unknown): string => {
  if (value === undefined || value === null) return "absent";
  if (type === "TIMESTAMP WITH TIME ZONE") return String(microsOf(String(value)));
  if (type === "DOUBLE") return canonical(Number(value));
  return canonical(value);
};

/** What a cell holds, as comparable text. */
const actualText = (type: string, cell: unknown): string => {
  if (cell === null) return "absent";
  if (type === "TIMESTAMP WITH TIME ZONE") return String(microsOf(String(cell)));
  if (type === "JSON") return canonicalText(String(cell));
  return canonical(cell);
};

/** Columns of the mirror's own; `_extra` holds fields without a column. */
const OWN = ["_first_synced_at", "_synced_at", "_run_id", "_extra", "_in_scope"];
/** Filled by the mirror, not by the service. */
const FILLED: Readonly<Record<string, readonly string[]>> = { company_inputs: ["resolved_at"] };

const KEYS: Readonly<Record<string, readonly string[]>> = {
  accounts: ["id"],
  owners: ["id"],
  contacts: ["id"],
  signals: ["id"],
  companies: ["id"],
  company_inputs: ["input"],
  news_articles: ["company_id", "id"],
  job_openings: ["company_id", "id"],
  earnings_calls: ["company_id", "id"],
  filings: ["company_id", "id"],
  account_insights: ["account_id"],
};

const cut = (text: string) => (text.length > 120 ? `${text.slice(0, 120)}…` : text);

/** Every way in which a table differs from the service, one line each. */
const tableDifferences = async (snapshot: string, table: string, expected: ApiTable): Promise<string[]> => {
  const { columns, rows } = await runQuery({ snapshot, sql: `SELECT * FROM main."${table}"` });
  const key = KEYS[table] ?? [];
  const differences: string[] = [];
  const seen = new Set<string>();
  for (const row of rows) {
    const cells = new Map(columns.map(({ name }, index) => [name, row[index]]));
    const id = key.map((name) => String(cells.get(name))).join("/");
    const record = expected.get(id);
    if (seen.has(id)) differences.push(`${table} ${id}: twice`);
    seen.add(id);
    if (record === undefined) {
      differences.push(`${table} ${id}: not in the service`);
      continue;
    }
    const fields = new Map(Object.entries(record).map(([name, value]) => [columnName(name), { name, value }]));
    for (const { name, type } of columns) {
      if (OWN.includes(name) || FILLED[table]?.includes(name)) continue;
      const wanted = expectedText(type, fields.get(name)?.value);
      const held = actualText(type, cells.get(name));
      if (wanted !== held) differences.push(`${table} ${id} ${name}: service ${cut(wanted)}, mirror ${cut(held)}`);
      fields.delete(name);
    }
    const extra = [...fields.values()].map(({ name, value }) => [name, value] as const);
    const heldExtra = cells.get("_extra");
    const wanted = extra.length === 0 ? "absent" : canonical(Object.fromEntries(extra));
    if (wanted !== actualText("JSON", heldExtra)) {
      differences.push(`${table} ${id} _extra: service ${cut(wanted)}, mirror ${cut(String(heldExtra))}`);
    }
  }
  for (const id of expected.keys()) if (!seen.has(id)) differences.push(`${table} ${id}: not in the mirror`);
  return differences;
};

/** Ways in which the snapshot differs from the service, the first 30 of those that `counts`; empty when they are equal. */
export const differences = async (
  snapshot: string,
  service: ApiTables,
  counts: (line: string) => boolean = () => true,
): Promise<readonly string[]> => {
  const all: string[] = [];
  for (const [table, expected] of Object.entries(service)) {
    all.push(...(await tableDifferences(snapshot, table, expected)).filter(counts));
  }
  return all.length > 30 ? [...all.slice(0, 30), `and ${all.length - 30} more`] : all;
};

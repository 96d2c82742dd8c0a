// What a client's database holds against what the service holds: rows lost, doubled, stale, and rows that should be gone.
import { join } from "node:path";
import { runQuery } from "../src/warehouse/read/query.ts";
import type { Client } from "./peer-clients.ts";
import type { SourceRows, WhichLists } from "./peer-control.ts";
import { COMPANY_LISTS, ORGANIZATION_LISTS } from "./peer-world.ts";

export interface Difference {
  /** Rows of the service that the database lacks. */
  readonly missing: number;
  /** Rows of the database whose id another one has. */
  readonly doubled: number;
  /** Rows in an older version than the service's. */
  readonly stale: number;
  /** Rows the service has no longer. */
  readonly gone: number;
}

const CHANGED = { accounts: "updated_at", contacts: "last_change_detected_on", signals: "updated_at" } as const;

const spelled = (column: string, client: Client): string =>
  client.database.columns === "snake" ? column : column.replaceAll("_", "");

/** Path of the list, id, ms of the last change (0: no such date) of every row. */
const rowsOf = async (client: Client, dir: string, lists: WhichLists) => {
  const { file, schema } = client.database;
  const table = (name: string) => `"${schema}"."${name.replaceAll("-", "_")}"`;
  const organization = ORGANIZATION_LISTS.map((name) => {
    const version = `coalesce(epoch_ms(${spelled(CHANGED[name], client)}), 0)`;
    return `SELECT '/v1/${name}' AS list, CAST(id AS VARCHAR) AS id, CAST(${version} AS DOUBLE) AS version FROM ${table(name)}`;
  });
  const company = COMPANY_LISTS.map((name) => {
    const path = `'/v1/companies/' || ${spelled("company_id", client)} || '/${name}'`;
    return `SELECT ${path} AS list, CAST(id AS VARCHAR) AS id, CAST(0 AS DOUBLE) AS version FROM ${table(name)}`;
  });
  const parts = lists === "all" ? [...organization, ...company] : organization;
  const { rows } = await runQuery({ snapshot: join(dir, file), sql: parts.join(" UNION ALL ") });
  return rows.map(([list, id, version]) => ({ list: String(list), id: String(id), version: Number(version) }));
};

/** Compares a client's database with the service's rows as they are now. */
export const difference = async (client: Client, dir: string, lists: WhichLists, source: SourceRows) => {
  const found = new Map<string, Map<string, number>>();
  let doubled = 0;
  let stale = 0;
  let gone = 0;
  for (const { list, id, version } of await rowsOf(client, dir, lists)) {
    const seen = found.get(list) ?? new Map<string, number>();
    found.set(list, seen);
    if (seen.has(id)) doubled += 1;
    seen.set(id, version);
    const current = source.get(list)?.get(id);
    if (current === undefined) gone += 1;
    else if (version < current) stale += 1;
  }
  let missing = 0;
  for (const [list, rows] of source) for (const id of rows.keys()) if (found.get(list)?.has(id) !== true) missing += 1;
  return { missing, doubled, stale, gone } satisfies Difference;
};

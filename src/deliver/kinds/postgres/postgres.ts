// `Destination` of kind `postgres`: delivers the mirror's tables to a schema. One transaction writes rows and position, so readers see the
// tables as they were before it or after it. A new table is filled directly; rows of an existing table are staged, then merged.
import type { SettingsOf } from "../../../core/config/destinations/destination-settings.ts";
import { DuckmirrorError, isCode } from "../../../core/errors.ts";
import {
  commentsOf,
  type Delivered,
  type DeliveredRows,
  type DeliveredTable,
  type DeliverySource,
  type Destination,
  isUpToDate,
  type Position,
} from "../../destination.ts";
import { readLeftOut } from "../../left-out.ts";
import type { Session } from "./session.ts";
import { connect, loadPackages, postgresError } from "./session.ts";
import * as sql from "./statements.ts";
import { changedLinesSql, copyLines, LONGEST_KEY, stagedLinesSql, wholeLinesSql } from "./statements.ts";

/** What is in the schema. */
interface Held {
  readonly position: Position | null;
  /** Tables that duckmirror made there. */
  readonly own: readonly string[];
  /** Table → columns, of every table in the schema. */
  readonly columns: ReadonlyMap<string, ReadonlySet<string>>;
}

/** Bytes of staged rows above which the planner of Postgres needs statistics of them. */
const MANY_BYTES = 1_000_000;

const readColumns = async (session: Session, schema: string): Promise<Held["columns"]> => {
  const { rows } = await session.ask<{ table: string; column: string }>(
    `SELECT c.relname AS table, a.attname AS column FROM pg_class AS c
     JOIN pg_namespace AS n ON n.oid = c.relnamespace
     LEFT JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
     WHERE n.nspname = $1 AND c.relkind IN ('r', 'p', 'v', 'm', 'f')`,
    [schema],
  );
  const found = new Map<string, Set<string>>();
  for (const { table, column } of rows) found.set(table, (found.get(table) ?? new Set()).add(column));
  return found;
};

const readHeld = async (session: Session, schema: string): Promise<Held> => {
  const columns = await readColumns(session, schema);
  if (!columns.has(sql.POSITION_TABLE)) return { position: null, own: [], columns };
  const { rows } = await session.ask<{ mirror: string; n: string; mark: string; tables: string[] }>(
    `SELECT mirror, n, mark, tables FROM ${sql.pathOf(schema, sql.POSITION_TABLE)}`,
  );
  const [row] = rows;
  if (row === undefined) return { position: null, own: [], columns };
  return { position: { mirror: row.mirror, n: Number(row.n), mark: row.mark }, own: row.tables, columns };
};

/** A delivery inside its transaction. */
interface Delivering {
  /** Name of the destination. */
  readonly name: string;
  readonly session: Session;
  readonly schema: string;
  readonly source: DeliverySource;
  readonly held: Held;
  readonly signal: AbortSignal;
}

/** A table whose rows are at the server. */
interface Brought {
  readonly table: DeliveredTable;
  readonly bytes: number;
  /** Makes them the table's rows. */
  merge(): Promise<DeliveredRows>;
}

/** A new table: nobody sees it before the commit. */
const fillNew = async (table: DeliveredTable, { session, schema, source, signal }: Delivering): Promise<Brought> => {
  await session.query(sql.createTableSql(schema, table));
  const lines = { snapshot: source.snapshot, sql: wholeLinesSql(table), signal };
  const bytes = await copyLines(session, sql.copyIntoSql(sql.pathOf(schema, table.name), table.columns), lines);
  await session.query(sql.addKeySql(schema, table));
  await session.query(sql.commentsSql(schema, table.name, commentsOf(table)));
  const { rows } = await session.query<{ rows: string }>(
    `SELECT count(*) AS rows FROM ${sql.pathOf(schema, table.name)}`,
  );
  const written = Number(rows[0]?.rows);
  return { table, bytes, merge: async () => ({ table: table.name, extent: "whole", written, deleted: 0 }) };
};

const stage = async (table: DeliveredTable, delivering: Delivering): Promise<Brought> => {
  const { session, schema, source, held, signal } = delivering;
  const { name, columns } = table;
  const missing = columns.filter((column) => held.columns.get(name)?.has(column.name) !== true);
  const from = table.extent === "whole" || missing.length > 0 ? null : held.position;
  const extent = from === null ? "whole" : "changes";
  if (from !== null && table.changes === 0) {
    return { table, bytes: 0, merge: async () => ({ table: name, extent, written: 0, deleted: 0 }) };
  }
  await session.query(sql.createStageSql(table));
  const lines = from === null ? stagedLinesSql(table) : changedLinesSql(table, from);
  const bytes = await copyLines(session, sql.copyIntoStageSql(table), {
    snapshot: source.snapshot,
    sql: lines,
    signal,
  });
  if (bytes > MANY_BYTES) await session.query(`ANALYZE ${sql.stageOf(name)}`);
  const merge = async (): Promise<DeliveredRows> => {
    signal.throwIfAborted();
    if (missing.length > 0) {
      await session.query(sql.addColumnsSql(schema, name, missing));
      await session.query(sql.commentsSql(schema, name, commentsOf({ name, columns: missing })));
    }
    const deleted = await session.query(sql.deleteSql(schema, table, from === null));
    const written = await session.query(sql.upsertSql(schema, table));
    return { table: name, extent, written: written.rowCount ?? 0, deleted: deleted.rowCount ?? 0 };
  };
  return { table, bytes, merge };
};

/** Adds the table to an error, because Postgres does not name it when rows do not fit a table that was altered. */
const tableError = (error: unknown, table: string, { name, signal }: Delivering): unknown => {
  signal.throwIfAborted();
  const failure = postgresError(name, error);
  if (!isCode(failure, "DESTINATION_FAILED")) return failure;
  const detail = `table ${table}: ${String(failure.context.detail)}`;
  return new DuckmirrorError("DESTINATION_FAILED", { name, detail }, { cause: error });
};

/** Throws if the schema holds a table of this name that duckmirror did not make. */
const assertOwn = (table: string, { own, columns }: Held, { name, schema }: SettingsOf<"postgres">): void => {
  if (own.includes(table) || !columns.has(table)) return;
  const detail = `the schema ${schema} holds a table ${table} that duckmirror did not make; set another \`schema\``;
  throw new DuckmirrorError("DESTINATION_FAILED", { name, detail });
};

const deliverTables = async (
  tables: readonly DeliveredTable[],
  delivering: Delivering,
): Promise<Pick<Delivered, "tables" | "bytes">> => {
  const { session, schema, source, held } = delivering;
  const brought: Brought[] = [];
  for (const table of tables) {
    const isNew = !held.columns.has(table.name);
    brought.push(await (isNew ? fillNew(table, delivering) : stage(table, delivering)));
  }
  // Only now are tables locked that others read.
  const rows: DeliveredRows[] = [];
  for (const { table, merge } of brought) {
    rows.push(await merge().catch((error: unknown) => Promise.reject(tableError(error, table.name, delivering))));
  }
  const { mirror, n, mark } = source.position;
  const own = [...new Set([...held.own, ...tables.map(({ name }) => name)])];
  await session.query(sql.writePositionSql(schema), [mirror, n, mark, source.run?.id ?? null, own]);
  return { tables: rows, bytes: brought.reduce((sum, { bytes }) => sum + bytes, 0) };
};

/** Begins the transaction, waits for other deliveries to this schema, and creates the schema if it is missing. */
const beginDelivery = async (session: Session, schema: string): Promise<void> => {
  await session.ask("BEGIN");
  await session.ask(
    "SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL TimeZone = 'UTC'",
  );
  await session.query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [`duckmirror ${schema}`]);
  const { rows } = await session.ask("SELECT FROM pg_namespace WHERE nspname = $1", [schema]);
  // Not IF NOT EXISTS, which needs the right to create schemas even where this one is there.
  if (rows.length === 0) await session.query(`CREATE SCHEMA "${schema}"`);
};

/** Opens a destination of this kind. Throws DESTINATION_PACKAGE_MISSING, DESTINATION_AWAY, DESTINATION_FAILED. */
export const openPostgres = async (settings: SettingsOf<"postgres">): Promise<Destination> => {
  const { name, schema } = settings;
  const packages = await loadPackages(name);
  const session = await connect(packages, settings);

  const deliver = async (source: DeliverySource, signal: AbortSignal): Promise<Delivered> => {
    await beginDelivery(session, schema);
    const held = await readHeld(session, schema);
    const tables = await source.tablesSince(held.position);
    const leftOut = await readLeftOut(source.snapshot, tables, LONGEST_KEY, signal);
    const base = { from: held.position, to: source.position, leftOut };
    if (isUpToDate(held.position, source)) {
      await session.ask("ROLLBACK");
      return { ...base, tables: [], bytes: 0 };
    }
    for (const table of tables) assertOwn(table.name, held, settings);
    if (!held.columns.has(sql.POSITION_TABLE)) await session.query(sql.createPositionSql(schema));
    const done = await deliverTables(tables, { name, session, schema, source, held, signal });
    signal.throwIfAborted();
    await session.query("COMMIT");
    return { ...base, ...done };
  };

  return {
    position: async () => {
      try {
        return (await readHeld(session, schema)).position;
      } catch (error) {
        throw postgresError(name, error);
      }
    },
    deliver: async (source, signal) => {
      // Only a broken connection stops a long statement; the server then rolls the transaction back.
      const stop = () => session.cut();
      signal.addEventListener("abort", stop, { once: true });
      try {
        signal.throwIfAborted();
        return await deliver(source, signal);
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        await session.ask("ROLLBACK").catch(() => undefined);
        throw postgresError(name, error);
      } finally {
        signal.removeEventListener("abort", stop);
      }
    },
    close: () => session.close(),
  };
};

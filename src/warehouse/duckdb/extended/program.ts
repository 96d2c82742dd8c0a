// Program of the process that runs DuckDB 1.5.5 with extensions (docs/decisions/lakes.md). It ends with the process
// that started it,
// and leaves what was not committed.

import { existsSync } from "node:fs";
import { join } from "node:path";
import type { DuckDBConnection } from "duckdb-with-extensions";
import { literal } from "../../../core/text/sql-text.ts";
import { type OutValue, readerOf } from "../out-values.ts";
import { batchesOf, TooLarge } from "../row-batches.ts";
import type { FromExtended, ObjectStore, Opening, Question, ToExtended } from "./messages.ts";

// Loads extensions of DuckDB; no other file does. It runs in the separate process of extended/program.ts. The mirror's own
// databases and the processes of users' SQL load none.

type Run = (sql: string) => Promise<unknown>;

/** The extension is not in the folder, and DuckDB cannot download it. */
export class ExtensionMissing extends Error {
  readonly extension: string;

  constructor(extension: string, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.extension = extension;
  }
}

/** Loads a file of `folder`, else an extension that DuckDB has installed; else DuckDB downloads it. Throws ExtensionMissing. */
const loadExtension = async (run: Run, name: string, folder: string | undefined): Promise<void> => {
  const file = folder === undefined ? null : join(folder, `${name}.duckdb_extension`);
  try {
    if (file !== null && existsSync(file)) await run(`LOAD ${literal(file)}`);
    else await run(`LOAD ${name}`).catch(() => run(`INSTALL ${name}`).then(() => run(`LOAD ${name}`)));
  } catch (error) {
    throw new ExtensionMissing(name, error);
  }
};

/** Loads extensions in this order. `folder`: files NAME.duckdb_extension, or DuckDB's layout. Throws ExtensionMissing. */
export const loadExtensions = async (run: Run, names: readonly string[], folder: string | undefined): Promise<void> => {
  if (folder !== undefined) await run(`SET extension_directory = ${literal(folder)}`);
  for (const name of names) await loadExtension(run, name, folder);
};

const secretSql = ({ region, endpoint, pathStyle }: ObjectStore, env: NodeJS.ProcessEnv): string => {
  const parts: (readonly [name: string, value: string | undefined])[] = [
    ["KEY_ID", env.AWS_ACCESS_KEY_ID],
    ["SECRET", env.AWS_SECRET_ACCESS_KEY],
    ["SESSION_TOKEN", env.AWS_SESSION_TOKEN],
    ["REGION", region ?? env.AWS_REGION ?? env.AWS_DEFAULT_REGION],
    ["ENDPOINT", endpoint?.replace(/^https?:\/\//, "").replace(/\/$/, "")],
    ["USE_SSL", endpoint?.startsWith("http://") ? "false" : undefined],
    ["URL_STYLE", pathStyle ? "path" : undefined],
  ];
  const set = parts.flatMap(([name, value]) => (value === undefined ? [] : [`, ${name} ${literal(value)}`]));
  return `CREATE SECRET (TYPE s3${set.join("")})`;
};

const open = async (opening: Opening): Promise<DuckDBConnection> => {
  const { DuckDBInstance } = await import("duckdb-with-extensions");
  const instance = await DuckDBInstance.create(":memory:", {
    autoinstall_known_extensions: "false",
    autoload_known_extensions: "false",
    memory_limit: opening.memoryLimit,
    max_temp_directory_size: "50GB",
    ...(opening.threads === undefined ? {} : { threads: String(opening.threads) }),
  });
  const connection = await instance.connect();
  const run = (sql: string) => connection.run(sql);
  await run("SET TimeZone = 'UTC'");
  await run("SET preserve_insertion_order = false");
  await loadExtensions(run, opening.extensions, opening.extensionDirectory);
  if (opening.objectStore !== undefined) await run(secretSql(opening.objectStore, process.env));
  return connection;
};

/** Functions of the extensions that write, also inside a SELECT and in a lake that is attached for reading. */
const WRITES =
  /ducklake_(?:add|cleanup|delete|expire|flush|merge|rewrite|set)|(?:postgres|sqlite|mysql)_(?:execute|query)/i;

/** Null: the statement does not only read. */
const ask = async (connection: DuckDBConnection, { sql, rowCharacters }: Question) => {
  const client = await import("duckdb-with-extensions");
  const { SELECT, EXPLAIN } = client.StatementType;
  const statements = await connection.extractStatements(sql);
  const statement = statements.count === 1 ? await statements.prepare(0) : null;
  if (statement === null || ![SELECT, EXPLAIN].includes(statement.statementType) || WRITES.test(sql)) return null;
  const result = await statement.stream();
  const types = result.columnTypes();
  const columns = result
    .columnNames()
    .map((name, index) => ({ name, type: types[index]?.alias ?? String(types[index] ?? "") }));
  return { columns, batches: batchesOf(result, rowCharacters, readerOf(client).fromDuck) };
};

let connection: DuckDBConnection | null = null;
let batches: AsyncGenerator<OutValue[][], void> | null = null;
const answer = async (message: ToExtended): Promise<FromExtended> => {
  if (message.kind === "open") {
    connection = await open(message);
    return { kind: "rows", rows: [] };
  }
  if (connection === null) throw new TypeError("the first message must open the database");
  if (message.kind === "query") {
    const asked = await ask(connection, message);
    batches = asked?.batches ?? null;
    return asked === null ? { kind: "notReading" } : { kind: "columns", columns: asked.columns };
  }
  if (message.kind === "next") return { kind: "batch", batch: (await batches?.next())?.value ?? [] };
  const reader = await connection.runAndReadAll(message.sql);
  return { kind: "rows", rows: reader.getRowObjectsJson() };
};

const failure = (error: unknown): FromExtended => {
  if (error instanceof TooLarge) return { kind: "tooLarge" };
  if (error instanceof ExtensionMissing) {
    return { kind: "extensionMissing", extension: error.extension, detail: error.message };
  }
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
  if (code === "ERR_MODULE_NOT_FOUND") return { kind: "clientMissing" };
  return { kind: "failed", detail: error instanceof Error ? error.message : String(error) };
};

const end = () => process.kill(process.pid, "SIGKILL");
process.on("disconnect", end);
process.on("message", (message: ToExtended) => {
  answer(message)
    .catch(failure)
    .then((one) => process.send?.(one));
});

// Program of the separate process that runs one statement of a user on the snapshot and then ends. It loads few
// modules, because a query waits for it. DuckDB's settings are no sandbox, so the operating system limits and fences this
// process. Argument: what the fence must forbid, as JSON; absent: there is no fence.
import { createReadStream, writeSync } from "node:fs";
import { type DuckDBConnection, DuckDBInstance, type DuckDBType } from "@duckdb/node-api";
import { threadsFor } from "../duckdb/instance.ts";
import { batchesOf, StoppedEarly, TooLarge } from "../duckdb/row-batches.ts";
import { sqlText } from "../duckdb/sql-files.ts";
import { fromDuck } from "../duckdb/statements.ts";
import { gapsOf } from "./fence/proof.ts";
import { ANY_FRAME, type FromProcess, frameOf, frameReader, MOST_LEVELS, type ToProcess } from "./frames.ts";
import { checkStatement, Refused } from "./gate/check-statement.ts";
import { inspectCatalog } from "./gate/inspect-catalog.ts";

const open = async (snapshot: string, memoryLimit: string): Promise<DuckDBConnection> => {
  const instance = await DuckDBInstance.create(snapshot, {
    access_mode: "READ_ONLY",
    threads: String(threadsFor(snapshot)),
    autoinstall_known_extensions: "false",
    memory_limit: memoryLimit,
    temp_directory: "",
  });
  const connection = await instance.connect();
  await connection.run(sqlText("warehouse/user-sql-lock-down.sql"));
  return connection;
};

/** The statement of a text that needs no gate. DuckDB would run several, and return the rows of the last one. */
const onlyOne = async (connection: DuckDBConnection, sql: string): Promise<string> => {
  const { count } = await connection.extractStatements(sql).catch((error: unknown) => {
    // DuckDB's client says this of a comment alone.
    throw error instanceof Error && error.message === "Error in native callback"
      ? new Error("it holds no statement")
      : error;
  });
  if (count > 1) throw new Error(`these are ${count} statements; give one at a time`);
  return sql;
};

const partsOf = (type: DuckDBType): readonly DuckDBType[] => {
  if ("entryTypes" in type) return type.entryTypes;
  if ("memberTypes" in type) return type.memberTypes;
  if ("keyType" in type) return [type.keyType, type.valueType];
  return "valueType" in type ? [type.valueType] : [];
};

/** Throws for a type of more levels than an answer may have: its reader would fail on it, or take minutes. */
const assertLevels = (types: readonly DuckDBType[]): void => {
  let level = types;
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > MOST_LEVELS) throw new Error(`a column of its result is nested more than ${MOST_LEVELS} levels deep`);
    level = level.flatMap(partsOf);
  }
};

/** Why the statement failed after its first rows: it runs once more, and EXPLAIN drops its rows. */
const reasonOf = async (connection: DuckDBConnection, sql: string, otherwise: StoppedEarly): Promise<Error> => {
  try {
    await connection.run(`EXPLAIN ANALYZE ${sql}`);
    return otherwise;
  } catch (error) {
    // The place in the text would be that of the longer statement.
    return new Error((error instanceof Error ? error.message : String(error)).replace(/\n+LINE \d+: [\s\S]*$/, ""));
  }
};

/** Runs the statement and answers each `next` with rows until none are left. Throws DuckDB's errors. */
async function* answer(first: ToProcess): AsyncGenerator<FromProcess, void> {
  if (first.kind === "next") throw new TypeError("the first message must be the statement");
  if (first.kind === "inspect") {
    yield { kind: "inspected", ...(await inspectCatalog(await open(first.snapshot, first.memoryLimit), first.own)) };
    return;
  }
  const { snapshot, sql, gated, memoryLimit, rowCharacters } = first;
  const connection = await open(snapshot, memoryLimit);
  const statement = await (gated ? checkStatement : onlyOne)(connection, sql);
  const result = await connection.stream(statement);
  const types = result.columnTypes();
  assertLevels(types);
  const columns = result
    .columnNames()
    .map((name, index) => ({ name, type: types[index]?.alias ?? String(types[index] ?? "") }));
  yield { kind: "columns", columns };
  try {
    for await (const rows of batchesOf(result, rowCharacters, fromDuck)) yield { kind: "rows", rows };
  } catch (error) {
    throw error instanceof StoppedEarly ? await reasonOf(connection, statement, error) : error;
  }
  yield { kind: "rows", rows: [] };
}

/** Pipes, not Node's channel between processes: through that one a process could hand descriptors to its parent. */
const [INPUT, OUTPUT] = [0, 3];

const send = (message: FromProcess): void => {
  const frame = frameOf(message);
  for (let sent = 0; sent < frame.length; ) sent += writeSync(OUTPUT, frame, sent);
};

const sendFailure = (error: unknown): void => {
  const detail = error instanceof Error ? error.message : String(error);
  // No text of Node is as long as the answer would be.
  if (error instanceof Refused) send({ kind: "refused", detail });
  else if (error instanceof TooLarge || detail === "Invalid string length") send({ kind: "tooLarge" });
  else send({ kind: "failed", detail });
};

const listen = (): void => {
  let answers: AsyncGenerator<FromProcess, void> | null = null;
  const take = frameReader<ToProcess>(ANY_FRAME, (message) => {
    answers ??= answer(message);
    answers
      .next()
      .then(({ value }) => value !== undefined && send(value))
      .catch(sendFailure);
  });
  const input = createReadStream("", { fd: INPUT });
  input.on("data", (bytes) => take(Buffer.from(bytes)));
  // Nobody reads the answers any more, and a running statement would keep the process alive.
  input.on("close", () => process.kill(process.pid, "SIGKILL"));
};

const [, , forbidden] = process.argv;
const gaps = forbidden === undefined ? [] : await gapsOf(JSON.parse(forbidden));
if (gaps.length > 0) {
  process.stderr.write(`within reach: ${gaps.join(", ")}`);
  process.exitCode = 78;
} else {
  listen();
  send({ kind: "ready" });
}

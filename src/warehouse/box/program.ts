// Program of the separate process that runs one statement of a user on the snapshot and then ends. It loads few
// modules, because a query waits for it. DuckDB's settings are no sandbox, so the operating system limits this
// process.
import { type DuckDBDataChunk, DuckDBInstance, type DuckDBResult } from "@duckdb/node-api";
import { fromDuck, type OutValue } from "../duckdb/duck-values.ts";
import { threadsFor } from "../duckdb/instance.ts";
import { sqlText } from "../duckdb/sql-files.ts";
import type { FromBox, ToBox } from "./messages.ts";

/** Most characters per answer (or one row), so that the reader's event loop is busy for a few ms only. */
const ANSWER_CHARACTERS = 256 * 1024;

const sizeOf = (value: OutValue): number => {
  if (typeof value === "string") return value.length + 2;
  if (value === null || typeof value !== "object") return 8;
  const parts: readonly OutValue[] = Array.isArray(value) ? value : Object.values(value);
  return parts.reduce<number>((sum, part) => sum + sizeOf(part), 2);
};

/** One row, or a value in it, has too many characters. */
class TooLarge extends Error {}

/** The row in the form of answers. Throws TooLarge, also where Node has no string that long. */
const rowOf = (chunk: DuckDBDataChunk, index: number): OutValue[] => {
  try {
    return chunk.getRowValues(index).map((cell) => fromDuck(cell, "iso"));
  } catch (error) {
    if (error instanceof RangeError || (error as NodeJS.ErrnoException).code === "ERR_STRING_TOO_LONG")
      throw new TooLarge();
    throw error;
  }
};

/** Rows of a result in answers of limited size, converted on request. */
async function* answersOf(result: DuckDBResult, rowCharacters: number): AsyncGenerator<OutValue[][], void> {
  let rows: OutValue[][] = [];
  let characters = 0;
  for (let chunk = await result.fetchChunk(); chunk !== null && chunk.rowCount > 0; chunk = await result.fetchChunk()) {
    for (let index = 0; index < chunk.rowCount; index += 1) {
      const row = rowOf(chunk, index);
      const size = row.reduce<number>((sum, cell) => sum + sizeOf(cell), 2);
      if (size > rowCharacters) throw new TooLarge();
      rows.push(row);
      characters += size;
      if (characters < ANSWER_CHARACTERS) continue;
      yield rows;
      rows = [];
      characters = 0;
    }
  }
  if (rows.length > 0) yield rows;
}

/** Runs the statement and answers each `next` with rows until none are left. Throws DuckDB's errors. */
async function* answer(first: ToBox): AsyncGenerator<FromBox, void> {
  if (first.kind !== "run") throw new TypeError("the first message must be the statement");
  const { snapshot, sql, memoryLimit, rowCharacters } = first.ask;
  const instance = await DuckDBInstance.create(snapshot, {
    access_mode: "READ_ONLY",
    threads: String(threadsFor(snapshot)),
    autoinstall_known_extensions: "false",
    memory_limit: memoryLimit,
    temp_directory: "",
  });
  const connection = await instance.connect();
  await connection.run(sqlText("warehouse/box-lock-down.sql"));
  const result = await connection.stream(sql);
  const types = result.columnTypes();
  const columns = result
    .columnNames()
    .map((name, index) => ({ name, type: types[index]?.alias ?? String(types[index] ?? "") }));
  yield { kind: "columns", columns };
  for await (const rows of answersOf(result, rowCharacters)) yield { kind: "rows", rows };
  yield { kind: "rows", rows: [] };
}

const send = (message: FromBox): void => void process.send?.(message);

let answers: AsyncGenerator<FromBox, void> | null = null;
process.on("message", (message: ToBox) => {
  answers ??= answer(message);
  answers
    .next()
    .then(({ value }) => value !== undefined && send(value))
    .catch((error: unknown) => {
      if (error instanceof TooLarge) return send({ kind: "tooLarge" });
      return send({ kind: "failed", detail: error instanceof Error ? error.message : String(error) });
    });
});
// Nobody reads the answers any more, and a running statement would keep the process alive.
process.on("disconnect", () => process.kill(process.pid, "SIGKILL"));

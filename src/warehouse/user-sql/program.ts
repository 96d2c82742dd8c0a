// Program of the separate process that runs one statement of a user on the snapshot and then ends. It loads few
// modules, because a query waits for it. DuckDB's settings are no sandbox, so the operating system limits this
// process.
import { DuckDBInstance } from "@duckdb/node-api";
import { fromDuck } from "../duckdb/duck-values.ts";
import { threadsFor } from "../duckdb/instance.ts";
import { answersOf, TooLarge } from "../duckdb/row-answers.ts";
import { sqlText } from "../duckdb/sql-files.ts";
import type { FromProcess, ToProcess } from "./messages.ts";

/** Runs the statement and answers each `next` with rows until none are left. Throws DuckDB's errors. */
async function* answer(first: ToProcess): AsyncGenerator<FromProcess, void> {
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
  await connection.run(sqlText("warehouse/user-sql-lock-down.sql"));
  // DuckDB would run them all and return the rows of the last one.
  const { count } = await connection.extractStatements(sql);
  if (count > 1) throw new Error(`these are ${count} statements; give one at a time`);
  const result = await connection.stream(sql);
  const types = result.columnTypes();
  const columns = result
    .columnNames()
    .map((name, index) => ({ name, type: types[index]?.alias ?? String(types[index] ?? "") }));
  yield { kind: "columns", columns };
  for await (const rows of answersOf(result, rowCharacters, fromDuck)) yield { kind: "rows", rows };
  yield { kind: "rows", rows: [] };
}

const send = (message: FromProcess): void => void process.send?.(message);

let answers: AsyncGenerator<FromProcess, void> | null = null;
process.on("message", (message: ToProcess) => {
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

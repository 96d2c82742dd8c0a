// Runs inside the fence, without the gate: the statements of a file one after the other. Before and after each it writes a line to
// descriptor 3, so that the next process goes on behind one that ended this one. Arguments: the file, the first statement, the snapshot.
import { readFileSync, writeSync } from "node:fs";
import { DuckDBInstance } from "@duckdb/node-api";

const [, , file, first, snapshot] = process.argv;
const statements = JSON.parse(readFileSync(file, "utf8"));
const instance = await DuckDBInstance.create(snapshot, {
  access_mode: "READ_ONLY",
  threads: "1",
  memory_limit: "256MB",
  temp_directory: "",
});
const connection = await instance.connect();
for (let index = Number(first); index < statements.length; index += 1) {
  writeSync(3, `start ${index}\n`);
  let outcome = "answered ";
  try {
    const result = await connection.stream(statements[index]);
    const chunk = await result.fetchChunk();
    if (chunk !== null && chunk.rowCount > 0)
      outcome += JSON.stringify(chunk.getRows().slice(0, 3).map(String)).slice(0, 500);
  } catch (error) {
    outcome = `refused ${String(error).slice(0, 200)}`;
  }
  writeSync(3, `end ${index} ${outcome.replaceAll("\n", " ")}\n`);
}
writeSync(3, "all\n");
process.kill(process.pid, "SIGKILL");

// The readers of docs/DUCKLAKE.md, as they can be pasted: twenty processes of Python, with a role that may only read.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, inject, test } from "vitest";
import { runWell } from "../clients/programs.ts";
import { seededRandom } from "../support/chance.ts";
import { change } from "../support/change-mirror.ts";
import { forFile } from "../support/for-file.ts";
import { startPostgres } from "../support/postgres.ts";
import { aFolder, deliver, ownLayout } from "./a-lake.ts";
import { commitSignals } from "./moving-mirror.ts";
import { catalogIn, rowsIn } from "./read-postgres.ts";

const postgres = await forFile(startPostgres());

test("twenty readers count the signals of the first delivery and of the last", async () => {
  await rowsIn(postgres.url, "CREATE ROLE reader LOGIN; GRANT pg_read_all_data TO reader");
  const host = new URL(postgres.url).searchParams.get("host") ?? "";
  const [dataDir, at] = [aFolder(), aFolder()];
  const random = seededRandom(12);
  const url = catalogIn(postgres.url);
  const call = { dataDir, at, url, settings: { data_path: "files", schema: "acme" } };
  for (const [first, count] of [
    [1, 30],
    [21, 30],
  ] as const) {
    await change(dataDir, (warehouse) => commitSignals(warehouse, first, count, random));
    await deliver(call);
  }
  const text = readFileSync(join(import.meta.dirname, "../../docs/DUCKLAKE.md"), "utf8");
  const [, program = ""] = /```python\n(.*?)```/s.exec(text) ?? [];
  const file = join(at, "readers.py");
  writeFileSync(file, program.replace("dbname=lake host=db", `dbname=postgres host=${host}`));
  const installed = join(at, ".duckdb/extensions");
  mkdirSync(installed, { recursive: true });
  await ownLayout(installed, ["ducklake", "postgres_scanner"]);
  const out = await runWell(join(inject("destinationsVenv"), "bin/python"), [file], { env: { HOME: at } });
  const lines = out.trim().split("\n");
  expect(lines).toHaveLength(20);
  for (const [nth, line] of lines.entries()) {
    expect(line).toMatch(new RegExp(`^reader ${nth}: version \\d+ has 30 signals, now there are 50$`));
  }
});

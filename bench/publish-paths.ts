// Measures how a snapshot is best made (docs/decisions/publishing.md). Run: npx tsx bench/publish-paths.ts [rows]
// Candidates take turns, three rounds each; medians in ms and the size of what came out.
import { constants, mkdtempSync, rmSync, statSync } from "node:fs";
import { copyFile, open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";

const ROUNDS = 3;
const OPTIONS = { storage_compatibility_version: "v1.2.0" };

const syncFile = async (file: string) => {
  const handle = await open(file, "r");
  await handle.sync();
  await handle.close();
};

const withFile = async (file: string, work: (run: (sql: string) => Promise<unknown>) => Promise<void>) => {
  const instance = await DuckDBInstance.create(file, OPTIONS);
  const connection = await instance.connect();
  await work((sql) => connection.run(sql));
  connection.closeSync();
  instance.closeSync();
};

const fill = (file: string, rows: number) =>
  withFile(file, async (run) => {
    await run("CREATE TABLE t (id BIGINT PRIMARY KEY, text VARCHAR, tags VARCHAR[], doc VARCHAR)");
    for (let at = 0; at < rows; at += 100_000) {
      await run(
        `INSERT INTO t SELECT i, repeat(md5(i::VARCHAR), 20), ['a', md5(i::VARCHAR)], repeat(md5((i * 7)::VARCHAR), 30)
         FROM range(${at}, ${Math.min(rows, at + 100_000)}) r(i)`,
      );
    }
    // Superseded rows leave holes, as in a file that lives.
    await run("DELETE FROM t WHERE id % 10 = 0");
    await run("CHECKPOINT");
  });

/** From "stop writing" to "go on writing": closing and opening the working file count. */
const ways: Record<string, (working: string, target: string) => Promise<void>> = {
  "close, copy, open": async (working, target) => {
    await copyFile(working, target, constants.COPYFILE_FICLONE);
    await syncFile(target);
    await withFile(working, async (run) => void (await run("SELECT 1")));
  },
  "COPY FROM DATABASE": async (working, target) => {
    await withFile(working, async (run) => {
      await run(`ATTACH '${target}' AS snapshot`);
      await run("COPY FROM DATABASE working TO snapshot");
      await run("DETACH snapshot");
    });
    await syncFile(target);
  },
};

const main = async (rows: number) => {
  const dir = mkdtempSync(join(tmpdir(), "duckmirror-publish-paths-"));
  const working = join(dir, "working.duckdb");
  await fill(working, rows);
  process.stdout.write(`${rows} rows, working file ${(statSync(working).size / 1e6).toFixed(0)} MB\n`);
  const times = new Map<string, number[]>();
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, way] of Object.entries(ways)) {
      const target = join(dir, "snapshot.duckdb");
      rmSync(target, { force: true });
      const start = performance.now();
      await way(working, target);
      times.set(name, [...(times.get(name) ?? []), performance.now() - start]);
      if (round === 0) process.stdout.write(`${name}: ${(statSync(target).size / 1e6).toFixed(0)} MB\n`);
    }
  }
  for (const [name, list] of times) {
    const median = [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)] ?? 0;
    process.stdout.write(`${name.padEnd(24)} ${median.toFixed(0).padStart(8)} ms\n`);
  }
  rmSync(dir, { recursive: true, force: true });
};

await main(Number(process.argv[2] ?? 500_000));

// The cursor of a reader across an upgrade: the warehouse of an older version is migrated, syncs go on, and a replay
// rebuilds the file. The reader misses no change and gets none twice.
import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { z } from "zod";
import { replayJob } from "../../../jobs/replay.ts";
import { vocabulary } from "../../../src/catalog/field-rules.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { resolveConfig } from "../../../src/core/config/config.ts";
import { type Database, openDatabase } from "../../../src/warehouse/duckdb/database.ts";
import { readMigrations } from "../../../src/warehouse/duckdb/sql-files.ts";
import { migrate } from "../../../src/warehouse/file/migrate.ts";
import { warehousePaths } from "../../../src/warehouse/file/working-file.ts";
import { anOrganization, aSignal } from "../../support/fake-data.ts";
import { createFakeService } from "../../support/fake-service.ts";
import { allChanges, applyChanges, type Copy, mirrorCopy, sorted } from "../../support/feed.ts";
import { type SyncRig, startSyncRig } from "../../support/sync-rig.ts";

let rig: SyncRig | null = null;
afterEach(async () => {
  await rig?.close();
  rig = null;
});

const onSnapshot = async <T>(dataDir: string, work: (database: Database) => Promise<T>): Promise<T> => {
  const database = await openDatabase(join(dataDir, "warehouse.duckdb"), { readOnly: true, threads: 1 });
  return work(database).finally(() => database.close());
};
const feedOf = (dataDir: string, after: number) => onSnapshot(dataDir, (database) => allChanges(database, after, 50));

const columnRow = z.object({ table: z.string(), name: z.string() });
const columnsOf = (database: Database, catalog: string) =>
  database.query(
    `SELECT schema_name || '.' || table_name AS "table", column_name AS name FROM duckdb_columns()
     WHERE database_name = $1 AND schema_name IN ('main', 'history', 'sync') AND NOT internal
     AND table_name NOT IN ('migrations', 'views') ORDER BY ALL`,
    [catalog],
    columnRow,
  );

/** Makes the working file one that has the first `count` migrations, with what it holds of their tables and columns. */
const putBack = async (dataDir: string, count: number): Promise<void> => {
  const { working } = warehousePaths(dataDir);
  const newer = `${working}.newer`;
  renameSync(working, newer);
  const old = await openDatabase(working, { threads: 1 });
  await migrate(old, 0, readMigrations().slice(0, count));
  await old.run(`ATTACH '${newer}' AS newer (READ_ONLY)`);
  const known = new Set((await columnsOf(old, "newer")).map(({ table, name }) => `${table}.${name}`));
  const own = (await columnsOf(old, "working")).filter(({ table, name }) => known.has(`${table}.${name}`));
  for (const table of new Set(own.map((row) => row.table))) {
    const names = own.filter((row) => row.table === table).map(({ name }) => `"${name}"`);
    await old.run(`DELETE FROM ${table}`);
    await old.run(`INSERT INTO ${table} (${names.join(", ")}) SELECT ${names.join(", ")} FROM newer.${table}`);
  }
  await old.run("DETACH newer");
  await old.close();
  rmSync(newer);
};

/** Versions before the feed wrote no number of changes into the journal. */
const forgetNumbers = (dataDir: string): void => {
  const { archiveDir } = warehousePaths(dataDir);
  for (const name of readdirSync(archiveDir, { recursive: true, encoding: "utf8" })) {
    if (!name.endsWith(".journal.ndjson")) continue;
    const file = join(archiveDir, name);
    writeFileSync(file, readFileSync(file, "utf8").replaceAll(/"changes":\d+/g, '"changes":null'));
  }
};

const replay = (dataDir: string) =>
  replayJob(
    resolveConfig({
      flags: {},
      env: { DUCKMIRROR_DATA_DIR: dataDir },
      file: null,
      cwd: dataDir,
      vocabulary: vocabulary(),
    }),
    { partial: false },
    { clock: systemClock, emit: () => undefined },
  );

/** A mirror of an organization that moves with each sync, and a reader that keeps a cursor. */
const aFollowedMirror = async () => {
  const data = anOrganization(3);
  const service = createFakeService(data, { maxPerPage: 20 });
  const mirror = await startSyncRig(service, { DUCKMIRROR_STREAMS: "accounts,contacts,signals,usage" });
  rig = mirror;
  const { dataDir } = mirror;
  const follower: Copy = new Map();
  let day = 0;
  const reader = {
    cursor: 0,
    /** Reads on, checks that nothing is left out or comes twice, and that the result is the mirror. */
    read: async () => {
      const fresh = await feedOf(dataDir, reader.cursor);
      applyChanges(follower, fresh);
      reader.cursor = fresh.at(-1)?.n ?? reader.cursor;
      expect(sorted(follower)).toEqual(sorted(await onSnapshot(dataDir, (database) => mirrorCopy(database))));
      return fresh;
    },
  };
  const move = async () => {
    day += 1;
    const at = new Date(Date.UTC(2026, 10, day)).toISOString();
    data.signals.push(aSignal(1000 + day, { updatedAt: at, createdAt: at, laterField: `x${day}` }));
    data.signals.splice(day, 1);
    Object.assign(data.accounts[0] ?? {}, { name: `Renamed ${day}`, updatedAt: at });
    Object.assign(data.contacts[day] ?? {}, { email: `new${day}@x`, lastChangeDetectedOn: at });
    expect((await mirror.sync({ full: day % 2 === 0 })).error).toBeNull();
  };
  return { dataDir, reader, move };
};

/** The feed came with this migration. */
const FEED = readMigrations().findIndex(({ name }) => name.includes("changes")) + 1;
const SINCE_THE_FEED = readMigrations()
  .map((_, index) => index + 1)
  .filter((count) => count >= FEED && count < readMigrations().length);

test.each(SINCE_THE_FEED)(
  "a warehouse with %i migrations is upgraded, moves on and is replayed: the reader's cursor skips and repeats nothing, before and after",
  async (count) => {
    const { dataDir, reader, move } = await aFollowedMirror();
    await move();
    await reader.read();
    await move();
    const unread = reader.cursor;
    await putBack(dataDir, count);
    await move();
    const fresh = await reader.read();
    expect(fresh[0]?.n).toBe(unread + 1);
    const all = await feedOf(dataDir, 0);
    await replay(dataDir);
    expect(await feedOf(dataDir, 0)).toEqual(all);
    expect(await reader.read()).toEqual([]);
    await move();
    expect((await reader.read()).length).toBeGreaterThan(0);
  },
);

test("a warehouse from before the feed is upgraded, read, and replayed: the numbers that readers have got stay", async () => {
  const { dataDir, reader, move } = await aFollowedMirror();
  await move();
  await move();
  await putBack(dataDir, FEED - 1);
  forgetNumbers(dataDir);
  await move();
  const [first] = await reader.read();
  expect(first).toMatchObject({ n: 1, change: "insert", run_id: null });
  const all = await feedOf(dataDir, 0);
  await replay(dataDir);
  expect(await feedOf(dataDir, 0)).toEqual(all);
  await move();
  const fresh = await reader.read();
  expect(fresh[0]?.n).toBe(all.length + 1);
});

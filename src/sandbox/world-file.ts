// File of a sandbox's generated warehouse: generated once, and reused when `dir` is given.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { makeFolders } from "../core/files/make-folders.ts";
import { readOwnText, writeNewSync } from "../core/files/own-files.ts";
import { type Database, openDatabase } from "../warehouse/duckdb/database.ts";
import { threadsFor } from "../warehouse/duckdb/instance.ts";
import { migrate } from "../warehouse/file/migrate.ts";
import { generateWorld, type WorldOptions } from "./generate/world.ts";

const recordSchema = z.object({ seed: z.int(), accounts: z.int(), now: z.number(), bigIds: z.boolean() });

export interface WorldFile {
  readonly database: Database;
  /** True when it existed already. */
  readonly reused: boolean;
  /** Closes the database and, without `dir`, deletes it. */
  close(): Promise<void>;
}

export interface WorldFileOptions extends WorldOptions {
  /** Directory to keep the warehouse in; undefined: a temporary one, deleted on close. */
  readonly dir?: string;
  readonly threads?: number;
}

const readRecord = async (file: string) => {
  try {
    return recordSchema.safeParse(JSON.parse(await readOwnText(file))).data;
  } catch {
    return undefined;
  }
};

/** Opens the warehouse for these options, and generates it if it does not exist. A reused one keeps its `now`. */
export const openWorld = async (options: WorldFileOptions): Promise<WorldFile> => {
  const { seed, accounts, now, bigIds } = options;
  const dir = options.dir ?? (await mkdtemp(join(tmpdir(), "duckmirror-sandbox-")));
  makeFolders(dir);
  const file = join(dir, "sandbox.duckdb");
  const recordFile = join(dir, "sandbox.json");
  const record = await readRecord(recordFile);
  const reused = record?.seed === seed && record.accounts === accounts && record.bigIds === bigIds;
  if (!reused) {
    // The record is removed first and written last, so that a half-written warehouse is never reused.
    for (const stale of [recordFile, file, `${file}.wal`]) await rm(stale, { force: true });
  }
  const remove = async () => {
    if (options.dir === undefined) await rm(dir, { recursive: true, force: true });
  };
  try {
    const database = await openDatabase(file, options.threads === undefined ? {} : { threads: options.threads });
    const close = async () => {
      await database.close();
      await remove();
    };
    try {
      await migrate(database, now);
      if (!reused) {
        // A second thread would mostly ask whether the first is done, while JavaScript writes the next rows.
        await database.run("SET GLOBAL threads = 1");
        await generateWorld(database, { seed, accounts, now, bigIds });
        await database.flushWal();
        await database.run(`SET GLOBAL threads = ${options.threads ?? threadsFor(file)}`);
        writeNewSync(recordFile, JSON.stringify({ seed, accounts, now, bigIds }));
      }
      return { database, reused, close };
    } catch (error) {
      await database.close();
      throw error;
    }
  } catch (error) {
    await remove();
    throw error;
  }
};

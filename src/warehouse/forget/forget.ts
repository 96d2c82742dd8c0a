// Erases contacts from archive, tables, snapshot and exports, keeps a keyed hash of each id, and searches every file
// for remains as proof. Each step can be repeated: after a crash, `forget --resume` repeats all of them.
import { rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { z } from "zod";
import type { MemoryPlan } from "../../core/config/memory-plan.ts";
import { ALERTS, BACKUP_ON_ITS_WAY, DELIVERING, HOME_ON_ITS_WAY } from "../../core/data-dir.ts";
import { DuckmirrorError, hasSystemCode } from "../../core/errors.ts";
import { allEntriesOfOwn, listOwn, readOwnText, replaceFile } from "../../core/files/own-files.ts";
import { createIdEraser, forgottenId, type IdEraser } from "../../core/forgotten.ts";
import { jsonOrNull } from "../../core/json.ts";
import { formsOf, isWord } from "../../core/text/escaped-forms.ts";
import { timeMs } from "../../core/time.ts";
import { type ForgottenList, keyedForgotten, readForgotten, writeForgotten } from "../archive/forgotten-list.ts";
import type { Database } from "../duckdb/database.ts";
import { openError, statementError } from "../duckdb/duck-errors.ts";
import { sqlText } from "../duckdb/sql-files.ts";
import { exportSnapshot, settleExport } from "../export/export.ts";
import { exportFolders, isInside, MANIFEST_NAME, readManifest } from "../export/manifest.ts";
import { makeBaseline, readBaseline } from "../file/baseline/baseline.ts";
import { startPendingFeed } from "../file/feed-check.ts";
import { removeKept } from "../file/publish/keep-snapshots.ts";
import { publishSnapshot, removeLeftovers, stampPublished } from "../file/publish/publish.ts";
import { isFreshFolder, type RewriteMeans, rewriteFile } from "../file/publish/rewrite-file.ts";
import {
  enterMirror,
  memoryOf,
  openWorking,
  takeWriterLock,
  type WarehouseOptions,
  warehousePaths,
} from "../file/working-file.ts";
import { openJournal } from "../journal/journal.ts";
import { keptFolder } from "../read/kept-snapshots.ts";
import { type ArchiveBodies, cleanArchive } from "./archive.ts";
import {
  type FeedTraces,
  type ForgottenRows,
  findInFeed,
  forgetRows,
  gatherPeople,
  idsByEmail,
  type Person,
  redactInFeed,
} from "./people.ts";
import { type Hit, type Scan, scanFor } from "./scan.ts";

// Removes messages of alert rules that hold an erased person: those that wait, and dead letters; and what a rule notes of
// a query that failed at one of the person's values.

/** Whether a text holds a text of theirs where no letter or digit is next to it, because a short id is part of many texts. */
const namesOneOf = (people: readonly Person[]): ((text: string) => boolean) => {
  const forms = new Set(people.flatMap(({ traces }) => traces.map(({ text }) => formsOf(text))));
  const patterns = [...forms].map((form) => new RegExp(form, "gu"));
  return (text) =>
    patterns.some((pattern) =>
      [...text.matchAll(pattern)].some((match) => isWord(text, match.index, match.index + match[0].length)),
    );
};

const eventSchema = z.object({ key: z.string(), row: z.unknown() });
const messageSchema = z.object({ body: z.object({ data: z.object({ events: z.array(eventSchema) }) }) });

/** A number with fewer digits is an amount, not an id. */
const SHORTEST_NUMBER = 6;

const textsIn = (value: unknown): readonly string[] => {
  if (typeof value === "string") return [value];
  if (typeof value === "number") return [String(value)].filter((text) => text.length >= SHORTEST_NUMBER);
  if (Array.isArray(value)) return value.flatMap(textsIn);
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, part]) => [name, ...textsIn(part)]);
};

/** What a message says of people: its numbers and times would match a short id. */
const saidIn = (text: string): readonly string[] => {
  const message = messageSchema.safeParse(jsonOrNull(text));
  return message.success ? textsIn(message.data.body.data.events.map(({ key, row }) => [key, row])) : [text];
};

const problemSchema = z.looseObject({ problem: z.object({ message: z.string() }) });

/** Removes the problem of a rule whose query failed at a value of the person; the rule's next pass finds it anew. */
const clearProblem = async (folder: string, isTheirs: (text: string) => boolean): Promise<void> => {
  const file = join(folder, "position.json");
  const read = async () => problemSchema.safeParse(jsonOrNull(await readOwnText(file))).data;
  if (!isTheirs((await read())?.problem.message ?? "")) return;
  // Where a pass is under way, it keeps a position of its own; the search that follows finds what it left.
  const lock = await takeWriterLock(join(folder, "writer.lock"), folder).catch(() => null);
  try {
    const position = lock === null ? undefined : await read();
    if (position !== undefined) await replaceFile(file, `${JSON.stringify({ ...position, problem: null })}\n`);
  } finally {
    await lock?.release();
  }
};

/** Of messages, and of what a crash left of one. A rule's position stays: without it, every message that waits is lost. */
const MESSAGE = /^\d{12}\.json$|\.json\.new$/;

/** Paths of the removed messages. `state`: the folder state/ of the data directory. */
export const removeMessages = async (state: string, people: readonly Person[]): Promise<readonly string[]> => {
  const isTheirs = namesOneOf(people);
  const folder = join(state, ALERTS);
  const removed: string[] = [];
  for (const entry of allEntriesOfOwn(folder)) {
    const file = join(entry.parentPath, entry.name);
    if (!entry.isFile()) continue;
    if (entry.name === "position.json") await clearProblem(entry.parentPath, isTheirs);
    if (!MESSAGE.test(entry.name)) continue;
    if (!saidIn(await readOwnText(file)).some(isTheirs)) continue;
    await rm(file);
    removed.push(file);
  }
  return removed;
};

// Brings exports up to date after an erasure: each is written again without the person, and what a killed export left goes.

/** False: nothing is there. Throws the system's error: a folder that cannot be reached may hold the person. */
const isFolder = async (dir: string): Promise<boolean> => {
  try {
    return (await stat(dir)).isDirectory();
  } catch (error) {
    if (hasSystemCode(error, "ENOENT", "ENOTDIR")) return false;
    throw error;
  }
};

/** Refuses a folder without an export: it would not be cleaned, and the report would not say so. Throws USAGE. */
const assertExports = async (dirs: readonly string[]): Promise<void> => {
  for (const dir of dirs) {
    if ((await isFolder(dir)) && (await readManifest(dir)) !== null) continue;
    throw new DuckmirrorError("USAGE", {
      detail: `--export-dir: ${dir} holds no export, as there is no ${MANIFEST_NAME}`,
    });
  }
};

interface RefreshedExports {
  /** Folders that are up to date. */
  readonly refreshed: readonly string[];
  /** Folders outside the data directory to which exports went, and which are not there now. */
  readonly missing: readonly string[];
}

/** `named`: folders that the data directory does not know. Throws the errors of `exportSnapshot`. */
const refreshExports = async (
  { dataDir, snapshot, memory }: { readonly dataDir: string; readonly snapshot: string; readonly memory: MemoryPlan },
  named: readonly string[],
): Promise<RefreshedExports> => {
  const refreshed: string[] = [];
  const missing: string[] = [];
  for (const dir of new Set([...(await exportFolders(dataDir)), ...named])) {
    if (!(await isFolder(dir))) {
      if (!isInside(dataDir, dir)) missing.push(dir);
      continue;
    }
    await settleExport(dir);
    const manifest = await readManifest(dir);
    if (manifest === null) continue;
    const { format, guardFormulas, tables } = manifest;
    const since = manifest.since === null ? null : timeMs(manifest.since);
    await exportSnapshot({ snapshot, dir, memory, format, tables, since, guardFormulas });
    refreshed.push(dir);
  }
  return { refreshed, missing };
};

/** The people to erase, in the form that cleaning bodies needs. */
export interface Forgetting {
  /** Hash of a contact's id when the contact is forgotten. */
  readonly find: (id: string) => string | null;
  readonly eraser: IdEraser;
  /** True when a text holds an id, address or number of theirs. */
  readonly holdsTrace: (text: string) => boolean;
}

export type ForgetStep = "listed" | "archive" | "tables" | "rewritten" | "published" | "exports" | "scanned";

export interface ForgetRequest {
  readonly ids: readonly string[];
  /** E-mail addresses; capitals make no difference. */
  readonly emails: readonly string[];
  /** Erase everyone with a matching address. */
  readonly all: boolean;
  /** Export folders that the data directory does not know. */
  readonly exportDirs: readonly string[];
  readonly bodies: (forgetting: Forgetting) => ArchiveBodies;
  /** Called after each step. */
  readonly onStep: (step: ForgetStep) => void;
}

export interface ForgetReport {
  /** Keyed hashes of the erased ids; syncs skip these contacts from now on. */
  readonly hashes: readonly string[];
  /** Contacts of whom anything was mirrored; the others are only kept out. */
  readonly erased: number;
  readonly rows: ForgottenRows;
  readonly archiveFiles: number;
  /** Export folders that were brought up to date. */
  readonly exports: readonly string[];
  /** Folders of exports that are not there now: what they hold was not erased. */
  readonly missing: readonly string[];
  /** Removed files: old copies of the working file, DuckDB's spilled data, and messages of alert rules with the person. */
  readonly removed: readonly string[];
  readonly scan: Scan;
}

const wantedIds = async (
  database: Database,
  request: ForgetRequest,
  list: ForgottenList,
): Promise<readonly string[]> => {
  const { ids, emails, all } = request;
  if (emails.length === 0) return ids;
  const found = await idsByEmail(database, emails);
  const resumes = list.entries.some(({ done }) => !done);
  if (found.length === 0 && ids.length === 0 && !resumes) throw new DuckmirrorError("CONTACT_UNKNOWN");
  if (found.length > 1 && !all) {
    throw new DuckmirrorError("CONTACT_AMBIGUOUS", { count: found.length, ids: found.slice(0, 20).join(", ") });
  }
  return [...new Set([...ids, ...found])];
};

const nobody: Forgetting = {
  find: () => null,
  eraser: createIdEraser(new Map()),
  holdsTrace: () => false,
};

const forgettingOf = (people: readonly Person[], list: ForgottenList): Forgetting => {
  const telling = people.flatMap(({ traces }) => traces.filter(({ kind }) => kind !== "name").map(({ text }) => text));
  return {
    find: list.find,
    eraser: createIdEraser(new Map(people.map(({ id, hash }) => [id, forgottenId(hash)]))),
    // Compare whole values, because a short id is part of many texts.
    holdsTrace: (text) => telling.some((trace) => text.includes(JSON.stringify(trace))),
  };
};

/** Adds the people to the list as unfinished; keeps those erased earlier. */
const putOnList = async (archiveDir: string, list: ForgottenList, people: readonly Person[], now: number) => {
  const fresh = new Set(people.map(({ hash }) => hash));
  const others = list.entries.filter(({ hash }) => !fresh.has(hash));
  const at = new Date(now).toISOString();
  await writeForgotten(archiveDir, [
    ...others,
    ...[...fresh].map((hash) => ({
      hash,
      forgotten_at: at,
      done: false,
    })),
  ]);
  return readForgotten(archiveDir);
};

/**
 * Removes copies of the working file kept by a replay, its unfinished files, DuckDB's spilled data, and snapshots of
 * deliveries and of backups on their way.
 */
const removeCopies = async (working: string): Promise<readonly string[]> => {
  const state = dirname(working);
  const name = basename(working);
  const copies = (await listOwn(state)).filter(
    (file) =>
      file === "tmp" ||
      file === DELIVERING ||
      file.startsWith(BACKUP_ON_ITS_WAY) ||
      file.startsWith(HOME_ON_ITS_WAY) ||
      isFreshFolder(file) ||
      file.startsWith(`${name}.new`) ||
      /\.old(\.wal)?$/.test(file),
  );
  for (const copy of copies) await rm(join(state, copy), { recursive: true, force: true });
  return copies.map((copy) => join(state, copy));
};

/** Removes kept snapshots that hold anything of the people, also what others share with them; a name alone is nobody's. */
const removeKeptOf = async (
  snapshot: string,
  people: readonly Person[],
  means: RewriteMeans,
): Promise<readonly string[]> => {
  const { left, mentions } = await scanFor(people, [keptFolder(snapshot)], means);
  const holding = [...left, ...mentions.filter(({ kind }) => kind !== "name")].map(({ file }) => file);
  const paths = [...new Set(holding)].filter((file) => file.endsWith(".duckdb"));
  if (paths.length > 0) await removeKept(snapshot, paths);
  return paths;
};

const described = ({ file, table, kind, times }: Hit): string =>
  `${kind === "id" ? "an id" : `${kind} data`} ${times} times in ${table === null ? file : `${file} (${table})`}`;

interface Place {
  readonly database: Database;
  readonly archiveDir: string;
  readonly options: WarehouseOptions;
}

/** Archive first, then tables: after a crash in between, the journal is not ahead of the tables. */
const erase = async ({ database, archiveDir, options }: Place, request: ForgetRequest, known: ForgottenList) => {
  const now = options.clock.now();
  const ids = await wantedIds(database, request, known);
  const archive = { dir: archiveDir, bodies: request.bodies(nobody) };
  const people = await gatherPeople(database, archive, ids, known);
  const list = await putOnList(archiveDir, known, people, now);
  request.onStep("listed");
  const forgetting = forgettingOf(people, list);
  const archiveFiles = await cleanArchive(archiveDir, request.bodies(forgetting), forgetting.eraser);
  request.onStep("archive");
  const journal = await openJournal({ dir: archiveDir, database, clock: options.clock });
  const hashes = people.map(({ hash }) => hash);
  let traces: FeedTraces = { changes: [], deleted: [] };
  try {
    await startPendingFeed(database, journal, now);
    const rows = await journal.record(
      async () => {
        traces = await findInFeed(database, people);
        const { changes, deleted } = traces;
        return { kind: "forgotten", hashes, rows: deleted.length, now, changes, deleted };
      },
      async (tx) => {
        await tx.run(sqlText("warehouse/forgotten-rows.sql"), [traces.deleted.length]);
        await redactInFeed(tx, traces, now);
        return forgetRows(tx, people, forgetting.eraser);
      },
    );
    request.onStep("tables");
    return { people, list, archiveFiles, rows };
  } finally {
    await journal.close();
  }
};

const run = async (options: WarehouseOptions, request: ForgetRequest): Promise<ForgetReport> => {
  const { archiveDir, snapshot, working, state } = warehousePaths(options.dataDir);
  await assertExports(request.exportDirs);
  await removeLeftovers(snapshot);
  const known = await keyedForgotten(archiveDir);
  const memory = memoryOf(options);
  const means = { tempDir: join(state, "tmp"), memory };
  const database = await openWorking(working, options).catch((error: unknown) => {
    throw openError(error, working, options.dataDir);
  });
  let erased: Awaited<ReturnType<typeof erase>>;
  try {
    erased = await erase({ database, archiveDir, options }, request, known);
    await stampPublished(database, options.clock.now());
    await rewriteFile(database, means);
    request.onStep("rewritten");
    await publishSnapshot(database, snapshot, {
      now: () => options.clock.now(),
      keeping: null,
      home: options.home,
    });
    // The one before still holds them.
    if ((await readBaseline(state).catch(() => "damaged")) !== null)
      await makeBaseline(state, snapshot, options.clock.now());
    request.onStep("published");
  } finally {
    await database.close();
  }
  const removed = [
    ...(await removeKeptOf(snapshot, erased.people, means)),
    ...(await removeCopies(working)),
    ...(await removeMessages(state, erased.people)),
  ];
  const place = { dataDir: options.dataDir, snapshot, memory };
  const { refreshed: exports, missing } = await refreshExports(place, request.exportDirs);
  request.onStep("exports");
  const scan = await scanFor(erased.people, [options.dataDir, ...exports], means);
  request.onStep("scanned");
  if (scan.left.length > 0) {
    const detail = scan.left.slice(0, 10).map(described).join("; ");
    throw new DuckmirrorError("FORGET_INCOMPLETE", { detail });
  }
  await writeForgotten(
    archiveDir,
    erased.list.entries.map((entry) => ({ ...entry, done: true })),
  );
  await options.home?.keep(working);
  const { archiveFiles, rows, people } = erased;
  const hashes = people.map(({ hash }) => hash);
  return {
    hashes,
    erased: people.filter(({ mirrored }) => mirrored).length,
    rows,
    archiveFiles,
    exports,
    missing,
    removed,
    scan,
  };
};

/**
 * Erases contacts and finishes an unfinished erasure. Throws CONTACT_UNKNOWN, CONTACT_AMBIGUOUS, EXPORT_FOLDER, USAGE,
 * FORGET_INCOMPLETE, FORGOTTEN_UNREADABLE, WRITER_BUSY, errors of opening the warehouse, and faults. Once a contact is on the list, no
 * other command writes until the erasure is finished.
 */
export const forgetContacts = async (options: WarehouseOptions, request: ForgetRequest): Promise<ForgetReport> => {
  const lock = await enterMirror(options);
  try {
    return await run(options, request);
  } catch (error) {
    throw error instanceof DuckmirrorError ? error : statementError(error);
  } finally {
    await lock.release();
  }
};

// The source of a delivery: opens one published snapshot for all destinations, and decides for each table whether a destination gets its
// changes or every row.
import { createHash } from "node:crypto";
import { statSync } from "node:fs";
import { link, mkdtemp, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { type TableName, tableSpec } from "../catalog/tables.ts";
import type { MemoryPlan } from "../core/config/memory-plan.ts";
import { DELIVERING, snapshotPath } from "../core/data-dir.ts";
import { DuckmirrorError, detailOf } from "../core/errors.ts";
import { copyOwn, listOwn, makeOwnFolder } from "../core/files/own-files.ts";
import { HISTORY_ID, lastingId } from "../core/state/shared-file.ts";
import { type ForgottenList, readForgotten } from "../warehouse/archive/forgotten-list.ts";
import { type Database, openDatabase } from "../warehouse/duckdb/database.ts";
import { fileError } from "../warehouse/duckdb/duck-errors.ts";
import { sqlText } from "../warehouse/duckdb/sql-files.ts";
import { warehousePaths } from "../warehouse/file/working-file.ts";
import { changeAt, type FeedBounds, readFeedBounds } from "../warehouse/read/changes/read-changes.ts";
import { readPublishedAt } from "../warehouse/read/looks.ts";
import { assertOwnSnapshot } from "../warehouse/user-sql/trusted-files.ts";
import type { DeliveredTable, DeliverySource, Position } from "./destination.ts";
import { changedRows, type Facts, factsOfSnapshot, type Mark, markText, readMark } from "./position-mark.ts";

// A second name for the published snapshot, so that a delivery reads one snapshot to its end, whatever is published
// meanwhile.

/** Names older than this were left by killed deliveries, ms. */
const LEFT_AFTER_MS = 24 * 3_600_000;

interface PinnedSnapshot {
  /** Absolute path. */
  readonly path: string;
  release(): Promise<void>;
}

const removeLeft = async (folder: string, now: number): Promise<void> => {
  for (const name of await listOwn(folder)) {
    const made = await stat(join(folder, name)).catch(() => null);
    if (made !== null && made.mtimeMs < now - LEFT_AFTER_MS)
      await rm(join(folder, name), { recursive: true, force: true });
  }
};

/**
 * Pins the snapshot; the file system gives it a second name, or a copy where it has no such names. Throws
 * SNAPSHOT_MISSING.
 */
const pinSnapshot = async (dataDir: string, snapshot: string, now: number): Promise<PinnedSnapshot> => {
  await assertOwnSnapshot(snapshot);
  const folder = join(dataDir, "state", DELIVERING);
  makeOwnFolder(folder);
  await removeLeft(folder, now);
  const own = await mkdtemp(join(folder, "d-"));
  const path = join(own, "warehouse.duckdb");
  const release = () => rm(own, { recursive: true, force: true });
  try {
    await link(snapshot, path).catch(() => copyOwn(snapshot, path));
  } catch (error) {
    await release();
    throw error;
  }
  return { path, release };
};

const MEMORY_LIMIT = "1GB";

export interface SourceRequest {
  readonly dataDir: string;
  /** ms since the epoch. */
  readonly now: number;
  readonly memory?: MemoryPlan;
}

/** How a destination is served. */
export interface Recipient {
  /** Name in the configuration, for messages. */
  readonly name: string;
  /** Tables to deliver; empty: all. */
  readonly tables: readonly string[];
  /** Replace what another mirror, or a later state of this one, delivered, or what somebody changed. */
  readonly takeOver: boolean;
}

/** A pinned snapshot that any number of destinations read. */
export interface OpenSource {
  /** Position of the snapshot and its tables, as one destination sees them. */
  sourceFor(recipient: Recipient): Promise<DeliverySource>;
  /** When the snapshot was published, ms since the epoch. */
  readonly publishedAt: number;
  /** False after another snapshot was published. */
  isNewest(): boolean;
  close(): Promise<void>;
}

const runRow = z.object({ run_id: z.string(), credits: z.number() });
const changesRow = z.object({ table_name: z.string(), changes: z.number() });

interface Snapshot {
  readonly database: Database;
  readonly bounds: FeedBounds;
  readonly position: Position;
  readonly facts: Facts;
}

/**
 * The mark of `from` if the changes since can be brought; null: only whole tables can. Throws DESTINATION_OTHER_MIRROR and
 * DESTINATION_AHEAD.
 */
const knownMark = async (
  from: Position,
  { database, bounds, position }: Snapshot,
  { name, takeOver }: Recipient,
): Promise<Mark | null> => {
  if (takeOver) return null;
  const isOther = (detail: string) => new DuckmirrorError("DESTINATION_OTHER_MIRROR", { name, detail });
  if (from.mirror !== position.mirror) {
    throw isOther(`it was filled by the mirror ${from.mirror}, this one is ${position.mirror}`);
  }
  if (from.n > bounds.last) throw new DuckmirrorError("DESTINATION_AHEAD", { name, found: from.n, last: bounds.last });
  const mark = readMark(from.mark);
  if (from.n < bounds.goneTo || mark === null) return null;
  const change = await changeAt(database, from.n);
  // The last change that is no longer kept, or none at all.
  if (change === null) return from.n === 0 ? mark : null;
  if (change !== mark.change) throw isOther(`change ${from.n} is another one there`);
  return mark;
};

/** Whether the rows that changed since `from` are those with a number. */
const isNumbered = async (
  table: TableName,
  from: { readonly n: number; readonly mark: Mark },
  snapshot: Snapshot,
  changes: number,
) => {
  const { facts, database } = snapshot;
  const [before, now] = [from.mark.tables[table], facts.mark.tables[table]];
  if (before === undefined || now === undefined) return false;
  if (before.columns !== now.columns || before.unnumbered !== now.unnumbered) return false;
  if (changes === 0) return before.rows === now.rows;
  const changed = await changedRows(database, table, facts.columns.get(table) ?? [], from.n);
  return before.rows - changed.before + changed.after === now.rows;
};

const tablesSince = async (from: Position | null, snapshot: Snapshot, recipient: Recipient) => {
  const { database, facts } = snapshot;
  const mark = from === null ? null : await knownMark(from, snapshot, recipient);
  const changed =
    from === null || mark === null
      ? []
      : await database.query(sqlText("deliver/changes-by-table.sql"), [from.n], changesRow);
  const tables: DeliveredTable[] = [];
  for (const [name, columns] of facts.columns) {
    const changes = changed.find(({ table_name: table }) => table === name)?.changes ?? 0;
    const since = from === null || mark === null ? null : { n: from.n, mark };
    const byKey = since !== null && (await isNumbered(name, since, snapshot, changes));
    const extent = byKey ? "changes" : "whole";
    tables.push({ name, key: tableSpec(name).key, columns, extent, changes: byKey ? changes : null });
  }
  return tables;
};

/** Digest of who was erased and when. */
const erasuresOf = ({ entries }: ForgottenList): string =>
  createHash("sha256")
    .update(JSON.stringify(entries.map(({ hash, forgotten_at }) => [hash, forgotten_at])))
    .digest("hex")
    .slice(0, 16);

const openPinned = async ({ path }: PinnedSnapshot, { memory }: SourceRequest): Promise<Database> =>
  openDatabase(path, {
    readOnly: true,
    ...(memory === undefined ? { memoryLimit: MEMORY_LIMIT } : { memory }),
  }).catch((raw: unknown) => {
    const error = fileError(raw, path, true);
    throw error instanceof DuckmirrorError ? error : new DuckmirrorError("QUERY_FAILED", { detail: detailOf(error) });
  });

/** Different for each publish, which renames a new file into place. */
const versionOf = (file: string): string | null => {
  const found = statSync(file, { throwIfNoEntry: false, bigint: true });
  return found === undefined ? null : `${found.ino}-${found.mtimeNs}`;
};

/** Opens the published snapshot. Throws SNAPSHOT_MISSING, SNAPSHOT_DAMAGED, CATALOG_REFUSED, DATA_DIR_UNWRITABLE. */
export const openSource = async (request: SourceRequest): Promise<OpenSource> => {
  const { dataDir, now } = request;
  const file = snapshotPath(dataDir);
  const opened = versionOf(file);
  const pinned = await pinSnapshot(dataDir, file, now);
  let database: Database;
  try {
    database = await openPinned(pinned, request);
  } catch (error) {
    await pinned.release();
    throw error;
  }
  const close = async () => {
    await database.close();
    await pinned.release();
  };
  try {
    const mirror = await lastingId(dataDir, HISTORY_ID);
    const bounds = await readFeedBounds(database);
    const publishedAt = (await readPublishedAt(database)) ?? now;
    const erasures = erasuresOf(await readForgotten(warehousePaths(dataDir).archiveDir));
    const [last] = await database.query(sqlText("deliver/last-run.sql"), [], runRow);
    return {
      sourceFor: async (recipient) => {
        const facts = await factsOfSnapshot(database, bounds.last, recipient.tables);
        const position = { mirror, n: bounds.last, mark: markText(facts.mark) };
        return {
          snapshot: pinned.path,
          publishedAt,
          erasures,
          position,
          takeOver: recipient.takeOver,
          run: last === undefined ? null : { id: last.run_id, credits: last.credits },
          tablesSince: (from) => tablesSince(from, { database, bounds, position, facts }, recipient),
        };
      },
      publishedAt,
      isNewest: () => versionOf(file) === opened,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
};

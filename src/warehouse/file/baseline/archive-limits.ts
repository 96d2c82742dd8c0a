// Keeps the archive within its limits: removes files that are too old, or the oldest of too many. Only what the baseline
// covers is removed; where it does not reach far enough, a new one is made first.
import { rm, rmdir, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { timeMs } from "../../../core/time.ts";
import { monthFiles } from "../../archive/read-archive.ts";
import { makeBaseline, proveBaseline, readBaseline } from "./baseline.ts";

const DAY_MS = 86_400_000;
/** Files of the last day stay: a run that was killed may still need them. */
const ALWAYS_KEPT_MS = DAY_MS;
/** Size under which the archive stays whatever the mirror's size. */
const LEAST_LIMIT_BYTES = 256 * 1024 * 1024;

export interface ArchiveLimits {
  /** null: files of any age stay. */
  readonly days: number | null;
  /** `mirror`: as large as the snapshot, at least 256 MiB. null: no limit. */
  readonly bytes: number | "mirror" | null;
}

interface ArchiveFile {
  readonly path: string;
  /** When its run began or, where the name does not say, when it was last written: ms since the epoch. */
  readonly at: number;
  readonly bytes: number;
  /** Number of a journal file's first entry; null for other files. */
  readonly firstEntry: number | null;
  /** Of other files: the run that wrote it. */
  readonly runId: string | null;
}

/** Start of a file's run, from its name (`20261121T103000Z-…`), in ms since the epoch. */
const startOfRun = (file: string): number | null => {
  const [, day, time] = /^(\d{8})T(\d{6})Z-/.exec(file) ?? [];
  if (day === undefined || time === undefined) return null;
  const iso = `${day.slice(0, 4)}-${day.slice(4, 6)}-${day.slice(6)}T${time.slice(0, 2)}:${time.slice(2, 4)}:${time.slice(4)}Z`;
  return timeMs(iso);
};

/** Run of a file of responses or intents: `<run id>.ndjson.gz`, `<run id>.2.intents.ndjson`. */
const runOf = (file: string): string => file.replace(/(\.\d+)?(\.intents\.ndjson|\.ndjson\.gz)$/, "");

const firstEntryOf = (file: string): number | null => {
  const [, seq] = /^(\d{12})(?:\.\d+)?\.journal\.ndjson$/.exec(file) ?? [];
  return seq === undefined ? null : Number(seq);
};

/** Files of the archive, oldest first. */
const archiveFiles = async (dir: string): Promise<readonly ArchiveFile[]> => {
  const found: ArchiveFile[] = [];
  for (const { name, path } of await monthFiles(dir)) {
    const { mtimeMs, size } = await stat(path);
    const firstEntry = firstEntryOf(name);
    const runId = firstEntry === null ? runOf(name) : null;
    found.push({ path, at: startOfRun(name) ?? mtimeMs, bytes: size, firstEntry, runId });
  }
  return found.sort((a, b) => a.at - b.at);
};

/** The limits with the size that `mirror` means. */
const resolved = (limits: ArchiveLimits, mirrorBytes: number) => {
  const bytes = limits.bytes === "mirror" ? Math.max(mirrorBytes, LEAST_LIMIT_BYTES) : limits.bytes;
  return { days: limits.days, bytes };
};

/** Limits from which removing begins: a little above the others, so that not every sync proves the baseline. */
const relaxed = (limits: ArchiveLimits, mirrorBytes: number): ArchiveLimits => {
  const { days, bytes } = resolved(limits, mirrorBytes);
  return { days: days === null ? null : days + 1, bytes: bytes === null ? null : bytes * 1.1 };
};

/** The files that the limits no longer allow. PURE. */
export const beyondLimits = (
  files: readonly ArchiveFile[],
  limits: ArchiveLimits,
  { now, mirrorBytes }: { readonly now: number; readonly mirrorBytes: number },
): readonly ArchiveFile[] => {
  const most = resolved(limits, mirrorBytes).bytes;
  let excess = most === null ? 0 : files.reduce((sum, { bytes }) => sum + bytes, 0) - most;
  return files.filter((file) => {
    if (file.at > now - ALWAYS_KEPT_MS) return false;
    const isOld = limits.days !== null && file.at < now - limits.days * DAY_MS;
    if (!isOld && excess <= 0) return false;
    excess -= file.bytes;
    return true;
  });
};

/** Last entry of a journal file, by the file after it; infinite for the newest, which always stays. */
const lastEntryOf = (file: ArchiveFile, files: readonly ArchiveFile[]): number => {
  const later = files.flatMap(({ firstEntry }) =>
    firstEntry !== null && firstEntry > (file.firstEntry ?? 0) ? [firstEntry] : [],
  );
  return later.length === 0 ? Number.POSITIVE_INFINITY : Math.min(...later) - 1;
};

interface Place {
  readonly archiveDir: string;
  /** Just published. */
  readonly snapshot: string;
  /** Runs that have not ended: their files stay. Called only where something may have to go. */
  readonly openRuns: () => Promise<ReadonlySet<string>>;
  /** ms since the epoch. */
  readonly now: number;
}

export interface ArchivePruned {
  readonly files: number;
  readonly bytes: number;
  readonly newBaseline: boolean;
}

/** Removes what is beyond the limits. Throws DISK_FULL; then nothing was removed. */
export const keepWithinLimits = async (
  { archiveDir, snapshot, openRuns, now }: Place,
  limits: ArchiveLimits,
): Promise<ArchivePruned> => {
  const all = await archiveFiles(archiveDir);
  const nothing = { files: 0, bytes: 0, newBaseline: false };
  const { size: mirrorBytes } = await stat(snapshot);
  const isWithin = (some: readonly ArchiveFile[]) =>
    beyondLimits(some, relaxed(limits, mirrorBytes), { now, mirrorBytes }).length === 0;
  // Most syncs end here. The database was closed for publishing; asking it would open it again.
  if (isWithin(all)) return nothing;
  const open = await openRuns();
  const files = all.filter(({ runId }) => runId === null || !open.has(runId));
  if (isWithin(files)) return nothing;
  const journal = files.filter(({ firstEntry }) => firstEntry !== null);
  const beyond = beyondLimits(files, limits, { now, mirrorBytes }).filter(
    (file) => file.firstEntry === null || Number.isFinite(lastEntryOf(file, journal)),
  );
  if (beyond.length === 0) return nothing;
  const state = dirname(archiveDir);
  const known = await readBaseline(state).catch(() => null);
  const isCovered = ({ applied, made_at: madeAt }: { readonly applied: number; readonly made_at: number }) =>
    beyond.every((file) => (file.firstEntry === null ? file.at < madeAt : lastEntryOf(file, journal) <= applied));
  const serves =
    known !== null &&
    isCovered(known) &&
    (await proveBaseline(known).then(
      () => true,
      () => false,
    ));
  if (!serves) await makeBaseline(state, snapshot, now);
  for (const { path } of beyond) await rm(path, { force: true });
  for (const folder of new Set(beyond.map(({ path }) => dirname(path)))) {
    // Fails while it holds files.
    await rmdir(folder).catch(() => undefined);
  }
  return { files: beyond.length, bytes: beyond.reduce((sum, { bytes }) => sum + bytes, 0), newBaseline: !serves };
};

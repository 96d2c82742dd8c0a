// A mirror's home: its working state in object storage or a folder, so that any worker can go on with it
// (docs/decisions/homes.md). A job that opens the mirror for writing takes it first. Nothing is published before the home has it.
//   home.json      who has the mirror, and what its files are made of (home-note.ts)
//   packs/…        pieces of files (pieces.ts); the name begins with the fence of its writer
import { randomBytes, randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { rm, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../core/clock.ts";
import type { AzureEnvironment } from "../../core/config/destinations/secrets-in.ts";
import { HOME_ON_ITS_WAY } from "../../core/data-dir.ts";
import { DuckmirrorError } from "../../core/errors.ts";
import { listOwn, makeFolders, readOwnIfThere } from "../../core/files/own-files.ts";
import { jsonOrNull } from "../../core/json.ts";
import { HISTORY_ID, lastingId, readNote, writeNote } from "../../core/state/shared-file.ts";
import { moveOver } from "../../core/system.ts";
import { MOVING_FILES } from "../../warehouse/file/baseline/backup.ts";
import { makeBaseline } from "../../warehouse/file/baseline/baseline.ts";
import type { MirrorHome } from "../../warehouse/file/publish/publish.ts";
import { warehousePaths } from "../../warehouse/file/working-file.ts";
import { keptFolder } from "../../warehouse/read/kept-snapshots.ts";
import { assertForeignCatalog } from "../../warehouse/user-sql/trusted-files.ts";
import { assertConditional, type ObjectStore, replaceText, withStore } from "../stores/object-store.ts";
import { openStore, parsePlace } from "../stores/open-store.ts";
import {
  enteredBy,
  firstNote,
  type HomeNote,
  isAhead,
  isAnew,
  isPresent,
  type LocalNote,
  localFile,
  mostBytes,
  NOTE,
  parseNote,
  takenBy,
  withFiles,
} from "./home-note.ts";
import { cutFile, joinFile, type LocalPiece, type WrittenPack, writePack } from "./pieces.ts";

const WORKING = "working.duckdb";
const ERASED = join("archive", "forgotten.json");
/** Id of this data directory, which does not move. */
const HOLDER = "home-holder";
const SIGNAL = new AbortController().signal;

export interface HomeSettings {
  /** `s3://bucket/prefix?endpoint=…&region=…`, `gs://…`, `az://…` or a folder. */
  readonly url: string;
  readonly dataDir: string;
  readonly azure: AzureEnvironment;
  readonly clock: Pick<Clock, "now">;
  /** Unset: by `url`. */
  readonly open?: () => Promise<ObjectStore>;
}

interface Found {
  readonly note: HomeNote;
  readonly etag: string;
}

const failed = (url: string) => (detail: string, cause: unknown) =>
  new DuckmirrorError("HOME_FAILED", { url, detail }, { cause });

// The parts of an address after `?` are settings of the store.

const KNOWN = ["endpoint", "region", "path_style", "account", "sse", "kms_key_id"];

/** Opens the store of a home; sends nothing yet. Throws CONFIG_INVALID, DESTINATION_PACKAGE_MISSING. */
const openHome = ({ url, azure }: HomeSettings): Promise<ObjectStore> => {
  const [place = "", query = ""] = url.split("?");
  const asked = new URLSearchParams(query);
  const strange = [...asked.keys()].filter((key) => !KNOWN.includes(key));
  if (strange.length > 0) {
    throw new DuckmirrorError("CONFIG_INVALID", {
      detail: `home: ${strange.join(", ")} is none of ${KNOWN.join(", ")}`,
    });
  }
  const get = (name: string) => asked.get(name) ?? undefined;
  const sse = get("sse");
  return openStore(place, parsePlace(place, "/", place), {
    endpoint: get("endpoint"),
    region: get("region"),
    account: get("account"),
    kmsKeyId: get("kms_key_id"),
    azure,
    ownerOnly: true,
    ...(asked.has("path_style") ? { pathStyle: get("path_style") === "true" } : {}),
    ...(sse === "AES256" || sse === "aws:kms" ? { sse } : {}),
  });
};

/** What a data directory knows of its home; null: nothing. */
export const readLocalNote = (dataDir: string): Promise<LocalNote | null> =>
  readNote(localFile(join(dataDir, "state")));

/** Contract of `status --json`; `behind`: seconds by which the home lacks what was written here. */
export const homeStatus = async (dataDir: string, url: string | null) => {
  if (url === null) return null;
  const local = await readLocalNote(dataDir);
  if (local === null || local.url !== url) return { url, fence: null, at: null, behind: null };
  const changes = await Promise.all(
    [WORKING, `${WORKING}.wal`].map((name) => stat(join(dataDir, "state", name)).catch(() => null)),
  );
  const changedAt = Math.max(0, ...changes.map((found) => found?.mtimeMs ?? 0));
  const behind = local.at === null ? null : Math.max(0, (changedAt - local.at) / 1000);
  return { url, fence: local.fence, at: local.at === null ? null : new Date(local.at).toISOString(), behind };
};
export type HomeStatus = Awaited<ReturnType<typeof homeStatus>>;

/** One data directory and its home, while a store is open. */
interface Visit {
  readonly store: ObjectStore;
  readonly settings: HomeSettings;
  readonly state: string;
}

const read = async ({ store, settings }: Visit): Promise<Found | null> => {
  const found = await store.get(NOTE, SIGNAL);
  if (found === null) return null;
  const note = parseNote(jsonOrNull(found.text));
  if (note !== null) return { note, etag: found.etag };
  throw new DuckmirrorError("HOME_DAMAGED", {
    url: settings.url,
    detail: `${NOTE} is no note that this version reads`,
  });
};

/** Writes the note where it is still `before`. False: somebody else wrote meanwhile. */
const write = ({ store }: Visit, note: HomeNote, before: Found | null): Promise<boolean> =>
  replaceText(store, NOTE, `${JSON.stringify(note)}\n`, before, SIGNAL);

const writeLocal = ({ settings, state }: Visit, note: LocalNote | Omit<LocalNote, "v" | "url">): Promise<void> =>
  writeNote(localFile(state), { ...note, v: 1, url: settings.url });

/** Takes the mirror, or finds that this data directory has it already. */
const take = async (visit: Visit, holder: string, first: Found | null): Promise<HomeNote> => {
  const { settings, store } = visit;
  for (let found = first; ; found = await read(visit)) {
    if (found?.note.holder === holder) return found.note;
    if (found === null) await assertConditional(store, SIGNAL);
    const next =
      found === null
        ? firstNote(await lastingId(settings.dataDir, HISTORY_ID), holder, settings.clock.now())
        : takenBy(found.note, holder);
    if (await write(visit, next, found)) return next;
  }
};

const onItsWay = (state: string): string => join(state, `${HOME_ON_ITS_WAY}${randomUUID()}`);

/** Removes what killed processes left. */
const removeLeft = async (state: string): Promise<void> => {
  for (const name of await listOwn(state)) {
    if (name.startsWith(HOME_ON_ITS_WAY)) await rm(join(state, name), { recursive: true, force: true });
  }
};

/** Cuts the files that move; `working` is the closed working file or its copy. */
const cutAll = async (state: string, working: string) => {
  const pieces = new Map<string, LocalPiece>();
  const files: Record<string, string[]> = {};
  if (existsSync(working)) files[WORKING] = await cutFile(working, pieces);
  for (const name of MOVING_FILES) {
    if (existsSync(join(state, name))) files[name] = await cutFile(join(state, name), pieces);
  }
  return { files, pieces };
};

/** Downloads the packs that hold pieces which are not here. Returns where a piece is. */
const fetchPacks = async (
  { store, settings }: Visit,
  note: HomeNote,
  here: ReadonlyMap<string, LocalPiece>,
  folder: string,
) => {
  const wanted = new Set<number>();
  for (const [piece, [nth]] of Object.entries(note.pieces)) if (!here.has(piece)) wanted.add(nth);
  for (const nth of wanted) {
    const key = note.packs[nth]?.key ?? "";
    if (!(await store.download(key, join(folder, `pack-${nth}`), SIGNAL)))
      throw new DuckmirrorError("HOME_DAMAGED", { url: settings.url, detail: `${key} is missing` });
  }
  return (piece: string) => {
    const place = note.pieces[piece];
    return place === undefined ? null : { pack: join(folder, `pack-${place[0]}`), place };
  };
};

/** Puts the files in the place of those that are here, whose archive and journal belong to another past. */
const takePlace = async ({ state, settings }: Visit, note: HomeNote, folder: string): Promise<void> => {
  const { archiveDir, working, snapshot } = warehousePaths(settings.dataDir);
  const erased = async (dir: string) => (await readOwnIfThere(join(dir, ERASED))) ?? "";
  // Snapshots from before may hold people who were erased elsewhere.
  if ((await erased(state)) !== (await erased(folder))) {
    await rm(keptFolder(snapshot), { recursive: true, force: true });
    await rm(snapshot, { force: true });
  }
  await rm(archiveDir, { recursive: true, force: true });
  await rm(`${working}.wal`, { force: true });
  makeFolders(archiveDir, 0o700);
  for (const name of [...MOVING_FILES, WORKING]) {
    if (note.files[name] === undefined) await rm(join(state, name), { force: true });
    else await moveOver(join(folder, name), join(state, name));
  }
  if (existsSync(working)) await makeBaseline(state, working, settings.clock.now());
};

/** Refuses a note whose files would fill the disk: a piece that is named a million times is stored once. */
const assertRoom = async ({ settings, state }: Visit, note: HomeNote): Promise<void> => {
  const { bavail, bsize } = await statfs(state);
  const [needed, free] = [mostBytes(note), bavail * bsize];
  if (needed <= free) return;
  const detail = `the files in ${settings.url} take up to ${needed} bytes, and ${settings.dataDir} has ${free} left`;
  throw new DuckmirrorError("DISK_FULL", { detail });
};

/** Brings the home's state here. What was here and never went home is lost: at most the sync that ran. */
const fetchState = async (visit: Visit, note: HomeNote): Promise<void> => {
  const { state, settings } = visit;
  const names = Object.keys(note.files);
  const strange = names.find((name) => name !== WORKING && !MOVING_FILES.includes(name));
  if (strange !== undefined)
    throw new DuckmirrorError("HOME_DAMAGED", { url: settings.url, detail: `${NOTE} names ${strange}` });
  await assertRoom(visit, note);
  const folder = onItsWay(state);
  makeFolders(join(folder, "archive"), 0o700);
  try {
    const { pieces: local } = await cutAll(state, join(state, WORKING));
    const packed = await fetchPacks(visit, note, local, folder);
    for (const name of names) {
      const wrong = await joinFile(join(folder, name), note.files[name] ?? [], { local, packed });
      if (wrong === null) continue;
      throw new DuckmirrorError("HOME_DAMAGED", {
        url: settings.url,
        detail: `the piece ${wrong} of ${name} is not whole`,
      });
    }
    if (existsSync(join(folder, WORKING))) await assertForeignCatalog(join(folder, WORKING));
    // Until the end nothing here is a state to go on from.
    await writeLocal(visit, { fence: note.fence, state: null, pending: null, at: null, unsure: "fetching" });
    await takePlace(visit, note, folder);
    await writeLocal(visit, { fence: note.fence, state: note.state, pending: null, at: note.at });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

/** Refuses the home of another mirror than the one that is here, and one that lacks what is here. */
const assertReplaceable = async (
  { settings, state }: Visit,
  note: HomeNote,
  local: LocalNote | null,
): Promise<void> => {
  const { dataDir, url } = settings;
  if (!existsSync(join(state, WORKING)) || (local !== null && isPresent(note, local))) return;
  const own = local?.url === url ? note.mirror : await lastingId(dataDir, HISTORY_ID);
  if (note.mirror !== own) throw new DuckmirrorError("HOME_OTHER_MIRROR", { url, found: note.mirror, own });
  if (note.state !== null && isAhead(note, local, url))
    throw new DuckmirrorError("HOME_OTHER_STATE", { url, dir: dataDir });
};

const sendPack = async (
  visit: Visit,
  key: string,
  wanted: readonly string[],
  pieces: ReadonlyMap<string, LocalPiece>,
) => {
  const path = `${onItsWay(visit.state)}.pack`;
  try {
    const pack = await writePack(path, wanted, pieces);
    await visit.store.upload(key, { path, bytes: pack.bytes, sha256: pack.sha256 }, SIGNAL);
    return pack;
  } finally {
    await rm(path, { force: true });
  }
};

/** Removes packs that the note does not name; those of a higher fence are on their way to a note. */
const removeUnnamed = async ({ store }: Visit, { packs, fence }: HomeNote): Promise<void> => {
  const named = new Set(packs.map(({ key }) => key));
  const gone: string[] = [];
  for await (const { key } of store.list(SIGNAL)) {
    const [, of] = /^packs\/(?:\.[^/]*|(\d+)-[\w-]+)$/.exec(key) ?? [];
    if (of !== undefined && Number(of) <= fence && !named.has(key)) gone.push(key);
  }
  await store.delete(gone, SIGNAL);
};

/** Keeps this state, if the mirror is still this data directory's. */
const keepState = async (visit: Visit, holder: string, working: string): Promise<void> => {
  const { settings, state } = visit;
  const { url, clock } = settings;
  const { files, pieces } = await cutAll(state, working);
  const local = await readLocalNote(settings.dataDir);
  const found = await read(visit);
  const fence = local?.fence ?? 0;
  const isOwn = found?.note.holder === holder && local !== null && isPresent(found.note, local);
  if (!isOwn) throw new DuckmirrorError("HOME_TAKEN", { url, own: fence, found: found?.note.fence ?? 0 });
  const { note } = found;
  const names = Object.keys(files);
  const isSame =
    names.length === Object.keys(note.files).length &&
    names.every((name) => String(files[name]) === String(note.files[name]));
  if (isSame) return writeLocal(visit, { fence, state: note.state, pending: null, at: clock.now() });
  const anew = isAnew(note, files, ERASED);
  const wanted = [...new Set(Object.values(files).flat())].filter((piece) => anew || note.pieces[piece] === undefined);
  const key = `packs/${fence}-${randomBytes(8).toString("hex")}`;
  const pack: WrittenPack | null = wanted.length === 0 ? null : await sendPack(visit, key, wanted, pieces);
  const places = pack?.places ?? new Map();
  const parts = withFiles(note, files, { pack: pack && { key, bytes: pack.bytes }, places, isAnew: anew });
  const mirror = await lastingId(settings.dataDir, HISTORY_ID);
  const next = { ...note, ...parts, mirror, state: randomUUID(), at: clock.now() };
  // The home may have one that was on its way from here, whose answer was lost.
  await writeLocal(visit, { ...local, fence, state: note.state, pending: next.state });
  if (!(await write(visit, next, found))) {
    const now = (await read(visit))?.note.fence ?? 0;
    throw new DuckmirrorError("HOME_TAKEN", { url, own: fence, found: now });
  }
  await writeLocal(visit, { fence, state: next.state, pending: null, at: clock.now() });
  const dropped = note.packs.filter((one) => !next.packs.some((other) => other.key === one.key));
  await visit.store.delete(
    dropped.map((one) => one.key),
    SIGNAL,
  );
  if (anew) await removeUnnamed(visit, next);
};

export interface Home extends MirrorHome {
  /** Brings the home's state here without taking the mirror, for work that only reads. Returns whether it was another one. */
  follow(): Promise<boolean>;
}

/** Opens the store for each call. Every call needs the writer's lock of the data directory. */
export const mirrorHome = (settings: HomeSettings): Home => {
  const { url, dataDir } = settings;
  const { state } = warehousePaths(dataDir);
  const open = settings.open ?? (() => openHome(settings));
  const visiting = <T>(work: (visit: Visit) => Promise<T>): Promise<T> =>
    withStore(url.split("?")[0] ?? url, open, failed(url), (store) => work({ store, settings, state }));
  const holderOf = () => lastingId(dataDir, HOLDER);
  return {
    enter: () =>
      visiting(async (visit) => {
        await removeLeft(state);
        const before = await read(visit);
        const local = await readLocalNote(dataDir);
        if (before !== null) await assertReplaceable(visit, before.note, local);
        const note = await take(visit, await holderOf(), before);
        if (local !== null && !isPresent(note, local)) return fetchState(visit, note);
        if (local === null && note.state !== null) return fetchState(visit, note);
        const next = enteredBy(note, local, { url, holdsMirror: existsSync(join(state, WORKING)) });
        if (JSON.stringify(next) !== JSON.stringify(local)) await writeLocal(visit, next);
      }),
    keep: (working) => visiting(async (visit) => keepState(visit, await holderOf(), working)),
    follow: () =>
      visiting(async (visit) => {
        const found = await read(visit);
        const local = await readLocalNote(dataDir);
        if (found === null || found.note.state === null) return false;
        if (local !== null && isPresent(found.note, local)) return false;
        await assertReplaceable(visit, found.note, local);
        await fetchState(visit, found.note);
        return true;
      }),
  };
};

/** True if the data directory has gone on from a home. */
export const hadHome = (dataDir: string): boolean => existsSync(join(dataDir, "state", NOTE));

/** Forgets what the data directory knows of a home, because no home had the state that is put here. */
export const leaveHome = (dataDir: string): Promise<void> => rm(join(dataDir, "state", NOTE), { force: true });

/** For a data directory that had a home and is now used without: notes that it goes on alone. */
export const noHome = (dataDir: string): Home => ({
  enter: async () => {
    const local = await readLocalNote(dataDir);
    if (local === null || local.unsure === "ahead") return;
    await writeNote(localFile(join(dataDir, "state")), { ...local, unsure: "ahead" });
  },
  keep: async () => undefined,
  follow: async () => false,
});

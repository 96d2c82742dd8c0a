// A worker whose mirror has a home in a folder.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { inflateRawSync } from "node:zlib";
import { systemClock } from "../../../../src/core/clock.ts";
import { type HomeNote, NOTE, parseNote } from "../../../../src/deliver/home/home-note.ts";
import { mirrorHome } from "../../../../src/deliver/home/mirror-home.ts";
import { folderStore } from "../../../../src/deliver/stores/folder-store.ts";
import type { ObjectStore } from "../../../../src/deliver/stores/object-store.ts";
import type { Keeping } from "../../../../src/warehouse/file/publish/keep-snapshots.ts";
import { openWarehouse, type Warehouse } from "../../../../src/warehouse/file/warehouse.ts";
import { tempDir } from "../../warehouse/temp-dir.ts";
import { signalsOf, snapshotRows } from "../moving-mirror.ts";
import { watched } from "../stores/watched-store.ts";

export const azure = { account: null, connectionString: null, key: null, sasToken: null };

/** A worker's data directory, whose mirror lives at `url`; `address`: how its configuration writes that. */
export const aWorker = (
  url: string,
  dataDir = tempDir(),
  wrap: (store: ObjectStore) => ObjectStore = (store) => store,
  address = url,
  keepSnapshots: Keeping = { count: 1, ageMs: null },
) => {
  const open = async () => wrap(folderStore("home", url, true));
  const home = mirrorHome({ url: address, dataDir, azure, clock: systemClock, open });
  const opened = () => openWarehouse({ dataDir, clock: systemClock, home, keepSnapshots });
  const change = async (work: (warehouse: Warehouse) => Promise<unknown>) => {
    const warehouse = await opened();
    try {
      await work(warehouse);
      await warehouse.publish();
    } finally {
      await warehouse.close();
    }
  };
  const add = (...ids: readonly number[]) => change((one) => one.commit(signalsOf("2026-05", ids, "headline")));
  return { dataDir, home, opened, change, add };
};

/** As if the worker were killed when it sends a pack. */
export const killedAtPack = (store: ObjectStore): ObjectStore =>
  watched(store, (what) => {
    if (what === "upload") throw new Error("killed");
  });

export const signalsIn = async (dataDir: string): Promise<number> => (await snapshotRows(dataDir, "signals")).length;

export const noteOf = (url: string): HomeNote => {
  const note = parseNote(JSON.parse(readFileSync(join(url, NOTE), "utf8")));
  if (note === null) throw new Error("no note");
  return note;
};
export const packsIn = (url: string) => readdirSync(join(url, "packs"));
/** Everything that the packs hold. */
export const contentOf = (url: string): Buffer => {
  const { packs, pieces } = noteOf(url);
  const files = packs.map(({ key }) => readFileSync(join(url, key)));
  return Buffer.concat(
    Object.values(pieces).map(([nth, start, length]) =>
      inflateRawSync((files[nth] ?? Buffer.alloc(0)).subarray(start, start + length)),
    ),
  );
};

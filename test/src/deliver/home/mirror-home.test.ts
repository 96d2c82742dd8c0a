// A mirror's home: any data directory goes on with the mirror, one that lost it is refused, and a kill loses little. Shows P33.
import { cpSync } from "node:fs";
import { expect, test } from "vitest";
import { copyMigratedMirror } from "../../../support/migrated-mirror.ts";
import { dumpMirror } from "../../../support/mirror-dump.ts";
import { tempDir } from "../../warehouse/temp-dir.ts";
import { signalsOf, snapshotRows } from "../moving-mirror.ts";
import { watched } from "../stores/watched-store.ts";
import { aWorker, killedAtPack, noteOf, signalsIn } from "./a-worker.ts";

/** A worker with a mirror that is migrated already. */
const aFirstWorker = async (...[url, dataDir = tempDir(), ...more]: Parameters<typeof aWorker>) => {
  await copyMigratedMirror(dataDir);
  return aWorker(url, dataDir, ...more);
};

test("another worker goes on where the first one ended, and the first one takes it back", async () => {
  const url = tempDir();
  const [one, other] = [await aFirstWorker(url), aWorker(url)];
  await one.add(1, 2, 3);
  await other.add(4);
  expect(await signalsIn(other.dataDir)).toBe(4);
  await one.add(5, 6);
  expect(await signalsIn(one.dataDir)).toBe(6);
  expect(noteOf(url).fence).toBe(3);
  await other.change(async () => undefined);
  expect(await dumpMirror(other.dataDir)).toEqual(await dumpMirror(one.dataDir));
});

test("a worker whose copy is the present one fetches nothing, and a small change sends a small part", async () => {
  const url = tempDir();
  const reads: string[] = [];
  const sent: number[] = [];
  const worker = await aFirstWorker(url, tempDir(), (store) => ({
    ...store,
    download: (key, ...rest) => {
      reads.push(key);
      return store.download(key, ...rest);
    },
    upload: (key, file, signal) => {
      sent.push(file.bytes);
      return store.upload(key, file, signal);
    },
  }));
  await worker.change(({ database }) =>
    database.run(
      `INSERT INTO main.signals (id, headline, type, _first_synced_at, _synced_at, _run_id)
       SELECT 1000 + i, md5(i::VARCHAR) || md5((i * 7)::VARCHAR), 'news', now(), now(), 'r' FROM range(500_000) AS t(i)`,
    ),
  );
  // The next publish rewrites the file, which has grown.
  await worker.add(1);
  const whole = Math.max(...sent.splice(0));
  await worker.add(2);
  expect(reads).toEqual([]);
  expect(sent.reduce((sum, bytes) => sum + bytes, 0)).toBeLessThan(whole / 4);
  sent.splice(0);
  // Nothing changed since the publish, so closing sends nothing.
  const before = noteOf(url).state;
  await (await worker.opened()).close();
  expect([noteOf(url).state, sent]).toEqual([before, []]);
});

test("a change costs three reads and two writes, and one more of each where the mirror is taken from another worker", async () => {
  const url = tempDir();
  const asked: string[] = [];
  const counted = (make: typeof aFirstWorker | typeof aWorker) =>
    make(url, tempDir(), (store) =>
      watched(store, (what, key) => {
        const isPack = what === "upload" || what === "download";
        if (what !== "delete") asked.push(isPack ? `${what} pack` : `${what} ${key}`);
      }),
    );
  const one = await counted(aFirstWorker);
  await one.add(1);
  asked.splice(0);
  await one.add(2);
  const usual = ["get home.json", "get home.json", "upload pack", "put home.json", "get home.json"];
  expect(asked.splice(0)).toEqual(usual);
  const other = await counted(aWorker);
  await other.add(3);
  expect(asked.filter((call) => call !== "download pack")).toEqual([
    "get home.json",
    "put home.json",
    ...usual.slice(1),
  ]);
});

test("of two workers that both believe they have the mirror, the one with the old fence publishes nothing", async () => {
  const url = tempDir();
  const [one, other] = [await aFirstWorker(url), aWorker(url)];
  await one.add(1);
  const late = await one.opened();
  await late.commit(signalsOf("2026-06", [2], "never published"));
  await other.add(3);
  const kept = noteOf(url);
  await expect(late.publish()).rejects.toMatchObject({ code: "HOME_TAKEN", exitCode: 6 });
  await expect(late.close()).rejects.toMatchObject({ code: "HOME_TAKEN" });
  expect(await signalsIn(one.dataDir)).toBe(1);
  expect(noteOf(url)).toEqual(kept);
  // It can be taken again, with what the other one wrote.
  await one.change(async () => undefined);
  expect(await snapshotRows(one.dataDir, "signals")).toEqual(await snapshotRows(other.dataDir, "signals"));
});

test("a copied data directory cannot write beside the one it was copied from", async () => {
  const url = tempDir();
  const one = await aFirstWorker(url);
  await one.add(1);
  const copy = tempDir();
  cpSync(one.dataDir, copy, { recursive: true });
  const twin = aWorker(url, copy);
  const late = await one.opened();
  await twin.add(2);
  await expect(late.publish()).rejects.toMatchObject({ code: "HOME_TAKEN" });
  await expect(late.close()).rejects.toMatchObject({ code: "HOME_TAKEN" });
});

test("what a killed worker committed after its last publish is still there if no other one took the mirror", async () => {
  const url = tempDir();
  const one = await aFirstWorker(url);
  await one.add(1);
  const broken = aWorker(url, one.dataDir, killedAtPack);
  await expect(broken.add(2)).rejects.toThrow("killed");
  await one.change(async () => undefined);
  expect(await signalsIn(one.dataDir)).toBe(2);
});

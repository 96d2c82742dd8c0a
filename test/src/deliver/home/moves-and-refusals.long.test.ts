// A mirror's home: who was erased, what is refused, and what happens to a mirror that was synced elsewhere meanwhile. Shows P33.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statfsSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { systemClock } from "../../../../src/core/clock.ts";
import { NOTE, PIECE_BYTES } from "../../../../src/deliver/home/home-note.ts";
import { homeStatus, mirrorHome, noHome } from "../../../../src/deliver/home/mirror-home.ts";
import { snapshotDestination } from "../../../../src/deliver/kinds/snapshot/snapshot-destination.ts";
import { folderStore } from "../../../../src/deliver/stores/folder-store.ts";
import { openWarehouse } from "../../../../src/warehouse/file/warehouse.ts";
import { forgetContacts } from "../../../../src/warehouse/forget/forget.ts";
import { addContacts } from "../../../destinations/erasing.ts";
import { dumpMirror } from "../../../support/mirror-dump.ts";
import { aCheckpoint, aLoad } from "../../warehouse/checkpoints.ts";
import { tempDir } from "../../warehouse/temp-dir.ts";
import { signalsOf, withSource } from "../moving-mirror.ts";
import { aWorker, azure, contentOf, killedAtPack, noteOf, packsIn, signalsIn } from "./a-worker.ts";

test("`forget` leaves nothing of a person in the home, in a kept snapshot or in a bucket, nor with a worker that goes on from it", async () => {
  const [url, bucket] = [tempDir(), tempDir()];
  const keepSnapshots = { count: 9, ageMs: null };
  const [one, other] = [
    aWorker(url, tempDir(), undefined, url, keepSnapshots),
    aWorker(url, tempDir(), undefined, url, keepSnapshots),
  ];
  const deliver = ({ dataDir }: { readonly dataDir: string }) => {
    const options = { keeping: keepSnapshots, clock: { now: () => Date.now() } };
    const destination = snapshotDestination(folderStore("bucket", bucket), options);
    return withSource(dataDir, (source) => destination.deliver(source, new AbortController().signal));
  };
  const people = ["contact-1", "contact-2"].map((id) => ({ id, email: `${id}@example.com` }));
  await one.change((warehouse) =>
    warehouse.commit(aCheckpoint([aLoad("contacts", people, { receivedAt: Date.now() })])),
  );
  await deliver(one);
  await other.add(1);
  await other.add(7);
  await one.add(8);
  await deliver(one);
  /** Files of these folders that hold the person, in plain text. */
  const holding = (...folders: readonly string[]) =>
    folders.flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: "utf8" })
        .filter((file) => /\.(duckdb|gz|ndjson)$/.test(file))
        .map((file) => join(folder, file))
        .filter((file) => readFileSync(file).includes("contact-1@example.com")),
    );
  expect(contentOf(url).includes("contact-1@example.com")).toBe(true);
  // Kept snapshots are among them, here, there and in the bucket.
  for (const folder of [one.dataDir, other.dataDir, bucket])
    expect(holding(folder).filter((file) => file.includes("snapshots")).length).toBeGreaterThan(0);
  mkdirSync(join(url, "packs"), { recursive: true });
  // Of a worker that was killed before its note.
  writeFileSync(join(url, "packs/1-0123456789abcdef"), "contact-1@example.com");
  const bodies = () => ({ contacts: () => [], clean: () => null });
  await forgetContacts(
    { dataDir: one.dataDir, clock: systemClock, home: one.home },
    { ids: ["contact-1"], emails: [], all: false, exportDirs: [], bodies, onStep: () => undefined },
  );
  const content = contentOf(url);
  expect([content.includes("contact-1"), content.includes("contact-2@example.com")]).toEqual([false, true]);
  expect(packsIn(url)).toEqual(noteOf(url).packs.map(({ key }) => key.slice("packs/".length)));
  expect(holding(one.dataDir)).toEqual([]);
  expect(holding(other.dataDir).length).toBeGreaterThan(0);
  // The next delivery, and the next sync of the other worker.
  await deliver(one);
  await other.add(2);
  expect(holding(bucket, other.dataDir)).toEqual([]);
});

test("the home of another mirror, a damaged pack and a note of another version are refused, and nothing here changes", async () => {
  const [url, elsewhere] = [tempDir(), tempDir()];
  const [one, stranger] = [aWorker(url), aWorker(elsewhere)];
  await one.add(1);
  await stranger.add(9);
  const lost = aWorker(url, stranger.dataDir);
  await expect(lost.add(2)).rejects.toMatchObject({ code: "HOME_OTHER_MIRROR" });
  expect(await signalsIn(stranger.dataDir)).toBe(1);
  const plain = tempDir();
  await addContacts(plain, ["contact-1"]);
  await expect(aWorker(url, plain).add(2)).rejects.toMatchObject({ code: "HOME_OTHER_MIRROR" });
  const [pack = ""] = packsIn(url);
  const bytes = readFileSync(join(url, "packs", pack));
  bytes[100] = (bytes[100] ?? 0) ^ 255;
  writeFileSync(join(url, "packs", pack), bytes);
  const empty = aWorker(url);
  await expect(empty.add(2)).rejects.toMatchObject({ code: "HOME_DAMAGED" });
  expect(existsSync(join(empty.dataDir, "state/working.duckdb"))).toBe(false);
  writeFileSync(join(url, NOTE), "{}");
  await expect(one.add(3)).rejects.toMatchObject({ code: "HOME_DAMAGED" });
  const misspelt = mirrorHome({ url: "s3://b/p?regoin=x", dataDir: tempDir(), azure, clock: systemClock });
  await expect(misspelt.enter()).rejects.toMatchObject({ code: "HOME_FAILED" });
});

test("a note that names one piece until no disk holds it is refused, and nothing of it stays", async () => {
  const url = tempDir();
  await aWorker(url).add(1);
  const note = noteOf(url);
  const working = note.files["working.duckdb"] ?? [];
  const other = aWorker(url);
  const { bavail, bsize } = statfsSync(other.dataDir);
  // Far more than is free: other tests may free some meanwhile.
  const often = new Array<string>(Math.ceil((2 * bavail * bsize) / PIECE_BYTES)).fill(working[1] ?? "");
  writeFileSync(join(url, NOTE), JSON.stringify({ ...note, files: { "working.duckdb": [...working, ...often] } }));
  await expect(other.add(2)).rejects.toMatchObject({ code: "DISK_FULL" });
  expect(readdirSync(join(other.dataDir, "state")).filter((name) => /working|way/.test(name))).toEqual([]);
});

test("only the worker's user can read a home in a folder that others can read", async () => {
  const url = tempDir();
  chmodSync(url, 0o755);
  await aWorker(url).add(1);
  const written = [NOTE, "packs", join("packs", packsIn(url)[0] ?? "")];
  expect(written.map((name) => statSync(join(url, name)).mode & 0o777)).toEqual([0o600, 0o700, 0o600]);
});

test("a home that lacks what is here is refused, and neither loses anything", async () => {
  const [first, second] = [tempDir(), tempDir()];
  const one = aWorker(first);
  await one.add(1);
  const moved = aWorker(second, one.dataDir);
  await moved.add(2);
  const kept = noteOf(first);
  await expect(aWorker(first, one.dataDir).add(3)).rejects.toMatchObject({ code: "HOME_OTHER_STATE", exitCode: 2 });
  await expect(aWorker(first, one.dataDir).home.follow()).rejects.toMatchObject({ code: "HOME_OTHER_STATE" });
  expect([await signalsIn(one.dataDir), noteOf(first)]).toEqual([2, kept]);
  await moved.add(3);
  expect(await signalsIn(one.dataDir)).toBe(3);
  // Another worker with an empty disk goes on with the earlier home.
  const other = aWorker(first);
  await other.add(4);
  expect(await signalsIn(other.dataDir)).toBe(2);
});

test("the address of a home may be written in another way, with what is here and with what another worker kept since", async () => {
  const url = tempDir();
  const one = aWorker(url);
  await one.add(1);
  await aWorker(url, one.dataDir, undefined, `${url}/.`).add(2);
  const other = aWorker(url);
  await other.add(3);
  await aWorker(url, one.dataDir, undefined, `${url}/./.`).add(4);
  expect(await signalsIn(one.dataDir)).toBe(4);
});

test("a mirror that was synced without its home goes on there, unless another worker took it meanwhile", async () => {
  const url = tempDir();
  const one = aWorker(url);
  await one.add(1);
  const addAlone = async (id: number) => {
    const warehouse = await openWarehouse({ dataDir: one.dataDir, clock: systemClock, home: noHome(one.dataDir) });
    await warehouse.commit(signalsOf("2026-05", [id], "alone"));
    await warehouse.publish();
    await warehouse.close();
  };
  await addAlone(2);
  await one.add(3);
  const other = aWorker(url);
  await other.change(async () => undefined);
  expect(await signalsIn(other.dataDir)).toBe(3);
  await one.change(async () => undefined);
  await addAlone(4);
  await other.add(5);
  await expect(one.add(6)).rejects.toMatchObject({ code: "HOME_OTHER_STATE" });
  expect(await signalsIn(one.dataDir)).toBe(4);
});

test("a mirror from before its home is not lost if its worker dies before the first state is sent", async () => {
  const url = tempDir();
  const plain = tempDir();
  await addContacts(plain, ["contact-1"]);
  await expect(aWorker(url, plain, killedAtPack).add(1)).rejects.toThrow("killed");
  await aWorker(url).add(2);
  await expect(aWorker(url, plain).add(3)).rejects.toMatchObject({ code: "HOME_OTHER_STATE" });
  expect((await dumpMirror(plain))["main.contacts"]).toHaveLength(1);
  // One that began with the home had only the sync that ran.
  const fresh = tempDir();
  const begun = tempDir();
  await expect(aWorker(fresh, begun, killedAtPack).add(1)).rejects.toThrow("killed");
  await aWorker(fresh).add(2);
  await aWorker(fresh, begun).add(3);
  expect(await signalsIn(begun)).toBe(2);
});

test("packs do not pile up, and `status` says how far the home is behind", async () => {
  const url = tempDir();
  const one = aWorker(url);
  for (let id = 1; id <= 27; id += 1) await one.add(id);
  expect(packsIn(url).length).toBeLessThanOrEqual(24);
  expect(packsIn(url).sort()).toEqual(
    noteOf(url)
      .packs.map(({ key }) => key.slice("packs/".length))
      .sort(),
  );
  expect(await homeStatus(one.dataDir, url)).toMatchObject({ url, fence: 1, behind: 0 });
  expect(await homeStatus(tempDir(), url)).toEqual({ url, fence: null, at: null, behind: null });
  expect(await homeStatus(one.dataDir, null)).toBeNull();
  const late = await one.opened();
  await late.commit(signalsOf("2026-07", [99], "later"));
  expect((await homeStatus(one.dataDir, url))?.behind).toBeGreaterThan(0);
  await late.close();
  expect((await homeStatus(one.dataDir, url))?.behind).toBe(0);
});

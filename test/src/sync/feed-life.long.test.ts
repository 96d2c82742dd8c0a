// The change feed through syncs, erasures and replays: numbers stay, erased contacts are redacted, and what cannot be
// kept is said. Shows P13.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { forgetJob } from "../../../jobs/forget.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { type Database, openDatabase } from "../../../src/warehouse/duckdb/database.ts";
import { warehousePaths } from "../../../src/warehouse/file/working-file.ts";
import type { Change } from "../../../src/warehouse/read/changes/change.ts";
import { seededRandom } from "../../support/chance.ts";
import { replayOf } from "../../support/equal-replay.ts";
import { aContact, anOrganization, aSignal } from "../../support/fake-data.ts";
import { createFakeService } from "../../support/fake-service.ts";
import { allChanges, applyChanges, type Copy, mirrorCopy, sorted } from "../../support/feed.ts";
import { configOf } from "../../support/given-config.ts";
import { dumpMirror } from "../../support/mirror-dump.ts";
import { startSyncRig } from "../../support/sync-rig.ts";

const context = { clock: systemClock, emit: () => undefined };
const forget = (dataDir: string, ...contacts: string[]) =>
  forgetJob(configOf(null, { DUCKMIRROR_DATA_DIR: dataDir }), { contacts, all: false, exportDirs: [] }, context);

const onSnapshot = async <T>(dataDir: string, work: (database: Database) => Promise<T>): Promise<T> => {
  const database = await openDatabase(join(dataDir, "warehouse.duckdb"), { readOnly: true, threads: 1 });
  return work(database).finally(() => database.close());
};
const feedOf = (dataDir: string, after = 0) => onSnapshot(dataDir, (database) => allChanges(database, after, 50));
const mirrorOf = (dataDir: string) => onSnapshot(dataDir, (database) => mirrorCopy(database));
const applied = (changes: readonly Change[]): Copy => {
  const copy: Copy = new Map();
  applyChanges(copy, changes);
  return copy;
};

/** A mirror of an organization, and a function that moves the organization by chance and syncs. */
const aMovingMirror = async (seed: number) => {
  const data = anOrganization(4);
  const service = createFakeService(data, { maxPerPage: 20 });
  const mirror = await startSyncRig(service, { DUCKMIRROR_STREAMS: "accounts,contacts,signals,usage" });
  const random = seededRandom(seed);
  const pick = (length: number) => Math.floor(random() * length);
  let day = 0;
  const move = async () => {
    day += 1;
    const at = new Date(Date.UTC(2026, 10, 1, day)).toISOString();
    data.signals.push(aSignal(1000 + day, { updatedAt: at, createdAt: at }));
    data.signals.splice(pick(data.signals.length - 1), 1);
    Object.assign(data.contacts[pick(data.contacts.length)] ?? {}, { email: `new${day}@x`, lastChangeDetectedOn: at });
    Object.assign(data.accounts[pick(data.accounts.length)] ?? {}, { name: `Renamed ${day}`, updatedAt: at });
    expect((await mirror.sync({ full: day % 2 === 0 })).error).toBeNull();
  };
  return { data, mirror, move };
};

const SEED = 71;

test(`random syncs (seed ${SEED}): the feed gives the mirror after each, and an unchanged sync adds readings of usage only`, async () => {
  const { mirror, move } = await aMovingMirror(SEED);
  await mirror.sync();
  const follower: Copy = new Map();
  let cursor = 0;
  for (let round = 0; round < 5; round++) {
    if (round > 0) await move();
    const fresh = await feedOf(mirror.dataDir, cursor);
    applyChanges(follower, fresh);
    cursor = fresh.at(-1)?.n ?? cursor;
    expect(sorted(follower)).toEqual(sorted(await mirrorOf(mirror.dataDir)));
  }
  await mirror.sync();
  const tables = new Set((await feedOf(mirror.dataDir, cursor)).map(({ table }) => table));
  expect([...tables].filter((table) => !table.startsWith("usage_"))).toEqual([]);
});

test("a replay gives every change the number that it had, with erased contacts among them", async () => {
  const { data, mirror, move } = await aMovingMirror(SEED + 1);
  const at = (hour: number) => new Date(Date.UTC(2026, 10, 10, hour)).toISOString();
  const ids = ["aa-first-person", "mm-third-person", "zz-second-person"];
  data.contacts.push(...ids.map((id) => aContact(id, { lastChangeDetectedOn: at(1) })));
  await mirror.sync();
  for (const contact of data.contacts.slice(-3)) Object.assign(contact, { email: "b@x", lastChangeDetectedOn: at(2) });
  await move();
  await forget(mirror.dataDir, "aa-first-person", "zz-second-person");
  await move();
  await forget(mirror.dataDir, "mm-third-person");
  await move();
  const before = await feedOf(mirror.dataDir);
  const dump = await dumpMirror(mirror.dataDir);
  await replayOf(mirror.dataDir);
  expect(await feedOf(mirror.dataDir)).toEqual(before);
  expect(await dumpMirror(mirror.dataDir)).toEqual(dump);
  expect(sorted(applied(before))).toEqual(sorted(await mirrorOf(mirror.dataDir)));
});

test("before and after erasures and a replay, the feed applied to an empty database equals the mirror at each recorded number, and continues from every tenth", async () => {
  const { data, mirror, move } = await aMovingMirror(SEED + 4);
  const erased = ["aa-erased-person", "zz-erased-person"];
  const at = new Date(Date.UTC(2026, 10, 10, 1)).toISOString();
  data.contacts.push(...erased.map((id) => aContact(id, { lastChangeDetectedOn: at })));
  await mirror.sync();
  /** Number → the mirror at that time, without the persons who were erased later. */
  const recorded = new Map<number, Copy>();
  const record = async () => {
    const copy = await mirrorOf(mirror.dataDir);
    for (const place of [...copy.keys()]) if (erased.some((id) => place.includes(id))) copy.delete(place);
    recorded.set((await feedOf(mirror.dataDir)).at(-1)?.n ?? 0, copy);
  };
  const check = async () => {
    const feed = await feedOf(mirror.dataDir);
    for (const [n, copy] of recorded) expect(sorted(applied(feed.slice(0, n)))).toEqual(sorted(copy));
    const now = sorted(await mirrorOf(mirror.dataDir));
    for (let n = 0; n <= feed.length; n += 10) {
      const rest = await feedOf(mirror.dataDir, n);
      expect(sorted(applied([...feed.slice(0, n), ...rest]))).toEqual(now);
    }
    return feed.length;
  };
  await record();
  for (const id of erased) {
    await move();
    await record();
    await forget(mirror.dataDir, id);
    await move();
    await record();
    await replayOf(mirror.dataDir);
    await record();
  }
  expect(await check()).toBeGreaterThan(50);
  expect(recorded.size).toBeGreaterThan(4);
});

test("an erased contact's changes keep number and time, and lose key and values; the erasure is one more delete", async () => {
  const { data, mirror } = await aMovingMirror(SEED + 2);
  const id = "7f3a1c52-person";
  const person = aContact(id, { email: "ada@lovelace.example" });
  data.contacts.push(person);
  await mirror.sync();
  Object.assign(person, { email: "ada.king@lovelace.example", lastChangeDetectedOn: "2026-11-20T00:00:00.000Z" });
  await mirror.sync();
  const before = await feedOf(mirror.dataDir);
  const theirs = before.filter(({ key }) => key.id === id);
  expect(theirs.map(({ change, fields }) => [change, fields])).toEqual([
    ["insert", []],
    ["update", ["last_change_detected_on", "email"]],
  ]);
  const { hashes } = await forget(mirror.dataDir, id);
  const after = await feedOf(mirror.dataDir);
  const key = { id: `forgotten:${hashes[0]}` };
  const redacted = theirs.map((change) => ({ ...change, key, fields: [], before: null, after: null }));
  expect(after.slice(0, before.length)).toEqual(
    before.map((change) => redacted.find(({ n }) => n === change.n) ?? change),
  );
  expect(after.slice(before.length)).toMatchObject([
    { n: before.length + 1, table: "contacts", key, change: "delete", run_id: null, before: null, after: null },
  ]);
});

test("if a replay makes other changes than the journal counted, the feed starts again behind numbers nobody has seen", async () => {
  const { mirror, move } = await aMovingMirror(SEED + 3);
  await mirror.sync();
  const { archiveDir } = warehousePaths(mirror.dataDir);
  const files = readdirSync(archiveDir, { recursive: true }).map((name) => join(archiveDir, String(name)));
  const [journal = ""] = files.filter((name) => name.endsWith(".journal.ndjson"));
  writeFileSync(journal, readFileSync(journal, "utf8").replace(/"changes":(\d+)/, '"changes":9$1'));
  await replayOf(mirror.dataDir);
  await expect(feedOf(mirror.dataDir, 5)).rejects.toMatchObject({ code: "CHANGES_GONE" });
  await move();
  const check = async () => {
    const [first, ...rest] = await feedOf(mirror.dataDir, 1_000_000);
    expect(first).toMatchObject({ n: 1_000_001, change: "insert", run_id: null });
    expect(sorted(applied(first === undefined ? [] : [first, ...rest]))).toEqual(
      sorted(await mirrorOf(mirror.dataDir)),
    );
    return [first, ...rest];
  };
  const before = await check();
  await replayOf(mirror.dataDir);
  expect(await check()).toEqual(before);
});

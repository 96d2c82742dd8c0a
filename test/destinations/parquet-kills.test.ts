// Deliveries of kind parquet during which the program, or the server of the storage, is killed at requests, and at changes of files.
// azurite itself is not killed: it keeps nothing. Shows P42.
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { TABLE_NAMES } from "../../src/catalog/tables.ts";
import { systemClock } from "../../src/core/clock.ts";
import { readSet } from "../../src/deliver/kinds/parquet/parquet-set.ts";
import { folderStore } from "../../src/deliver/stores/folder-store.ts";
import { parquetRows, withSource } from "../src/deliver/moving-mirror.ts";
import { seededRandom } from "../support/chance.ts";
import { aFolder } from "./a-lake.ts";
import type { CountingServer } from "./counting-server.ts";
import { delivered } from "./deliveries.ts";
import { aMoment, type Kill, killDelivery, NEVER, struckAt, untilKilled } from "./killed-delivery.ts";
import { move } from "./moving-mirror.ts";
import { BUCKETS, CONTAINERS, eachTestIn, expectCurrent, manifestOf, rowsOf, snapshotOf } from "./places.ts";

const KILLS = Number(process.env.KILLS ?? 4);

/** Publishes a change; the tables of every snapshot by its position. */
const aMovingMirror = (seed: number) => {
  const dataDir = aFolder();
  const random = seededRandom(seed);
  const published = new Map<string, Awaited<ReturnType<typeof snapshotOf>>>();
  const publish = async () => {
    await move(dataDir, random);
    const position = await withSource(dataDir, async (source) => source.position);
    published.set(JSON.stringify(position), await snapshotOf(dataDir));
  };
  return { dataDir, random, published, publish };
};

type Victim = "program" | "server" | "server, answer lost";

/** A server that can be killed keeps what it confirmed. */
interface Storage extends CountingServer {
  kill?(): Promise<void>;
  restart?(): Promise<void>;
}

/** Kills at request number `at`. Empty: the delivery ended before. */
const strikeAtRequest = async (
  server: Storage,
  delivery: Omit<Kill, "moment" | "signal">,
  at: number,
  victim: Victim,
): Promise<string> => {
  const controller = new AbortController();
  let killed = "";
  let nth = 0;
  let back: Promise<unknown> = Promise.resolve();
  const kill = async () => {
    await server.kill?.();
    back = server.restart?.() ?? back;
  };
  server.rule = async ({ method, key }) => {
    nth += 1;
    if (nth === at + 1 && victim === "server, answer lost") {
      await kill();
      return "reset";
    }
    if (nth !== at) return "pass";
    killed = `${victim}: ${method} ${key.replace(/\/.*$/, "/…").replace(/-[0-9a-f-]{36}$/, "")}`;
    if (victim === "server, answer lost") return "lost";
    if (victim === "program") controller.abort();
    else await kill();
    return "reset";
  };
  const { signal } = controller;
  const ended = await killDelivery({ ...delivery, moment: NEVER, signal });
  await back;
  server.rule = null;
  // 5: the server was away for longer than requests are repeated.
  expect(victim === "program" ? [0, null] : [0, 5], ended.said).toContain(ended.code);
  return killed;
};

describe.each([
  { ...BUCKETS, victims: ["program", "program", "server", "server, answer lost"] as const },
  { ...CONTAINERS, victims: ["program"] as const },
])("$kind", ({ victims, ...kind }) => {
  const { server, place, another } = eachTestIn(kind);

  test("a service that is away: the program ends when it has said so, and waits for no timer", async () => {
    const dataDir = aFolder();
    await move(dataDir, seededRandom(44));
    server().rule = () => "reset";
    const delivery = { dataDir, destinations: place().setting(), env: place().env, moment: NEVER };
    // The SDK's own timeout would keep the program for five minutes.
    const { code, said } = await killDelivery({ ...delivery, signal: AbortSignal.timeout(240_000) });
    expect(code, said).toBe(5);
    expect(said).toContain("DESTINATION_AWAY");
  });

  test(`${KILLS} kills at requests: the manifest's set equals a snapshot each time, and the newest in the end`, async () => {
    const { dataDir, random, published, publish } = aMovingMirror(22);
    const deliver = (now = systemClock.now) => delivered(dataDir, place().setting(), { now, env: place().env });
    await publish();
    await deliver();
    await untilKilled(kind.kind, KILLS, async (round) => {
      await publish();
      // Every fifth time there is nothing yet: a first load, of 45 to 60 requests; others have 15 to 20.
      const isFirst = round % 5 === 4;
      if (isFirst) await another();
      const at = 1 + Math.floor(random() * (isFirst ? 45 : 15));
      const victim = victims[Math.floor(random() * victims.length)] ?? "program";
      const delivery = { dataDir, destinations: place().setting(), env: place().env };
      const struck = await strikeAtRequest(server(), delivery, at, victim);
      const manifest = await manifestOf(place());
      if (manifest === null) return struck;
      const wanted = published.get(JSON.stringify(manifest.delivered));
      expect(wanted).toBeDefined();
      expect(await rowsOf(place(), manifest, aFolder())).toEqual(wanted);
      return struck;
    });
    await deliver();
    // Two days later nothing is left of the killed ones.
    const later = () => Date.now() + 50 * 3_600_000;
    await publish();
    await deliver(later);
    const manifest = await expectCurrent(place(), dataDir, aFolder());
    const named = [...manifest.files, ...manifest.retired].map(({ file }) => file).sort();
    expect((await place().keys()).filter((key) => key.endsWith(".parquet")).sort()).toEqual(named);
    for (const table of TABLE_NAMES) {
      const list = String(await place().object(`_symlink/${table}/manifest`));
      const files = manifest.files.filter((entry) => entry.table === table);
      expect(list).toBe(files.map(({ file }) => `${place().address}/set/${file}\n`).join(""));
    }
  });
});

/** Changes of files below the set's folder. */
const FILE_STEPS = [
  "copyFile .*\\.parquet",
  "rename .*\\.parquet",
  "rename .*_manifest\\.json$",
  "rm .*\\.part$",
  "rm .*_conditions",
];

test(`${KILLS} kills while files of a folder change: the manifest's set equals a snapshot each time, and the newest in the end`, async () => {
  const { dataDir, random, published, publish } = aMovingMirror(23);
  const readAll = async (folder: string) => {
    const store = folderStore("files", folder);
    const manifest = (await readSet(store, new AbortController().signal))?.list;
    if (manifest === undefined) return null;
    const rows: Record<string, readonly string[]> = {};
    for (const table of manifest.tables) {
      const files = manifest.files.filter((entry) => entry.table === table);
      rows[table] = await parquetRows(files.map(({ file }) => join(folder, file)));
    }
    return { rows, at: JSON.stringify(manifest.delivered) };
  };
  let folder = join(aFolder(), "set");
  const destinations = () => JSON.stringify([{ name: "files", kind: "parquet", url: folder }]);
  await untilKilled("folder", KILLS, async (round) => {
    if (round % 5 === 4) folder = join(aFolder(), "set");
    await publish();
    const moment = aMoment(FILE_STEPS, ["program"], random);
    const killed = await struckAt({ dataDir, destinations: destinations(), moment });
    const found = await readAll(folder);
    if (found !== null) expect(found.rows).toEqual(published.get(found.at));
    return killed;
  });
  expect(await killDelivery({ dataDir, destinations: destinations(), moment: NEVER })).toMatchObject({ code: 0 });
  expect((await readAll(folder))?.rows).toEqual(await snapshotOf(dataDir));
});

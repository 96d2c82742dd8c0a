// Files that are damaged, removed or replaced, before a run and underneath it: what is wrong is named, the snapshot that
// was published stays readable, and `replay` or the next sync heals the rest. Shows P30.
import { execFileSync } from "node:child_process";
import {
  closeSync,
  cpSync,
  mkdtempSync,
  openSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DuckmirrorError } from "../../../src/core/errors.ts";
import { runQuery } from "../../../src/warehouse/read/query.ts";
import { aFolder } from "../../support/cli.ts";
import { replayOf } from "../../support/equal-replay.ts";
import { anOrganization, aSignal } from "../../support/fake-data.ts";
import { createFakeService, type FakeService } from "../../support/fake-service.ts";
import { openSyncRig, type SyncRig, startSyncRig } from "../../support/sync-rig.ts";

const PAGES = { DUCKMIRROR_MAX_PAGE_SIZE: "10" };

const working = (dataDir: string) => join(dataDir, "state", "working.duckdb");
const snapshotOf = (dataDir: string) => join(dataDir, "warehouse.duckdb");

/** A rig whose accounts are mirrored and published. */
const aMirror = async (): Promise<{ service: FakeService; rig: SyncRig }> => {
  const service = createFakeService(anOrganization(5), { maxPerPage: 10 });
  const rig = await startSyncRig(service, PAGES);
  expect((await rig.sync({ streams: ["accounts"] })).error).toBeNull();
  return { service, rig };
};

const rowsIn = async (dataDir: string) => {
  const sql =
    "SELECT (SELECT count(*) FROM accounts), (SELECT count(*) FROM signals), (SELECT count(*) FROM news_articles), (SELECT count(*) FROM account_insights)";
  return (await runQuery({ snapshot: snapshotOf(dataDir), sql })).rows[0]?.map(Number);
};
const WHOLE = [5, 30, 10, 5];

/** Calls `strike` when the service is asked for the `nth` time from now. */
const strikeAt = (service: FakeService, nth: number, strike: () => void) => {
  let left = nth;
  service.answerInstead(() => {
    left -= 1;
    if (left === 0) strike();
    return undefined;
  });
};

/** Pages of lists that were paid for twice, first pages of the organization's lists aside. */
const paidTwice = ({ log }: FakeService) => {
  const urls = log
    .filter(({ status, path }) => status === 200 && !path.startsWith("/v1/usage"))
    .map(({ path, query }) => `${path}?${new URLSearchParams(query)}`);
  return urls.filter(
    (url, index) => urls.indexOf(url) !== index && !/^\/v1\/(accounts|contacts|signals)\?page=1&/.test(url),
  );
};

const damage = (file: string, share: number) => {
  const target = openSync(file, "r+");
  writeSync(target, Buffer.alloc(5_000, 0xa5), 0, 5_000, Math.floor(statSync(file).size * share));
  closeSync(target);
};

describe("underneath a run", () => {
  const GONE: readonly (readonly [string, (file: string) => void])[] = [
    ["removed", (file) => rmSync(file)],
    ["replaced by garbage", (file) => [rmSync(file), writeFileSync(file, "x".repeat(50_000))]],
  ];
  test.each(GONE)(
    "a working file that is %s is named, no reader meets it, and replay and the next sync pay nothing twice",
    async (_, strike) => {
      const { service, rig } = await aMirror();
      strikeAt(service, 12, () => strike(working(rig.dataDir)));
      await expect(rig.sync()).rejects.toMatchObject({
        code: "WAREHOUSE_CORRUPT",
        message: /removed or replaced while it was in use/,
      });
      expect(await rowsIn(rig.dataDir)).toEqual([5, 0, 0, 0]);
      const spent = service.spent();
      await replayOf(rig.dataDir);
      expect(service.spent()).toBe(spent);
      expect((await rig.sync()).error).toBeNull();
      expect(await rowsIn(rig.dataDir)).toEqual(WHOLE);
      expect(paidTwice(service)).toEqual([]);
    },
  );

  test("when snapshot, archive and the lock's file are removed or replaced the run ends well and publishes a whole snapshot", async () => {
    const { service, rig } = await aMirror();
    const strikes = [
      () => writeFileSync(snapshotOf(rig.dataDir), "x".repeat(50_000)),
      () => rmSync(join(rig.dataDir, "state", "writer.lock")),
      () => rmSync(snapshotOf(rig.dataDir)),
      () => rmSync(join(rig.dataDir, "state", "archive"), { recursive: true }),
    ];
    let asked = 0;
    const before = () => {
      asked += 1;
      if (asked % 5 === 0) strikes.shift()?.();
      return undefined;
    };
    service.answerInstead(before);
    expect((await rig.sync()).error).toBeNull();
    expect(strikes).toHaveLength(0);
    expect(await rowsIn(rig.dataDir)).toEqual(WHOLE);
    expect((await rig.sync()).error).toBeNull();
    expect(paidTwice(service)).toEqual([]);
  });

  test("when the whole data directory is removed that is named, and the next sync starts over", async () => {
    const { service, rig } = await aMirror();
    strikeAt(service, 12, () => rmSync(rig.dataDir, { recursive: true }));
    await expect(rig.sync()).rejects.toMatchObject({ code: "WAREHOUSE_CORRUPT" });
    expect((await rig.sync()).error).toBeNull();
    expect(await rowsIn(rig.dataDir)).toEqual(WHOLE);
  });
});

describe("between two runs", () => {
  test("blocks damaged here and there are named whenever they are read; replay heals without a request", async () => {
    const { service, rig } = await aMirror();
    expect((await rig.sync()).error).toBeNull();
    for (const share of [0.2, 0.35, 0.5, 0.65, 0.8]) damage(working(rig.dataDir), share);
    const run = () => rig.sync({ full: true });
    await expect(run()).rejects.toMatchObject({ code: "WAREHOUSE_CORRUPT", hint: /duckmirror replay/ });
    expect(await rowsIn(rig.dataDir)).toEqual(WHOLE);
    const spent = service.spent();
    await replayOf(rig.dataDir);
    expect(service.spent()).toBe(spent);
    service.data.signals.push(aSignal(9001, { updatedAt: "2026-11-20T00:00:00Z" }));
    expect((await run()).error).toBeNull();
    expect(await rowsIn(rig.dataDir)).toEqual([5, 31, 10, 5]);
  });

  test("a snapshot that is damaged or gone is named to its reader, and the next sync publishes another", async () => {
    const { service, rig } = await aMirror();
    writeFileSync(snapshotOf(rig.dataDir), "half a snapshot");
    await expect(rowsIn(rig.dataDir)).rejects.toMatchObject({ code: "SNAPSHOT_DAMAGED", hint: /duckmirror sync/ });
    expect((await rig.sync()).error).toBeNull();
    expect(await rowsIn(rig.dataDir)).toEqual(WHOLE);
    rmSync(snapshotOf(rig.dataDir));
    await expect(rowsIn(rig.dataDir)).rejects.toMatchObject({ code: "SNAPSHOT_MISSING" });
    expect((await rig.sync()).error).toBeNull();
    expect(await rowsIn(rig.dataDir)).toEqual(WHOLE);
    expect(paidTwice(service)).toEqual([]);
  });
});

describe("a WAL left behind", () => {
  // As a power cut would leave it in the middle of a run: file, WAL, archive, no goodbye.
  let crashed: { service: FakeService; rig: SyncRig; image: string };
  beforeAll(async () => {
    const service = createFakeService(anOrganization(5), { maxPerPage: 10 });
    const rig = await openSyncRig(service, PAGES);
    const image = join(mkdtempSync(join(tmpdir(), "duckmirror-image-")), "data");
    // From another process: this one must not open the files that DuckDB holds here.
    strikeAt(service, 25, () => execFileSync("cp", ["-a", rig.dataDir, image]));
    await rig.sync();
    crashed = { service, rig, image };
  });
  afterAll(async () => {
    await crashed.rig.close();
    rmSync(dirname(crashed.image), { recursive: true });
  });

  const WALS: readonly (readonly [string, (wal: string) => void])[] = [
    ["cut within its last record", (wal) => truncateSync(wal, statSync(wal).size - 7)],
    ["cut in its middle", (wal) => truncateSync(wal, Math.floor(statSync(wal).size / 2))],
    ["followed by garbage", (wal) => writeFileSync(wal, Buffer.alloc(3_000, 0x5a), { flag: "a" })],
    ["damaged in its middle", (wal) => damage(wal, 0.4)],
    ["removed", (wal) => rmSync(wal)],
  ];
  test.each(WALS)(
    "%s: the next sync goes on, or names the file and replay heals it without a request",
    async (_, strike) => {
      const { service, rig, image } = crashed;
      const dataDir = join(aFolder(), "data");
      cpSync(image, dataDir, { recursive: true });
      const wal = `${working(dataDir)}.wal`;
      expect(statSync(wal).size).toBeGreaterThan(1_000);
      strike(wal);
      service.log.splice(0);
      const sync = () => rig.sync({}, { DUCKMIRROR_DATA_DIR: dataDir });
      const code = await sync().then(
        () => null,
        (error: unknown) => (error instanceof DuckmirrorError ? error.code : String(error)),
      );
      expect([null, "WAREHOUSE_BEHIND", "WAREHOUSE_CORRUPT"]).toContain(code);
      if (code !== null) {
        expect(service.spent()).toBe(0);
        await replayOf(dataDir);
        expect((await sync()).error).toBeNull();
      }
      expect(await rowsIn(dataDir)).toEqual(WHOLE);
      expect(paidTwice(service)).toEqual([]);
    },
  );
});

// Snapshots in a bucket of moto, an imitation of S3: DuckDB attaches them by httpfs, and no request that breaks leaves a list
// that names what is not there.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, inject, test } from "vitest";
import { z } from "zod";
import { systemClock } from "../../src/core/clock.ts";
import { snapshotDestination } from "../../src/deliver/kinds/snapshot/snapshot-destination.ts";
import { signalsOf, withSource } from "../src/deliver/moving-mirror.ts";
import { change } from "../support/change-mirror.ts";
import { forFile } from "../support/for-file.ts";
import { aFolder } from "./a-lake.ts";
import { delivered } from "./deliveries.ts";
import { aBucket, stubAws, type TestPlace } from "./places.ts";
import { python } from "./read-set.ts";
import { startS3 } from "./s3-server.ts";

const s3 = await forFile(startS3(inject("destinationsVenv")));
beforeEach(() => {
  stubAws();
  s3.rule = null;
});

const settingOf = (bucket: TestPlace) => bucket.setting({ kind: "snapshot", keep_snapshots: { count: 3 } });
const publish = (dataDir: string, id: number) =>
  change(dataDir, (warehouse) => warehouse.commit(signalsOf("2026-05", [id], `signal ${id}`)));
const sum = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");
const listSchema = z.object({ data: z.array(z.object({ n: z.number() })) });

test("DuckDB in Python attaches now/ and an earlier snapshot from a bucket, and time travel is a path", async () => {
  const bucket = await aBucket(s3, "static");
  const dataDir = aFolder();
  for (const id of [1, 2, 3, 4]) {
    await publish(dataDir, id);
    await delivered(dataDir, settingOf(bucket));
  }
  const read = await python("read_snapshots.py", s3.endpoint, "s3://static/set", inject("extensions"), "2", "3");
  expect(read).toEqual([4, 2, 3]);
  expect((await bucket.keys()).filter((key) => key.endsWith(".duckdb")).sort()).toEqual([
    "now/warehouse.duckdb",
    "snapshots/2/warehouse.duckdb",
    "snapshots/3/warehouse.duckdb",
    "snapshots/4/warehouse.duckdb",
  ]);
  s3.forget();
  await delivered(dataDir, settingOf(bucket));
  expect(s3.seen.map(({ method, key }) => `${method} ${key}`)).toEqual([
    "GET set/snapshots.json",
    "GET set/now/snapshot.json",
  ]);
});

test("whichever request a kill meets, the list names only whole snapshots, and the next delivery is complete", async () => {
  const dataDir = aFolder();
  await publish(dataDir, 1);
  for (let at = 1; at < 40; at += 1) {
    const bucket = await aBucket(s3, `killed-${at}`);
    const controller = new AbortController();
    let nth = 0;
    s3.rule = () => {
      if (++nth < at) return "pass";
      controller.abort(new Error("killed"));
      return "reset";
    };
    const destination = snapshotDestination(await bucket.store(), {
      keeping: { count: 3, ageMs: null },
      clock: systemClock,
    });
    const ended = await withSource(dataDir, (source) => destination.deliver(source, controller.signal)).catch(
      () => null,
    );
    await destination.close();
    s3.rule = null;
    const keys = await bucket.keys();
    if (keys.includes("snapshots.json")) {
      const text = (await bucket.object("snapshots.json")).toString("utf8");
      for (const { n } of listSchema.parse(JSON.parse(text)).data)
        expect(keys).toContain(`snapshots/${n}/warehouse.duckdb`);
    }
    await delivered(dataDir, settingOf(bucket));
    const now = await bucket.object("now/warehouse.duckdb");
    expect(sum(now)).toBe(sum(readFileSync(join(dataDir, "warehouse.duckdb"))));
    if (ended === null) continue;
    expect(at).toBeGreaterThan(10);
    return;
  }
  throw new Error("no delivery ended");
});

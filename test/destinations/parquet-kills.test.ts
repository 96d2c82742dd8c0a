// Deliveries of kind parquet during which the program or the S3 server (moto, an imitation) is killed at requests and at
// changes of files.
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, inject, test } from "vitest";
import { TABLE_NAMES } from "../../src/catalog/tables.ts";
import { readSet } from "../../src/deliver/kinds/parquet/parquet-set.ts";
import { folderStore } from "../../src/deliver/stores/folder-store.ts";
import { parquetRows } from "../src/deliver/moving-mirror.ts";
import {
  AWS_ENV,
  delivered,
  destinationsText,
  keysIn,
  makeBucket,
  manifestOf,
  objectIn,
  rowsOf,
  snapshotOf,
  stubAws,
} from "./a-bucket.ts";
import { aFolder } from "./a-lake.ts";
import { aMoment, createTally, killDelivery, NEVER } from "./killed-delivery.ts";
import { type S3Server, startS3 } from "./s3-server.ts";
import { aMovingMirror, strikeAtRequest } from "./strikes.ts";

const KILLS = Number(process.env.KILLS ?? 4);

let s3: S3Server;
let bucket = "";
let made = 0;
beforeAll(async () => {
  s3 = await startS3(inject("destinationsVenv"));
});
afterAll(() => s3?.stop());
const aBucket = async () => {
  made += 1;
  bucket = `bucket-${made}`;
  await makeBucket(s3.endpoint, bucket);
};
beforeEach(async () => {
  stubAws();
  await aBucket();
});
const setting = () => destinationsText(s3.endpoint, bucket);

test(`${KILLS} kills of the program and of the S3 server at requests: the manifest's set equals a snapshot each time, and the newest in the end`, async () => {
  const { dataDir, random, published, publish } = aMovingMirror(22);
  const tally = createTally();
  await publish();
  await delivered(dataDir, setting());
  for (let killed = 0, round = 0; killed < KILLS; round += 1) {
    if (round > KILLS * 5) throw new Error(`only ${killed} of ${round} deliveries were killed`);
    await publish();
    // Every fifth time there is nothing yet: a first load, of some 45 requests; others have some 15.
    const isFirst = round % 5 === 4;
    if (isFirst) await aBucket();
    const most = isFirst ? 45 : 15;
    const victim =
      (["program", "program", "server", "server, answer lost"] as const)[Math.floor(random() * 4)] ?? "program";
    const struck = await strikeAtRequest(
      s3,
      { dataDir, destinations: setting(), env: AWS_ENV },
      1 + Math.floor(random() * most),
      victim,
    );
    if (struck !== "") {
      killed += 1;
      tally.add(struck);
    }
    const manifest = await manifestOf(s3.endpoint, bucket);
    if (manifest === null) continue;
    const wanted = published.get(JSON.stringify(manifest.delivered));
    expect(wanted).toBeDefined();
    expect(await rowsOf(s3.endpoint, bucket, manifest, aFolder())).toEqual(wanted);
  }
  process.stderr.write(`bucket, ${KILLS} kills\n${tally.text()}\n`);
  await delivered(dataDir, setting());
  // Two days later nothing is left of the killed ones.
  const later = () => Date.now() + 50 * 3_600_000;
  await publish();
  await delivered(dataDir, setting(), later);
  const manifest = await manifestOf(s3.endpoint, bucket);
  if (manifest === null) throw new Error("there is no set");
  expect(await rowsOf(s3.endpoint, bucket, manifest, aFolder())).toEqual(await snapshotOf(dataDir));
  const named = [...manifest.files, ...manifest.retired].map(({ file }) => file).sort();
  expect((await keysIn(s3.endpoint, bucket)).filter((key) => key.endsWith(".parquet")).sort()).toEqual(named);
  for (const table of TABLE_NAMES) {
    const list = String(await objectIn(s3.endpoint, bucket, `_symlink/${table}/manifest`));
    const files = manifest.files.filter((entry) => entry.table === table);
    expect(list).toBe(files.map(({ file }) => `s3://${bucket}/set/${file}\n`).join(""));
  }
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
  const tally = createTally();
  const readAll = async (folder: string) => {
    const store = folderStore("files", folder);
    const manifest = (await readSet(store, new AbortController().signal))?.manifest;
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
  for (let killed = 0, round = 0; killed < KILLS; round += 1) {
    if (round > KILLS * 10) throw new Error(`only ${killed} of ${round} deliveries were killed`);
    if (round % 5 === 4) folder = join(aFolder(), "set");
    await publish();
    const ended = await killDelivery({
      dataDir,
      destinations: destinations(),
      moment: aMoment(FILE_STEPS, ["program"], random),
    });
    if (ended.killed === "") expect(ended).toMatchObject({ code: 0 });
    else {
      killed += 1;
      tally.add(ended.killed);
    }
    const found = await readAll(folder);
    if (found !== null) expect(found.rows).toEqual(published.get(found.at));
  }
  process.stderr.write(`folder, ${KILLS} kills\n${tally.text()}\n`);
  expect(await killDelivery({ dataDir, destinations: destinations(), moment: NEVER })).toMatchObject({ code: 0 });
  expect((await readAll(folder))?.rows).toEqual(await snapshotOf(dataDir));
});

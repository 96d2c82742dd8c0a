// Programs that people read with: DuckDB with httpfs, pyarrow and polars on a set in a bucket; DuckDB in Python on lakes whose
// files are in a bucket. The bucket is moto's, an imitation of S3.
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { z } from "zod";
import { TABLE_NAMES } from "../../src/catalog/tables.ts";
import { seededRandom } from "../support/chance.ts";
import { change } from "../support/change-mirror.ts";
import { cli } from "../support/cli.ts";
import { startPostgres, type TestPostgres } from "../support/postgres.ts";
import { aFolder, catalogUrl, deliver, lakeSetting } from "./a-lake.ts";
import { addContacts, erase } from "./erasing.ts";
import { commitSignals, move } from "./moving-mirror.ts";
import { AWS_ENV, aBucket, delivered, makeBucket, objectKeys, stubAws } from "./places.ts";
import { compared, python, readsSet } from "./read-set.ts";
import { type S3Server, startS3 } from "./s3-server.ts";

let s3: S3Server;
let postgres: TestPostgres;
beforeAll(async () => {
  [s3, postgres] = await Promise.all([startS3(inject("destinationsVenv")), startPostgres()]);
});
afterAll(async () => {
  await s3?.stop();
  await postgres?.stop();
});

test("a set in a bucket: pyarrow, polars and DuckDB with httpfs read the rows of the snapshot, all of them and no others", async () => {
  stubAws();
  const bucket = await aBucket(s3, "set");
  const dataDir = aFolder();
  const random = seededRandom(31);
  for (let step = 0; step < 4; step += 1) {
    await move(dataDir, random);
    await delivered(dataDir, bucket.setting());
  }
  const snapshot = join(dataDir, "warehouse.duckdb");
  const where = { endpoint: s3.endpoint, bucket: "set" };
  const read = (engine: string) => readsSet(engine, where, "set", snapshot);
  const byPyarrow = await read("pyarrow");
  expect(Object.keys(byPyarrow).sort()).toEqual([...TABLE_NAMES].sort());
  for (const table of ["signals", "contacts", "news_articles"]) expect(byPyarrow[table]?.rows).toBeGreaterThan(5);
  expect(Object.values(byPyarrow).filter(({ missing, extra }) => missing + extra > 0)).toEqual([]);
  expect(await read("polars")).toEqual(byPyarrow);
  expect(await read("duckdb")).toEqual(byPyarrow);
});

const lakeRead = z.object({
  found: z.array(
    z.object({
      change: z.number().nullable(),
      /** Tables that differ. */
      differences: z.record(z.string(), compared),
      /** Of all tables. */
      rows: z.number(),
    }),
  ),
  files: z.number(),
  holding: z.number(),
});

test.each(["sqlite", "postgres"] as const)(
  "a lake in a bucket, catalog in %s: DuckDB in Python reads each delivered snapshot, now and as it was; after an erasure no file holds the person",
  async (catalog) => {
    stubAws();
    const bucket = `lake-${catalog}`;
    await makeBucket(s3.endpoint, bucket);
    const [dataDir, at] = [aFolder(), aFolder()];
    const host = new URL(postgres.url).searchParams.get("host");
    const url =
      catalog === "sqlite" ? catalogUrl("sqlite") : `ducklake:postgres:dbname=postgres user=postgres host=${host}`;
    const settings = { data_path: `s3://${bucket}/lake/`, endpoint: s3.endpoint, path_style: true };
    /** `change`: null: the lake as it is now. */
    const snapshots: { readonly change: number | null; readonly snapshot: string }[] = [];
    const bring = async () => {
      const { to } = await deliver({ dataDir, at, url, settings });
      const snapshot = join(aFolder(), "snapshot.duckdb");
      copyFileSync(join(dataDir, "warehouse.duckdb"), snapshot);
      snapshots.push({ change: to.n, snapshot });
    };
    const read = async (asked: typeof snapshots) => {
      const where = { extensions: inject("extensions"), endpoint: s3.endpoint, files: `s3://${bucket}/lake` };
      const attached = url.replace("lake/", `${join(at, "lake")}/`);
      const question = { ...where, catalog: attached, snapshots: asked, wanted: "contact-1@example.com" };
      return lakeRead.parse(await python("read_lake.py", JSON.stringify(question)));
    };
    await change(dataDir, (warehouse) => commitSignals(warehouse, 1, 500, seededRandom(1)));
    await addContacts(dataDir, ["contact-1", "contact-2", "contact-3"]);
    await bring();
    await change(dataDir, async (warehouse) => {
      await commitSignals(warehouse, 480, 40, seededRandom(2));
      await warehouse.deleteKeys({ table: "signals", ids: ["1", "2", "3"], runId: "r", now: Date.now() });
    });
    await bring();
    await addContacts(dataDir, ["contact-4"]);
    await bring();
    const now = () => snapshots.slice(-1).map(({ snapshot }) => ({ change: null, snapshot }));
    const before = await read([...snapshots.slice(0, 2), ...now()]);
    expect(before.found.map(({ differences, rows }) => [differences, rows])).toEqual([
      [{}, 503],
      [{}, 519],
      [{}, 520],
    ]);
    expect(before.holding).toBeGreaterThan(0);
    const sql = "SELECT count(*) AS n, sum(id)::BIGINT AS ids FROM signals";
    const text = lakeSetting(url, settings);
    const here = await cli(["query", "--data-dir", dataDir, "--json", sql], { cwd: dataDir });
    const there = await cli(["query", "--from", "lake", "--json", sql], {
      cwd: at,
      env: { ...AWS_ENV, DUCKMIRROR_DESTINATIONS: text },
    });
    expect(there).toMatchObject({ code: 0, out: here.out });
    await erase(dataDir, "contact-1");
    await bring();
    const after = await read(now());
    expect(after).toMatchObject({ found: [{ differences: {}, rows: 519 }], holding: 0 });
    // Every object is in the lake's folder.
    expect((await objectKeys(s3.endpoint, bucket)).filter((key) => !key.startsWith("lake/"))).toEqual([]);
  },
);

// Programs that people read with: DuckDB with httpfs or azure, pyarrow and polars on a set in a bucket or container; DuckDB in
// Python on lakes whose files are in a bucket. The bucket is moto's, an imitation of S3.
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, inject, test } from "vitest";
import { z } from "zod";
import { TABLE_NAMES } from "../../src/catalog/tables.ts";
import { seededRandom } from "../support/chance.ts";
import { change } from "../support/change-mirror.ts";
import { cli } from "../support/cli.ts";
import { forFile } from "../support/for-file.ts";
import { startPostgres } from "../support/postgres.ts";
import { aFolder, catalogUrl, deliver, lakeSetting } from "./a-lake.ts";
import { ACCOUNT, KEY } from "./azure-server.ts";
import { delivered } from "./deliveries.ts";
import { addContacts, erase } from "./erasing.ts";
import { commitSignals, move } from "./moving-mirror.ts";
import { AWS_ENV, BUCKETS, CONTAINERS, eachTestIn, makeBucket, objectKeys, stubAws } from "./places.ts";
import { catalogIn } from "./read-postgres.ts";
import { compared, python, readsSet } from "./read-set.ts";
import { startS3 } from "./s3-server.ts";

const s3 = await forFile(startS3(inject("destinationsVenv")));
const postgres = await forFile(startPostgres());

describe.each([BUCKETS, CONTAINERS])("a set in $kind", (kind) => {
  const { server, place } = eachTestIn(kind);

  test("pyarrow, polars and DuckDB read the rows of the snapshot, all of them and no others", async () => {
    const dataDir = aFolder();
    const random = seededRandom(31);
    for (let step = 0; step < 4; step += 1) {
      await move(dataDir, random);
      await delivered(dataDir, place().setting(), { env: place().env });
    }
    const account = kind === CONTAINERS ? { account: ACCOUNT, key: KEY } : {};
    const where = { endpoint: server().endpoint, bucket: place().name, ...account };
    const read = (engine: string) => readsSet(engine, where, "set", join(dataDir, "warehouse.duckdb"));
    const byPyarrow = await read("pyarrow");
    expect(Object.keys(byPyarrow).sort()).toEqual([...TABLE_NAMES].sort());
    for (const table of ["signals", "contacts", "news_articles"]) expect(byPyarrow[table]?.rows).toBeGreaterThan(5);
    expect(Object.values(byPyarrow).filter(({ missing, extra }) => missing + extra > 0)).toEqual([]);
    expect(await read("polars")).toEqual(byPyarrow);
    expect(await read("duckdb")).toEqual(byPyarrow);
  });
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
    const url = catalog === "sqlite" ? catalogUrl("sqlite") : catalogIn(postgres.url);
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

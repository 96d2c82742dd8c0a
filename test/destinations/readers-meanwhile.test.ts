// Readers of a lake in processes of their own, while deliveries go on: each read sees one published snapshot, whole.
// LAKE_READERS=20 LAKE_DELIVERIES=50 for more of both. Shows P28.
import { join } from "node:path";
import { expect, test } from "vitest";
import { runQuery } from "../../src/warehouse/read/query.ts";
import { seededRandom } from "../support/chance.ts";
import { change } from "../support/change-mirror.ts";
import { forFile } from "../support/for-file.ts";
import { startPostgres } from "../support/postgres.ts";
import { aFolder, deliver, differences, withReader } from "./a-lake.ts";
import { addContacts } from "./erasing.ts";
import { commitSignals } from "./moving-mirror.ts";
import { catalogIn } from "./read-postgres.ts";

const READERS = Number(process.env.LAKE_READERS ?? "5");
const DELIVERIES = Number(process.env.LAKE_DELIVERIES ?? "5");
/** Rows of two tables and a sum over the values of one: what a reader compares. */
const stateSql = (schema: string): string =>
  `concat_ws(' ', (SELECT count(*) FROM ${schema}.signals), (SELECT count(*) FROM ${schema}.contacts),
     (SELECT sum(md5_number_lower(concat_ws('|', id, headline, CAST(_extra AS VARCHAR))) % 1000000007) FROM ${schema}.signals))`;

const postgres = await forFile(startPostgres());

test(`${READERS} readers during ${DELIVERIES} deliveries: every read is a published snapshot, a transaction keeps its own, and none goes back`, async () => {
  const url = catalogIn(postgres.url);
  const [dataDir, at] = [aFolder(), aFolder()];
  const random = seededRandom(41);
  /** Number of the last change → what the mirror held then. */
  const published = new Map<string, string>();
  const bring = async (step: number) => {
    await change(dataDir, async (warehouse) => {
      await commitSignals(warehouse, Math.floor(random() * 2_000), 300, random);
      const ids = Array.from({ length: 20 }, () => String(Math.floor(random() * 2_000)));
      await warehouse.deleteKeys({ table: "signals", ids, runId: "r", now: Date.now() });
    });
    await addContacts(dataDir, [`contact-${step}`]);
    const read = `SELECT ${stateSql("main")}, (SELECT max(last_n) FROM sync.change_batches)`;
    const { rows } = await runQuery({ snapshot: join(dataDir, "warehouse.duckdb"), sql: read });
    const [state, last] = rows[0] ?? [];
    published.set(String(last), String(state));
    expect((await deliver({ dataDir, at, url, settings: { data_path: "files" } })).to.n).toBe(Number(last));
  };
  await bring(0);
  const work = { isDone: false, reads: 0 };
  const seen = new Set<string>();
  const reader = () =>
    withReader(
      at,
      async (run) => {
        const sql = `SELECT (SELECT max(n) FROM lake.main._duckmirror) AS n, ${stateSql("lake.main")} AS state`;
        for (let before = 0, isLast = false; !isLast; ) {
          // One more read after the last delivery.
          isLast = work.isDone;
          await run("BEGIN");
          const [first] = await run(sql);
          const [again] = await run(sql);
          await run("COMMIT");
          expect(again).toEqual(first);
          expect(first?.state).toBe(published.get(String(first?.n)));
          expect(Number(first?.n)).toBeGreaterThanOrEqual(before);
          before = Number(first?.n);
          seen.add(String(first?.n));
          work.reads += 1;
        }
      },
      url,
    );
  const deliveries = async () => {
    try {
      for (let step = 1; step <= DELIVERIES; step += 1) await bring(step);
    } finally {
      work.isDone = true;
    }
  };
  await Promise.all([deliveries(), ...Array.from({ length: READERS }, reader)]);
  expect(published.size).toBe(DELIVERIES + 1);
  expect(seen.size).toBeGreaterThan(1);
  expect(await differences(dataDir, at, url)).toEqual({});
  process.stderr.write(`${READERS} readers, ${DELIVERIES} deliveries: ${work.reads} reads of ${seen.size} snapshots\n`);
});

// Deliveries to a real Postgres: after each its tables equal the published snapshot exactly. Kills: postgres-kills.test.ts.
import { beforeEach, expect, test } from "vitest";
import { seededRandom } from "../support/chance.ts";
import { change } from "../support/change-mirror.ts";
import { forFile } from "../support/for-file.ts";
import { startPostgres } from "../support/postgres.ts";
import { aFolder } from "./a-lake.ts";
import { delivered as deliveredTo, reportOf } from "./deliveries.ts";
import { commitSignals, DIGITS, dumpOf, move } from "./moving-mirror.ts";
import { dumpPostgres, rowsIn } from "./read-postgres.ts";

const server = await forFile(startPostgres());

const sql = (text: string) => rowsIn(server.url, text);
beforeEach(() => sql("DROP SCHEMA IF EXISTS duckmirror CASCADE").catch(() => undefined));

const destinations = (more: Record<string, unknown> = {}) =>
  JSON.stringify([{ name: "crm", kind: "postgres", url: server.url, ...more }]);

const deliver = (dataDir: string, more: Record<string, unknown> = {}) => reportOf(dataDir, destinations(more));
const delivered = (dataDir: string) => deliveredTo(dataDir, destinations());

const expectCurrent = async (dataDir: string): Promise<void> => {
  expect((await dumpPostgres(server.url)).dump).toEqual(await dumpOf(dataDir));
};

test("a first load, then changes with deletes, erased contacts, rows out of scope and feeds that begin anew", async () => {
  const dataDir = aFolder();
  const random = seededRandom(7);
  for (let step = 0; step < 7; step += 1) {
    await move(dataDir, random);
    await delivered(dataDir);
    await expectCurrent(dataDir);
  }
});

test("what did not change is not written, and the same snapshot twice writes nothing", async () => {
  const dataDir = aFolder();
  await change(dataDir, (warehouse) => commitSignals(warehouse, 1, 1_000, seededRandom(1)));
  const first = await delivered(dataDir);
  expect(first.from).toBeNull();
  expect(first.tables.find(({ table }) => table === "signals")).toMatchObject({ extent: "whole", written: 1_000 });
  expect(await delivered(dataDir)).toMatchObject({ tables: [], bytes: 0 });
  await change(dataDir, async (warehouse) => {
    await commitSignals(warehouse, 995, 10, seededRandom(2));
    await warehouse.deleteKeys({ table: "signals", ids: ["1", "2"], runId: "r", now: Date.now() });
  });
  const second = await delivered(dataDir);
  const signals = second.tables.find(({ table }) => table === "signals");
  expect(signals).toMatchObject({ extent: "changes", deleted: 2 });
  expect(signals?.written).toBeLessThanOrEqual(10);
  expect(second.bytes ?? 0).toBeLessThan((first.bytes ?? 0) / 50);
  await expectCurrent(dataDir);
});

test("types, keys and comments are those of the mirror; numbers are exact and any text arrives", async () => {
  const dataDir = aFolder();
  await change(dataDir, (warehouse) => commitSignals(warehouse, 1, 50, seededRandom(3)));
  await delivered(dataDir);
  await expectCurrent(dataDir);
  const types = await sql(
    "SELECT column_name, data_type FROM information_schema.columns WHERE table_schema = 'duckmirror' AND table_name = 'signals'",
  );
  expect(Object.fromEntries(types.map((row) => [row.column_name, row.data_type]))).toMatchObject({
    id: "bigint",
    headline: "text",
    updated_at: "timestamp with time zone",
    _extra: "json",
  });
  const [extra] = await sql(
    `SELECT _extra::text AS text FROM duckmirror.signals WHERE _extra::text LIKE '%fractions%' LIMIT 1`,
  );
  for (const digits of DIGITS) expect(extra?.text).toContain(digits);
  const [key] = await sql(
    "SELECT pg_get_constraintdef(oid) AS key FROM pg_constraint WHERE conrelid = 'duckmirror.news_articles'::regclass",
  );
  expect(key?.key).toBe("PRIMARY KEY (company_id, id)");
  const [comment] = await sql(
    "SELECT obj_description('duckmirror.signals'::regclass) AS text, col_description('duckmirror.signals'::regclass, 1) AS first",
  );
  expect(comment).toMatchObject({ text: "One row per business event.", first: expect.stringMatching(/\w/) });
});

test("a column that the mirror gains is added and filled; views of users and their rights stay", async () => {
  const dataDir = aFolder();
  await change(dataDir, (warehouse) => commitSignals(warehouse, 1, 20, seededRandom(4)));
  await delivered(dataDir);
  await sql("CREATE VIEW duckmirror.mine AS SELECT id, headline FROM duckmirror.signals");
  await change(dataDir, ({ database }) =>
    database.run("ALTER TABLE main.signals ADD COLUMN later VARCHAR; UPDATE main.signals SET later = 'x'"),
  );
  await delivered(dataDir);
  expect(await sql("SELECT count(*)::int AS n FROM duckmirror.signals WHERE later = 'x'")).toEqual([{ n: 20 }]);
  expect(await sql("SELECT count(*)::int AS n FROM duckmirror.mine")).toEqual([{ n: 20 }]);
});

test("readers never see an empty or half-written table", async () => {
  const dataDir = aFolder();
  const random = seededRandom(5);
  await change(dataDir, (warehouse) => commitSignals(warehouse, 1, 2_000, random));
  await delivered(dataDir);
  let reading = true;
  const counts = new Set<number>();
  const read = (async () => {
    while (reading) counts.add(Number((await sql("SELECT count(*)::int AS n FROM duckmirror.signals"))[0]?.n));
  })();
  for (let step = 1; step <= 4; step += 1) {
    await change(dataDir, async (warehouse) => {
      await commitSignals(warehouse, 2_000 + step * 100, 100, random);
      await warehouse.database.run("UPDATE main.signals SET _in_scope = NOT _in_scope");
    });
    expect((await delivered(dataDir)).tables.find(({ table }) => table === "signals")?.extent).toBe("whole");
  }
  reading = false;
  await read;
  for (const count of counts) expect([2_000, 2_100, 2_200, 2_300, 2_400]).toContain(count);
});

test("two deliveries at once: one waits, both end, the newest snapshot is there", async () => {
  const dataDir = aFolder();
  const random = seededRandom(6);
  await move(dataDir, random);
  for (let round = 0; round < 5; round += 1) {
    const first = deliver(dataDir);
    await move(dataDir, random);
    const [one, two] = await Promise.all([first, deliver(dataDir)]);
    expect([one.error, two.error]).toEqual([null, null]);
    await expectCurrent(dataDir);
  }
});

test("Postgres away, then killed in the middle, then back: the next delivery brings everything", async () => {
  const dataDir = aFolder();
  const random = seededRandom(8);
  await move(dataDir, random);
  await delivered(dataDir);
  const before = await dumpPostgres(server.url);
  await server.kill();
  for (let step = 0; step < 3; step += 1) await move(dataDir, random);
  expect((await deliver(dataDir)).error).toMatchObject({ code: "DESTINATION_AWAY" });
  await server.start();
  expect(await dumpPostgres(server.url)).toEqual(before);
  await change(dataDir, (warehouse) => commitSignals(warehouse, 10_000, 30_000, random));
  const delivering = deliver(dataDir);
  await server.kill();
  expect((await delivering).error).toMatchObject({ code: "DESTINATION_AWAY" });
  await server.start();
  await delivered(dataDir);
  await expectCurrent(dataDir);
});

test("another mirror and tables that duckmirror did not make are refused; taking over replaces the first", async () => {
  const [one, other] = [aFolder(), aFolder()];
  await move(one, seededRandom(9));
  await move(other, seededRandom(10));
  await delivered(one);
  expect((await deliver(other)).error).toMatchObject({ code: "DESTINATION_OTHER_MIRROR" });
  await expectCurrent(one);
  await deliveredTo(other, destinations(), { takeOver: true });
  await expectCurrent(other);
  await sql("DROP SCHEMA IF EXISTS app CASCADE; CREATE SCHEMA app; CREATE TABLE app.contacts (id int)");
  const { error } = await deliver(one, { schema: "app" });
  expect(error).toMatchObject({ code: "DESTINATION_FAILED", message: expect.stringContaining("did not make") });
  expect(await sql("SELECT count(*)::int AS n FROM information_schema.tables WHERE table_schema = 'app'")).toEqual([
    { n: 1 },
  ]);
});

test("a role without the right to write is told so, and its password is not shown", async () => {
  const dataDir = aFolder();
  await move(dataDir, seededRandom(11));
  await sql("DROP ROLE IF EXISTS reader; CREATE ROLE reader LOGIN PASSWORD 'hush-hush'");
  const url = server.url.replace("postgres@", "reader:hush-hush@");
  const { error } = await deliver(dataDir, { url });
  expect(error).toMatchObject({ code: "DESTINATION_FAILED", message: expect.stringContaining("permission denied") });
  expect(`${error?.message} ${error?.hint}`).not.toContain("hush");
});

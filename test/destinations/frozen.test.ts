// Destinations that freeze: they keep connections open and send nothing. The delivery ends after the setting
// `answer_timeout`, changes nothing, and the next one brings everything. Shows P42.
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { afterEach, beforeEach, expect, inject, test } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { Secret } from "../../src/core/secret.ts";
import { connect, loadPackages } from "../../src/deliver/kinds/postgres/session.ts";
import { createLocalDeliveries } from "../../src/queue/deliveries/local.ts";
import { seededRandom } from "../support/chance.ts";
import { forFile } from "../support/for-file.ts";
import { startPostgres } from "../support/postgres.ts";
import { aFolder, deliver, differences, report } from "./a-lake.ts";
import { configFor, delivered, reportOf } from "./deliveries.ts";
import { killDelivery, type Moment, NEVER } from "./killed-delivery.ts";
import { dumpOf, move } from "./moving-mirror.ts";
import { aBucket, makeBucket, manifestOf, stubAws } from "./places.ts";
import { catalogIn, dumpPostgres, rowsIn } from "./read-postgres.ts";
import { startS3 } from "./s3-server.ts";

/** Longer than a busy machine needs for a step of these small deliveries. */
const PATIENT = "10s";

const server = await forFile(startPostgres());
const sql = (text: string) => rowsIn(server.url, text);
beforeEach(() => sql("DROP SCHEMA IF EXISTS duckmirror CASCADE"));
afterEach(() => server.thaw());

const crm = (settings: Readonly<Record<string, unknown>> = {}) =>
  JSON.stringify([{ name: "crm", kind: "postgres", url: server.url, ...settings }]);

const frozenAt = (step: string, when: Moment["when"]): Moment => ({
  step,
  nth: 1,
  when,
  victim: server.pid(),
  freeze: true,
});

const STATEMENTS = [
  ["pg_advisory_xact_lock", "before"],
  ["^COPY", "during"],
  ["^COMMIT", "before"],
] as const;

test.each(STATEMENTS)(
  "a Postgres that freezes at %s (%s) ends the delivery, and gets everything later",
  async (step, when) => {
    const dataDir = aFolder();
    const random = seededRandom(31);
    await move(dataDir, random);
    expect((await killDelivery({ dataDir, destinations: crm(), moment: NEVER })).code).toBe(0);
    const before = await dumpPostgres(server.url);
    await move(dataDir, random);
    const ended = await killDelivery({
      dataDir,
      destinations: crm({ answer_timeout: PATIENT }),
      moment: frozenAt(step, when),
    });
    expect(ended).toMatchObject({ killed: `${when} ${step}`, code: 5 });
    expect(ended.said).toContain("did not answer for 10s");
    server.thaw();
    // A COMMIT that was sent is carried out.
    expect([before.dump, await dumpOf(dataDir)]).toContainEqual((await dumpPostgres(server.url)).dump);
    expect((await killDelivery({ dataDir, destinations: crm(), moment: NEVER })).code).toBe(0);
    expect((await dumpPostgres(server.url)).dump).toEqual(await dumpOf(dataDir));
  },
);

test("a Postgres that is frozen when the delivery begins is away, and the worker's next attempt brings everything", async () => {
  const dataDir = aFolder();
  await move(dataDir, seededRandom(32));
  server.freeze();
  const logged: string[] = [];
  const config = configFor(dataDir, crm({ answer_timeout: PATIENT }));
  // It thaws while the worker waits for its next attempt.
  const clock = { ...systemClock, sleep: async () => server.thaw() };
  const deliveries = createLocalDeliveries({ clock, log: (level, text) => void logged.push(`${level}: ${text}`) });
  deliveries.ask(config);
  await expect.poll(() => logged.length, { timeout: 120_000 }).toBe(2);
  await deliveries.stop();
  expect(logged[0]).toMatch(/^warn: delivery to crm: .*cannot be reached/);
  expect(logged[1]).toMatch(/^info: delivered to crm/);
  expect((await dumpPostgres(server.url)).dump).toEqual(await dumpOf(dataDir));
});

test("a COPY may take longer than the limit while its rows are taken, and while they are made", async () => {
  const packages = await loadPackages("crm");
  const limited = { name: "crm", url: new Secret(server.url), answer_timeout: 2_000 };
  const session = await connect(packages, limited);
  try {
    await session.query(`CREATE TEMP TABLE slow (row text);
      CREATE FUNCTION pg_temp.wait() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.05); RETURN NEW; END';
      CREATE TRIGGER wait BEFORE INSERT ON slow FOR EACH ROW EXECUTE FUNCTION pg_temp.wait()`);
    const startedAt = performance.now();
    // 200 rows that do not fit into the buffers between, and one that takes long to make.
    async function* rows() {
      for (let nth = 0; nth < 200; nth += 1) yield Buffer.from(`${"x".repeat(100_000)}\n`);
      await systemClock.sleep(2_500, AbortSignal.timeout(10_000));
      yield Buffer.from("last\n");
    }
    await session.copy("COPY slow FROM STDIN", rows(), AbortSignal.timeout(120_000));
    expect(performance.now() - startedAt).toBeGreaterThan(10_000);
    expect((await session.query("SELECT count(*)::int AS n FROM slow")).rows).toEqual([{ n: 201 }]);
    await expect(session.query("SELECT pg_sleep(60)")).rejects.toMatchObject({
      code: "DESTINATION_AWAY",
      message: expect.stringContaining("did not answer for 2s"),
    });
  } finally {
    await session.close();
  }
});

/** A database of its own. */
const aCatalog = async (): Promise<string> => {
  const name = `lake_${randomUUID().replaceAll("-", "")}`;
  await sql(`CREATE DATABASE ${name}`);
  return catalogIn(server.url.replace("/postgres?", `/${name}?`));
};

test.each([
  ["^ATTACH 'ducklake", "before"],
  ["^COMMIT", "before"],
] as const)(
  "a lake whose catalog freezes at %s (%s) ends the delivery, and gets everything later",
  async (step, when) => {
    const [dataDir, at] = [aFolder(), aFolder()];
    const random = seededRandom(34);
    const url = await aCatalog();
    const settings = { data_path: join(at, "files") };
    const lake = { name: "lake", kind: "ducklake", url, extension_directory: inject("extensions"), ...settings };
    await move(dataDir, random);
    await deliver({ dataDir, at, url, settings });
    await move(dataDir, random);
    const destinations = JSON.stringify([{ ...lake, answer_timeout: PATIENT }]);
    const ended = await killDelivery({ dataDir, at, destinations, moment: frozenAt(step, when) });
    expect(ended).toMatchObject({ killed: `${when} ${step}`, code: 5 });
    expect(ended.said).toMatch(/cannot be reached: .*(did not answer for 10s|timeout expired)/s);
    server.thaw();
    await deliver({ dataDir, at, url, settings });
    expect(await differences(dataDir, at, url)).toEqual({});
  },
);

const s3 = await forFile(startS3(inject("destinationsVenv")));

test("a bucket that takes connections and answers nothing is away, and gets everything later", async () => {
  stubAws();
  const dataDir = aFolder();
  await move(dataDir, seededRandom(35));
  const bucket = await aBucket(s3, "frozen");
  s3.forget();
  s3.rule = () => "silent";
  const setting = bucket.setting({ answer_timeout: "1s" });
  const { error } = await reportOf(dataDir, setting);
  s3.rule = null;
  expect(error).toMatchObject({ code: "DESTINATION_AWAY" });
  // Tried again each time.
  expect(s3.seen.length).toBe(8);
  const { to } = await delivered(dataDir, setting);
  expect((await manifestOf(bucket))?.delivered).toMatchObject({ n: to.n });
});

test("a lake whose bucket takes connections and answers nothing is away, and gets everything later", async () => {
  stubAws();
  const [dataDir, at] = [aFolder(), aFolder()];
  await move(dataDir, seededRandom(36));
  await makeBucket(s3.endpoint, "lake");
  const settings = { data_path: "s3://lake/files/", endpoint: s3.endpoint, path_style: true, region: "us-east-1" };
  s3.rule = () => "silent";
  const { error } = await report({ dataDir, at, settings: { ...settings, answer_timeout: PATIENT } });
  s3.rule = null;
  expect(error).toMatchObject({ code: "DESTINATION_AWAY" });
  const { tables } = await deliver({ dataDir, at, settings });
  expect(tables.some(({ written }) => written > 0)).toBe(true);
  expect((await deliver({ dataDir, at, settings })).tables).toEqual([]);
});

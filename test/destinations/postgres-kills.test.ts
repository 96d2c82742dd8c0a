// Deliveries to a real Postgres during which the program or Postgres is killed at named moments. Shows P42.
import { expect, test } from "vitest";
import { openSource } from "../../src/deliver/source.ts";
import { seededRandom } from "../support/chance.ts";
import { change } from "../support/change-mirror.ts";
import { forFile } from "../support/for-file.ts";
import { startPostgres } from "../support/postgres.ts";
import { aFolder } from "./a-lake.ts";
import { aMoment, killDelivery, NEVER, struckAt, untilKilled } from "./killed-delivery.ts";
import { commitSignals, type Dump, dumpOf, move } from "./moving-mirror.ts";
import { dumpPostgres, rowsIn } from "./read-postgres.ts";

const KILLS = Number(process.env.KILLS ?? 4);

/** Statements of a delivery, in their order. */
const STEPS = [
  "^BEGIN",
  "pg_advisory_xact_lock",
  "^CREATE SCHEMA",
  "^CREATE TABLE",
  "^CREATE TEMP TABLE",
  "^COPY",
  "ADD PRIMARY KEY",
  "^DELETE FROM",
  "^INSERT INTO",
  "duckmirror_position. .mirror",
  "^COMMIT",
];

const server = await forFile(startPostgres());

test(`${KILLS} kills of the program and of Postgres: the tables equal a snapshot each time, and the newest in the end`, async () => {
  const dataDir = aFolder();
  const random = seededRandom(12);
  /** Position → tables, of every published snapshot. */
  const published = new Map<string, Dump>();
  const publish = async () => {
    await move(dataDir, random);
    const source = await openSource({ dataDir, now: Date.now() });
    const { position } = await source.sourceFor({ name: "crm", tables: [], takeOver: false });
    await source.close();
    published.set(JSON.stringify({ ...position, n: String(position.n) }), await dumpOf(dataDir));
  };
  const destinations = () => JSON.stringify([{ name: "crm", kind: "postgres", url: server.url }]);
  await change(dataDir, (warehouse) => commitSignals(warehouse, 10_000, 5_000, random));
  await untilKilled("postgres", KILLS, async (round) => {
    // Every fourth time there is nothing yet: a first load.
    if (round % 4 === 0) await rowsIn(server.url, "DROP SCHEMA IF EXISTS duckmirror CASCADE");
    await publish();
    const moment = aMoment(STEPS, ["program", "program", server.pid()], random);
    const killed = await struckAt({ dataDir, destinations: destinations(), moment });
    if (typeof moment.victim === "number") await server.restart();
    const { position, dump } = await dumpPostgres(server.url);
    if (position === null) return killed;
    expect([...published.keys()]).toContain(position);
    expect(dump).toEqual(published.get(position));
    return killed;
  });
  const last = await killDelivery({ dataDir, destinations: destinations(), moment: NEVER });
  expect(last.code).toBe(0);
  expect((await dumpPostgres(server.url)).dump).toEqual(await dumpOf(dataDir));
});

// Two deliveries to one lake: one brings its snapshot, the other changes nothing and says so. Shows P42.
import { expect, test } from "vitest";
import { openDestination } from "../../src/deliver/open-destination.ts";
import { withSource } from "../src/deliver/moving-mirror.ts";
import { seededRandom } from "../support/chance.ts";
import { change } from "../support/change-mirror.ts";
import { forFile } from "../support/for-file.ts";
import { startPostgres } from "../support/postgres.ts";
import { aFolder, catalogUrl, deliver, differences, lakeSetting, report } from "./a-lake.ts";
import { configFor } from "./deliveries.ts";
import { commitSignals } from "./moving-mirror.ts";
import { catalogIn } from "./read-postgres.ts";

const postgres = await forFile(startPostgres());

test("at the same time, with a catalog in Postgres: the lake equals the snapshot each time", async () => {
  const url = catalogIn(postgres.url);
  const [dataDir, at] = [aFolder(), aFolder()];
  const random = seededRandom(6);
  const call = { dataDir, at, url, settings: { data_path: "files" } };
  const move = () => change(dataDir, (warehouse) => commitSignals(warehouse, 1, 200, random));
  await move();
  await deliver(call);
  for (let round = 0; round < 4; round += 1) {
    await move();
    const errors = (await Promise.all([report(call), report(call)])).flatMap(({ error }) => error ?? []);
    expect(errors.map(({ code, message }) => ({ code, message }))).toEqual(
      errors.slice(0, 1).map(() => ({ code: "DESTINATION_OVERTAKEN", message: expect.any(String) })),
    );
    expect(await differences(dataDir, at, url)).toEqual({});
  }
});

test("a delivery of an older snapshot that a newer one overtakes leaves the newer one", async () => {
  const dataDir = aFolder();
  const random = seededRandom(7);
  const move = () => change(dataDir, (warehouse) => commitSignals(warehouse, 1, 50, random));
  await move();
  await deliver({ dataDir });
  await move();
  const { destinations, memory, azure } = configFor(dataDir, lakeSetting(catalogUrl("sqlite")));
  const [settings] = destinations;
  if (settings === undefined) throw new Error("no destination");
  const lake = await openDestination(settings, { memory, azure, clock: Date });
  const older = withSource(dataDir, (source) => {
    const overtaken = async (...from: Parameters<typeof source.tablesSince>) => {
      const tables = await source.tablesSince(...from);
      await move();
      await deliver({ dataDir });
      return tables;
    };
    return lake.deliver({ ...source, tablesSince: overtaken }, new AbortController().signal);
  });
  await expect(older).rejects.toMatchObject({ code: "DESTINATION_OVERTAKEN" });
  expect(await differences(dataDir, dataDir)).toEqual({});
});

// Two deliveries to one lake: one brings its snapshot, the other changes nothing and says so. Shows P42.
import { expect, onTestFinished, test } from "vitest";
import { vocabulary } from "../../src/catalog/field-rules.ts";
import { resolveConfig } from "../../src/core/config/config.ts";
import { openDestination } from "../../src/deliver/open-destination.ts";
import { withSource } from "../src/deliver/moving-mirror.ts";
import { seededRandom } from "../support/chance.ts";
import { change } from "../support/change-mirror.ts";
import { startPostgres } from "../support/postgres.ts";
import { aFolder, catalogUrl, deliver, differences, lakeSetting, report } from "./a-lake.ts";
import { commitSignals } from "./moving-mirror.ts";

test("at the same time, with a catalog in Postgres: the lake equals the snapshot each time", async () => {
  const postgres = await startPostgres();
  onTestFinished(() => postgres.stop());
  const url = `ducklake:postgres:dbname=postgres user=postgres host=${new URL(postgres.url).searchParams.get("host")}`;
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
  const { destinations, memory, azure } = resolveConfig({
    flags: {},
    env: { DUCKMIRROR_DATA_DIR: dataDir, DUCKMIRROR_DESTINATIONS: lakeSetting(catalogUrl("sqlite")) },
    file: null,
    cwd: dataDir,
    vocabulary: vocabulary(),
  });
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

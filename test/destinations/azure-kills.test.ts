// Deliveries to a container of azurite, Microsoft's emulator of Azure Storage, during which the program is killed at
// requests, or the service goes away. azurite itself is not killed: it keeps nothing.
import { afterAll, beforeAll, beforeEach, expect, inject, test } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { seededRandom } from "../support/sync-rig.ts";
import { delivered } from "./a-bucket.ts";
import { AZURE_ENV, aContainer, type TestContainer } from "./a-container.ts";
import { aFolder } from "./a-lake.ts";
import { type AzureServer, startAzure } from "./azure-server.ts";
import { createTally, killDelivery, NEVER } from "./killed-delivery.ts";
import { move } from "./moving-mirror.ts";
import { aMovingMirror, strikeAtRequest } from "./strikes.ts";

const KILLS = Number(process.env.KILLS ?? 4);

let azure: AzureServer;
let container: TestContainer;
let made = 0;
beforeAll(async () => {
  azure = await startAzure(inject("azurite"));
});
afterAll(() => azure?.stop());
beforeEach(async () => {
  azure.rule = null;
  made += 1;
  container = await aContainer(azure, `container-${made}`);
});
const deliver = (dataDir: string) => delivered(dataDir, container.setting(), systemClock.now, AZURE_ENV);

test("a service that is away: the program ends when it has said so, and waits for no timer", async () => {
  const dataDir = aFolder();
  await move(dataDir, seededRandom(44));
  azure.rule = () => "reset";
  const delivery = { dataDir, destinations: container.setting(), env: AZURE_ENV, moment: NEVER };
  // The SDK's own timeout would keep the program for five minutes.
  const { code, said } = await killDelivery({ ...delivery, signal: AbortSignal.timeout(240_000) });
  expect(code, said).toBe(5);
  expect(said).toContain("DESTINATION_AWAY");
});

test(`${KILLS} kills of the program at requests: the manifest's set equals a snapshot each time, and the newest in the end`, async () => {
  const { dataDir, random, published, publish } = aMovingMirror(42);
  const tally = createTally();
  await publish();
  await deliver(dataDir);
  for (let killed = 0, round = 0; killed < KILLS; round += 1) {
    if (round > KILLS * 5) throw new Error(`only ${killed} of ${round} deliveries were killed`);
    await publish();
    // Every fifth time there is nothing yet: a first load, of some 60 requests; others have some 20.
    const isFirst = round % 5 === 4;
    if (isFirst) container = await aContainer(azure, `first-${round}`);
    const at = 1 + Math.floor(random() * (isFirst ? 60 : 20));
    const delivery = { dataDir, destinations: container.setting(), env: AZURE_ENV };
    const struck = await strikeAtRequest(azure, delivery, at, "program");
    if (struck !== "") {
      killed += 1;
      tally.add(struck);
    }
    const manifest = await container.manifest();
    if (manifest === null) continue;
    const wanted = published.get(JSON.stringify(manifest.delivered));
    expect(wanted).toBeDefined();
    expect(await container.rows(manifest, aFolder())).toEqual(wanted);
  }
  process.stderr.write(`container, ${KILLS} kills\n${tally.text()}\n`);
  await deliver(dataDir);
  await container.expectCurrent(dataDir, aFolder());
});

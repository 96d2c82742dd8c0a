import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { openDatabase } from "../../../src/warehouse/duckdb/database.ts";
import { aCheckpoint, aLoad, aSignal, aWarehouse } from "./builders.ts";
import { startReaderChild } from "./child.ts";

const headlines = z.object({ headline: z.string() });

test("fifteen publishes under twenty readers and one that stays: no error, no wait, every read of one version", async () => {
  const warehouse = await aWarehouse();
  const commit = (version: number) =>
    warehouse.commit(
      aCheckpoint([
        aLoad(
          "signals",
          Array.from({ length: 100 }, (_, id) => aSignal(id, { headline: `version ${version}` })),
        ),
      ]),
    );
  await commit(0);
  await warehouse.publish();
  const stays = await openDatabase(warehouse.snapshot, { readOnly: true, threads: 1 });
  onTestFinished(() => stays.close());
  const readers = startReaderChild(warehouse.snapshot);
  expect(await readers.next()).toBe("reading");
  for (let version = 1; version <= 15; version++) {
    await commit(version);
    readers.say("read");
    await warehouse.publish();
    const seen = await stays.query("SELECT DISTINCT headline FROM signals", [], headlines);
    expect(seen).toEqual([{ headline: "version 0" }]);
  }
  await readers.end();
  const [reads = 0, versions = 0] = ((await readers.next()) ?? "").split(" ").map(Number);
  // Readers that waited for the writer would have met few of the versions.
  expect(reads).toBeGreaterThan(40);
  expect(versions).toBeGreaterThan(4);
});

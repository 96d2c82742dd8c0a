// `duckmirror deliver`: what it refuses, and that a destination that fails stops no other.

import { utimesSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { deliverJob } from "../../../../../jobs/deliver.ts";
import { systemClock } from "../../../../../src/core/clock.ts";
import { change } from "../../../../support/change-mirror.ts";
import { aFolder, cli } from "../../../../support/cli.ts";
import { configOf } from "../../../../support/given-config.ts";
import { emptyCopy, mapDestination } from "../../../deliver/copies.ts";

const aMirror = async (): Promise<string> => {
  const dataDir = aFolder();
  await change(dataDir, async () => undefined);
  return dataDir;
};

/** Nothing listens on port 1. */
const TWO = JSON.stringify([
  { name: "a", kind: "postgres", url: "postgres://me:hush-hush@127.0.0.1:1/x" },
  { name: "b", kind: "postgres", url: "postgres://me:hush-hush@127.0.0.1:1/x", schema: "b" },
]);

test("without a destination, and with an unknown name, it says what to do", async () => {
  const dataDir = await aMirror();
  const none = await cli(["deliver"], { env: { DUCKMIRROR_DATA_DIR: dataDir } });
  expect(none).toMatchObject({ code: 2, out: "", err: expect.stringContaining("error DESTINATIONS_MISSING") });
  const env = { DUCKMIRROR_DATA_DIR: dataDir, DUCKMIRROR_DESTINATIONS: TWO };
  const unknown = await cli(["deliver", "c"], { env });
  expect(unknown).toMatchObject({
    code: 2,
    err: expect.stringContaining("There is no destination c; configured: a, b"),
  });
});

test("destinations that are away: code 5, each with its error, no password anywhere", async () => {
  const env = { DUCKMIRROR_DATA_DIR: await aMirror(), DUCKMIRROR_DESTINATIONS: TWO };
  const { code, out, err } = await cli(["deliver", "--json"], { env });
  expect(code).toBe(5);
  expect(JSON.parse(out)).toMatchObject({
    destinations: [
      { name: "a", kind: "postgres", status: "failed", from: null, to: null, error: { code: "DESTINATION_AWAY" } },
      { name: "b", status: "failed", error: { code: "DESTINATION_AWAY" } },
    ],
  });
  const shown = await cli(["deliver", "b"], { env });
  expect(shown).toMatchObject({ code: 5, out: expect.stringContaining("DESTINATION_AWAY") });
  expect(out + err + shown.out + shown.err).not.toContain("hush");
});

test("an address whose variable is not set is an error of its delivery, not of other commands", async () => {
  const one = { name: "crm", kind: "postgres", url_env: "CRM_URL" };
  const env = { DUCKMIRROR_DATA_DIR: await aMirror(), DUCKMIRROR_DESTINATIONS: JSON.stringify([one]) };
  expect(await cli(["status"], { env })).toMatchObject({ code: 0 });
  const { code, out } = await cli(["deliver", "--json"], { env });
  expect([code, JSON.parse(out).destinations]).toMatchObject([
    2,
    [{ name: "crm", error: { code: "CONFIG_INVALID", message: expect.stringContaining("crm: CRM_URL is not set") } }],
  ]);
});

test("after a delivery `status` says that the destination is up to date", async () => {
  const dataDir = await aMirror();
  // A file's time has fractions of a millisecond on most disks; here it certainly has.
  utimesSync(join(dataDir, "warehouse.duckdb"), 1_795_577_885.6527, 1_795_577_885.6527);
  const one = { name: "lake", kind: "parquet", url: join(dataDir, "lake") };
  const env = { DUCKMIRROR_DATA_DIR: dataDir, DUCKMIRROR_DESTINATIONS: JSON.stringify([one]) };
  expect(await cli(["deliver"], { env })).toMatchObject({ code: 0 });
  const { out } = await cli(["status", "--json"], { env });
  expect(JSON.parse(out).destinations).toMatchObject([{ name: "lake", state: "up_to_date", behind_seconds: 0 }]);
  expect((await cli(["status"], { env })).out).toMatch(/lake[ │]+parquet[ │]+up to date[ │]+no /);
});

test("one that fails does not stop the others, and is asked for the names that were given", async () => {
  const dataDir = await aMirror();
  const config = configOf(null, { DUCKMIRROR_DATA_DIR: dataDir, DUCKMIRROR_DESTINATIONS: TWO });
  const copy = emptyCopy();
  const signal = new AbortController().signal;
  const reports = await deliverJob(
    config,
    { names: [], takeOver: false },
    {
      clock: systemClock,
      signal,
      open: async ({ name, url }) => {
        if (name === "a") throw new Error(`cannot open ${url.reveal()}`);
        return mapDestination(copy);
      },
    },
  );
  expect(reports).toMatchObject([
    {
      name: "a",
      delivered: null,
      error: { code: "DESTINATION_FAILED", message: expect.stringContaining("me:[hidden]@") },
    },
    { name: "b", delivered: { from: null, to: { n: 0 } }, error: null },
  ]);
  expect(copy.position?.n).toBe(0);
});

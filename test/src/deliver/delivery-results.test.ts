// Notes of deliveries: what they came to, across attempts, and how far a destination is behind the published snapshot.

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { deliverJob } from "../../../jobs/deliver.ts";
import { TABLE_NAMES } from "../../../src/catalog/tables.ts";
import { DuckmirrorError } from "../../../src/core/errors.ts";
import { deliveryFigures, deliveryStates, leftOutText, noteAfter } from "../../../src/deliver/delivery-results.ts";
import { change } from "../../support/change-mirror.ts";
import { configOf } from "../../support/given-config.ts";
import { tempDir } from "../warehouse/temp-dir.ts";
import { emptyCopy, mapDestination } from "./copies.ts";
import { signalsOf } from "./moving-mirror.ts";

const aMirror = async () => {
  const dataDir = tempDir();
  await change(dataDir, (warehouse) => warehouse.commit(signalsOf("2025-01", [1, 2], "a")));
  const config = configOf(null, {
    DUCKMIRROR_DATA_DIR: dataDir,
    DUCKMIRROR_DESTINATIONS: '[{"name":"copy","kind":"parquet","url":"somewhere"}]',
  });
  const copy = emptyCopy();
  const state: { fault: DuckmirrorError | null; now: number } = { fault: null, now: 5_000 };
  const open = async () =>
    mapDestination(copy, () => {
      if (state.fault !== null) throw state.fault;
    });
  const deliver = (isLast?: boolean) =>
    deliverJob(
      config,
      { names: [], takeOver: false },
      {
        clock: { now: () => state.now },
        signal: new AbortController().signal,
        open,
        ...(isLast === undefined ? {} : { isLast: () => isLast }),
      },
    );
  const publishAt = (ms: number) =>
    change(dataDir, async () => undefined, { clock: { now: () => ms, sleep: async () => undefined } });
  const note = async () => {
    const [found] = await deliveryStates(config);
    if (found === undefined) throw new Error("no destination");
    return found;
  };
  return { dataDir, state, deliver, publishAt, note };
};

test("deliveries add up, and a destination is behind by the age of its snapshot", async () => {
  const { dataDir, state, deliver, publishAt, note } = await aMirror();
  expect(deliveryFigures(await note(), 0)).toMatchObject({ state: "never delivered", behindMs: null, failing: null });
  await publishAt(100_000);
  await deliver();
  const first = await note();
  expect(first.note?.held).toMatchObject({ n: 2, publishedAt: 100_000, deliveredAt: 5_000 });
  // As this destination counts: one row of each table, and a hundred bytes.
  expect(first.note?.totals).toMatchObject({ deliveries: 1, failures: 0, written: TABLE_NAMES.length, bytes: 100 });
  expect(deliveryFigures(first, 100_000)).toMatchObject({ state: "up to date", behindMs: 0 });
  expect(deliveryFigures(first, 160_000)).toMatchObject({ state: "behind", behindMs: 60_000 });
  // Nothing new: a newer snapshot with the same changes.
  await publishAt(160_000);
  state.now = 6_000;
  await deliver();
  const second = await note();
  expect(deliveryFigures(second, 160_000)).toMatchObject({ state: "up to date", deliveredAt: 6_000 });
  expect(second.note?.totals).toMatchObject({ deliveries: 2, written: first.note?.totals.written });
  expect(readdirSync(join(dataDir, "state", "deliveries"))).toEqual(["copy.json"]);
});

test("failures count until a delivery ends well; what was given up stays so until then", async () => {
  const { state, deliver, note } = await aMirror();
  await deliver();
  state.fault = new DuckmirrorError("DESTINATION_AWAY", { name: "copy", detail: "ada@example.com is in the way" });
  await deliver(false);
  state.now = 9_000;
  await deliver(true);
  const failing = { since: 5_000, at: 9_000, code: "DESTINATION_AWAY", attempts: 2, givenUp: true };
  expect((await note()).note).toMatchObject({ held: { n: 2 }, failing, totals: { deliveries: 1, failures: 2 } });
  expect(deliveryFigures(await note(), 0)).toMatchObject({ state: "given up" });
  // By hand.
  await deliver();
  expect((await note()).note?.failing).toMatchObject({ attempts: 3, givenUp: true });
  state.fault = null;
  await deliver();
  expect((await note()).note).toMatchObject({ failing: null, totals: { deliveries: 2, failures: 3 } });
});

test("a note holds no text of an error, and one that is damaged begins anew", async () => {
  const { dataDir, state, deliver, note } = await aMirror();
  state.fault = new DuckmirrorError("DESTINATION_FAILED", { name: "copy", detail: "ada@example.com is in the way" });
  await deliver();
  const file = join(dataDir, "state", "deliveries", "copy.json");
  expect(readFileSync(file, "utf8")).not.toContain("ada@");
  writeFileSync(file, "{");
  expect((await note()).note).toBeNull();
  state.fault = null;
  await deliver();
  expect((await note()).note?.totals).toMatchObject({ deliveries: 1, failures: 0 });
});

test("a note that cannot be written fails no delivery", async () => {
  const { dataDir, deliver, note } = await aMirror();
  mkdirSync(join(dataDir, "state", "deliveries", "copy.json"), { recursive: true });
  const [report] = await deliver();
  expect(report?.error).toBeNull();
  expect((await note()).note).toBeNull();
});

test("rows that a destination cannot hold are counted until a delivery no longer leaves them out", () => {
  const end = { from: null, to: { mirror: "m", n: 7, mark: "" }, tables: [], bytes: 1 };
  const leftOut = [{ table: "news_articles", rows: 2, keys: ["acme/ada@example.com"] }];
  const first = noteAfter(null, { delivered: { ...end, leftOut }, publishedAt: 1, ms: 1, now: 2 });
  expect(JSON.stringify(first)).not.toContain("ada@");
  const failed = noteAfter(first, { code: "DESTINATION_AWAY", isLast: false, now: 3 });
  const figures = deliveryFigures({ name: "crm", kind: "postgres", note: failed }, 1);
  expect(figures.leftOut).toEqual([{ table: "news_articles", rows: 2 }]);
  expect(leftOutText(figures.leftOut)).toBe("2 rows of news_articles left out");
  const last = noteAfter(failed, { delivered: { ...end, leftOut: [] }, publishedAt: 1, ms: 1, now: 4 });
  expect(last.held?.leftOut).toEqual([]);
});

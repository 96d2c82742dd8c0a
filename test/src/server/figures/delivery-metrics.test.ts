// Metrics of deliveries, as a monitor reads them.
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import type { DeliveryNote, DeliveryState } from "../../../../src/deliver/notes.ts";
import { createDeliveryMetrics, type PublishedChanges } from "../../../../src/server/figures/metrics.ts";

const TOTALS = { deliveries: 5, failures: 2, ms: 4_500, written: 30, deleted: 4, bytes: 900 };
const HELD = { n: 70, publishedAt: 10_000, deliveredAt: 12_000, ms: 1_500, leftOut: [] };
const aNote = (more: Partial<DeliveryNote> = {}): DeliveryNote => ({
  v: 1,
  held: HELD,
  failing: null,
  totals: TOTALS,
  ...more,
});
const aState = (note: DeliveryNote | null, kind: DeliveryState["kind"] = "parquet"): DeliveryState => ({
  name: "lake",
  kind,
  note,
});

const metricsOf = async (
  state: DeliveryState,
  published: PublishedChanges | null = { publishedAt: 40_000, last: 100 },
) => {
  const registry = new Registry();
  createDeliveryMetrics(registry)("north", [state], published);
  const lines = (await registry.metrics()).split("\n");
  return (name: string) => {
    const line = lines.find((text) => text.startsWith(`duckmirror_${name}{profile="north",destination="lake"} `));
    return line === undefined ? null : Number(line.split(" ").at(-1));
  };
};

test("a destination that fails shows it, and whether the worker has given up", async () => {
  const failing = { since: 1, at: 2, code: "DESTINATION_AWAY", attempts: 3, givenUp: false };
  const retried = await metricsOf(aState(aNote({ failing })));
  expect([retried("delivery_works"), retried("delivery_given_up"), retried("delivery_position")]).toEqual([0, 0, 70]);
  const left = await metricsOf(aState(aNote({ failing: { ...failing, givenUp: true } })));
  expect(left("delivery_given_up")).toBe(1);
});

test("a destination to which nothing was delivered yet shows no position, and no failure before the first attempt", async () => {
  const untried = await metricsOf(aState(null));
  expect([untried("delivery_works"), untried("delivery_position"), untried("deliveries_total")]).toEqual([
    null,
    null,
    0,
  ]);
  const value = await metricsOf(aState(aNote({ held: null })));
  expect([value("delivery_position"), value("delivery_behind_seconds")]).toEqual([null, null]);
});

test("without a snapshot, nothing is said of what is behind", async () => {
  const without = await metricsOf(aState(aNote()), null);
  expect([
    without("delivery_changes_behind"),
    without("delivery_behind_seconds"),
    without("delivery_position"),
  ]).toEqual([null, null, 70]);
});

test("a destination ahead of a restored snapshot is behind by nothing", async () => {
  const value = await metricsOf(aState(aNote()), { publishedAt: 5_000, last: 50 });
  expect([value("delivery_changes_behind"), value("delivery_behind_seconds")]).toEqual([0, 0]);
});

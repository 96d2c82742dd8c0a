// Metrics of deliveries, one series per configured destination, from the notes that deliveries leave beside the mirror.
import { Counter, Gauge, type Registry } from "prom-client";
import { behindMs, type DeliveryState } from "../../deliver/notes.ts";

/** The published snapshot; null: there is none that opens. */
export interface PublishedChanges {
  /** ms since the epoch. */
  readonly publishedAt: number;
  /** Number of its last change; null: it has no feed. */
  readonly last: number | null;
}

/** Created per scrape. The function adds a profile's destinations. */
export const createDeliveryMetrics = (registry: Registry) => {
  const shared = { labelNames: ["profile", "destination"], registers: [registry] };
  const gauge = (name: string, help: string) => new Gauge({ name: `duckmirror_${name}`, help, ...shared });
  const counter = (name: string, help: string) => new Counter({ name: `duckmirror_${name}`, help, ...shared });
  const position = gauge("delivery_position", "Number of the last change that the destination holds.");
  const changesBehind = gauge("delivery_changes_behind", "Changes of the published snapshot that it does not hold.");
  const behind = gauge(
    "delivery_behind_seconds",
    "How much older the snapshot at the destination is than the published one.",
  );
  const at = gauge("delivery_timestamp_seconds", "When the last delivery that did not fail ended.");
  const lasted = gauge("delivery_seconds", "How long that delivery took.");
  const works = gauge("delivery_works", "0 when the last attempt failed.");
  const givenUp = gauge("delivery_given_up", "1 when the worker tries no further until the next publish.");
  const deliveries = counter("deliveries_total", "Deliveries that did not fail.");
  const failures = counter("delivery_failures_total", "Attempts that failed.");
  const seconds = counter("delivery_seconds_total", "Time that deliveries took.");
  const written = counter("delivery_rows_written_total", "Rows written at the destination.");
  const deleted = counter("delivery_rows_deleted_total", "Rows deleted at the destination.");
  const bytes = counter("delivery_bytes_total", "Bytes sent, where the kind knows them.");

  return (profile: string, states: readonly DeliveryState[], published: PublishedChanges | null): void => {
    for (const state of states) {
      const { name: destination, note } = state;
      const of = { profile, destination };
      const { held = null, failing = null } = note ?? {};
      const totals = note?.totals ?? { deliveries: 0, failures: 0, ms: 0, written: 0, deleted: 0, bytes: 0 };
      deliveries.inc(of, totals.deliveries);
      failures.inc(of, totals.failures);
      seconds.inc(of, totals.ms / 1000);
      written.inc(of, totals.written);
      deleted.inc(of, totals.deleted);
      if (state.kind !== "ducklake") bytes.inc(of, totals.bytes);
      if (note !== null) works.set(of, failing === null ? 1 : 0);
      givenUp.set(of, failing?.givenUp === true ? 1 : 0);
      if (held === null) continue;
      position.set(of, held.n);
      at.set(of, held.deliveredAt / 1000);
      lasted.set(of, held.ms / 1000);
      if (published === null) continue;
      behind.set(of, (behindMs(state, published.publishedAt) ?? 0) / 1000);
      if (published.last !== null) changesBehind.set(of, Math.max(0, published.last - held.n));
    }
  };
};

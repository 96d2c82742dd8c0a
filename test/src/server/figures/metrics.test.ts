// /metrics: figures of the snapshot, of runs in this process, of the queue; and documents that name no other metric.
import { readFileSync, statSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import type { SyncTriggers } from "../../../../src/core/report/triggers.ts";
import type { DeliveryState } from "../../../../src/deliver/delivery-results.ts";
import { HERE, mirrorForFile } from "../served-mirror.ts";

const mirror = await mirrorForFile(3);

/** `name{labels}` → value. */
const samples = (text: string): ReadonlyMap<string, number> =>
  new Map(
    text
      .split("\n")
      .filter((line) => line !== "" && !line.startsWith("#"))
      .map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.slice(line.lastIndexOf(" ") + 1))]),
  );

/** One that is behind and was given up, one that is up to date, and one that nobody has delivered to. */
const DELIVERIES: readonly DeliveryState[] = [
  {
    name: "crm",
    kind: "postgres",
    note: {
      v: 1,
      held: { n: 1, publishedAt: 1_000_000, deliveredAt: 1_060_000, ms: 2_500, leftOut: [] },
      failing: { since: 1_100_000, at: 1_200_000, code: "DESTINATION_AWAY", attempts: 10, givenUp: true },
      totals: { deliveries: 4, failures: 11, ms: 9_000, written: 70, deleted: 5, bytes: 4_096 },
    },
  },
  {
    name: "lake",
    kind: "ducklake",
    note: {
      v: 1,
      held: { n: 1_000_000, publishedAt: Date.now() + 3_600_000, deliveredAt: 2_000_000, ms: 1_000, leftOut: [] },
      failing: null,
      totals: { deliveries: 1, failures: 0, ms: 1_000, written: 8, deleted: 0, bytes: 0 },
    },
  },
  { name: "new", kind: "parquet", note: null },
];

const scrape = async () => {
  let tell: Parameters<NonNullable<SyncTriggers["listen"]>>[0] = () => undefined;
  const triggers: SyncTriggers = {
    start: async () => ({ runId: "r", joined: false }),
    find: async () => null,
    cancel: async () => false,
    listen: (listener) => {
      tell = listener;
      return () => undefined;
    },
  };
  const queue = { active: 0, delayed: 0, blocked: 0, failed: 1, paused: false, oldest_waiting_ms: null };
  const queues = [
    { ...queue, name: "sync", waiting: 3, oldest_waiting_ms: 4_500 },
    { ...queue, name: "deliver", waiting: 0, active: 1 },
  ];
  const members = ["1.0.0", "1.0.0", "2.0.0"].map((version, nth) => ({
    ...{ id: `m${nth}`, reads: 3, version, host: "h", pid: 1, since: 0, seen_at: 0, in_flight: 0, unable: [] },
    silent_ms: null,
  }));
  const paused = [
    { kind: "fleet", name: null, since: 0 },
    { kind: "profile", name: "north", since: null },
  ] as const;
  const fleet = async () => ({ now: 0, queues, members, paused });
  const alerts = async () => [{ name: "a", sent: 7, failed: 3, waiting: 2, dead: 1, works: false }];
  const deliveries = async () => DELIVERIES;
  const profiles = [{ name: "default", snapshot: mirror.snapshot, ratePerMinute: 300, alerts, deliveries }];
  const { app } = await mirror.server({ profiles, triggers, fleet });
  const run = { runId: "r", profile: "default" };
  tell({ kind: "waiting", why: "rate", until: Date.now() + 10_000, stream: null }, run);
  tell({ kind: "published", path: "x", bytes: 1, ms: 1500 }, run);
  tell({ kind: "exported", formats: ["parquet"], ms: 2500 }, run);
  const answer = await app.inject({ url: "/metrics", headers: HERE });
  expect(answer.headers["content-type"]).toContain("text/plain");
  return answer.body;
};

describe("the metrics", () => {
  test("tell rows, credits, requests and staleness as the mirror has them", async () => {
    const found = samples(await scrape());
    const { credits, requests } = mirror.sandbox.stats();
    expect(found.get('duckmirror_table_rows{profile="default",table="accounts"}')).toBe(3);
    expect(found.get('duckmirror_credits_spent_total{profile="default"}')).toBe(credits.used);
    expect(found.get('duckmirror_credits_limit{profile="default"}')).toBe(credits.limit);
    const all = [...found].filter(([name]) => name.startsWith("duckmirror_requests_total"));
    expect(all.reduce((sum, [, value]) => sum + value, 0)).toBe(requests);
    const staleness = found.get('duckmirror_table_staleness_seconds{profile="default",table="signals"}');
    expect(staleness).toBeGreaterThanOrEqual(0);
    expect(staleness).toBeLessThan(120);
  });

  test("tell waiting, publishing and exporting of the runs in this process", async () => {
    const found = samples(await scrape());
    expect(found.get('duckmirror_wait_seconds_total{profile="default",why="rate"}')).toBeCloseTo(10, 0);
    expect(found.get('duckmirror_publish_seconds{profile="default"}')).toBe(1.5);
    expect(found.get('duckmirror_export_seconds{profile="default"}')).toBe(2.5);
  });

  test("show each queue with its oldest job, members by version, and what is paused", async () => {
    const fleet = [...samples(await scrape())].filter(([name]) => /_(queue_|members|paused)/.test(name));
    expect(Object.fromEntries(fleet)).toMatchObject({
      'duckmirror_queue_jobs{state="waiting"}': 3,
      'duckmirror_queue_jobs{state="failed"}': 2,
      'duckmirror_queue_depth{queue="sync",state="waiting"}': 3,
      'duckmirror_queue_depth{queue="deliver",state="active"}': 1,
      'duckmirror_queue_oldest_waiting_seconds{queue="sync"}': 4.5,
      'duckmirror_queue_oldest_waiting_seconds{queue="deliver"}': 0,
      'duckmirror_members{version="1.0.0"}': 2,
      'duckmirror_members{version="2.0.0"}': 1,
    });
    const marks = fleet.filter(([name]) => name.startsWith("duckmirror_paused"));
    expect(Object.fromEntries(marks)).toEqual({
      'duckmirror_paused{kind="fleet",name=""}': 1,
      'duckmirror_paused{kind="profile",name="north"}': 1,
    });
  });

  test("show what the alert rules sent, what waits and what was given up", async () => {
    const found = [...samples(await scrape())].filter(([name]) => name.startsWith("duckmirror_alert_"));
    const of = '{profile="default",rule="a"}';
    expect(Object.fromEntries(found)).toEqual({
      [`duckmirror_alert_messages_sent_total${of}`]: 7,
      [`duckmirror_alert_attempts_failed_total${of}`]: 3,
      [`duckmirror_alert_messages_waiting${of}`]: 2,
      [`duckmirror_alert_messages_dead${of}`]: 1,
      [`duckmirror_alert_works${of}`]: 0,
    });
  });

  test("show per destination how far it is behind the snapshot, what it took, and whether it was given up", async () => {
    const all = [...samples(await scrape())];
    const of = (destination: string) => {
      const labels = `{profile="default",destination="${destination}"}`;
      const found = all.filter(([name]) => name.endsWith(labels));
      return Object.fromEntries(
        found.map(([name, value]) => [name.slice("duckmirror_".length, -labels.length), value]),
      );
    };
    const { delivery_behind_seconds: behind, delivery_changes_behind: changes, ...crm } = of("crm");
    // The run ends some time before its snapshot is in place.
    expect(behind).toBeCloseTo(statSync(mirror.snapshot).mtimeMs / 1000 - 1_000, -2);
    expect(changes).toBeGreaterThan(0);
    expect(crm).toEqual({
      delivery_position: 1,
      delivery_timestamp_seconds: 1_060,
      delivery_seconds: 2.5,
      delivery_works: 0,
      delivery_given_up: 1,
      deliveries_total: 4,
      delivery_failures_total: 11,
      delivery_seconds_total: 9,
      delivery_rows_written_total: 70,
      delivery_rows_deleted_total: 5,
      delivery_bytes_total: 4_096,
    });
    expect(of("lake")).toMatchObject({ delivery_behind_seconds: 0, delivery_changes_behind: 0, delivery_works: 1 });
    expect(of("lake")).not.toHaveProperty("delivery_bytes_total");
    expect(Object.values(of("new"))).toEqual(Array(7).fill(0));
  });

  test("count the same however often they are read", async () => {
    const { app } = await mirror.server();
    const read = async () =>
      samples((await app.inject({ url: "/metrics", headers: HERE })).body).get(
        'duckmirror_credits_spent_total{profile="default"}',
      );
    expect(await read()).toBe(await read());
  });

  test("a profile without a snapshot is down, and the others are shown", async () => {
    const { snapshot } = mirror;
    const profiles = [
      { name: "new", snapshot: "/nonexistent/warehouse.duckdb", ratePerMinute: null },
      { name: "old", snapshot, ratePerMinute: null },
    ];
    const { app } = await mirror.server({ profiles });
    const found = samples((await app.inject({ url: "/metrics", headers: HERE })).body);
    expect(found.get('duckmirror_snapshot_up{profile="new"}')).toBe(0);
    expect(found.get('duckmirror_snapshot_up{profile="old"}')).toBe(1);
  });
});

describe("documents about metrics", () => {
  const read = (name: string) => readFileSync(new URL(`../../../../docs/${name}`, import.meta.url), "utf8");
  const named = (text: string) => new Set(text.match(/duckmirror_[a-z_]+/g) ?? []);

  test("docs/METRICS.md names every metric, and none that does not exist", async () => {
    const exported = new Set(
      [...(await scrape()).matchAll(/^# TYPE (duckmirror_\w+)/gm)].map(([, name]) => name ?? ""),
    );
    expect([...named(read("METRICS.md"))].sort()).toEqual([...exported].sort());
  });

  test("alert rules and dashboard are well-formed and ask for metrics that exist", () => {
    const known = named(read("METRICS.md"));
    const alerts = read("monitoring/alerts.yml");
    const dashboard = read("monitoring/grafana-dashboard.json");
    expect(parse(alerts).groups[0].rules.length).toBeGreaterThan(5);
    expect(JSON.parse(dashboard).panels.length).toBeGreaterThan(5);
    for (const text of [alerts, dashboard]) expect([...named(text)].filter((name) => !known.has(name))).toEqual([]);
  });
});

test("scrapes, probes and pages within a second share one reading of Redis", async () => {
  let readings = 0;
  const fleet = async () => {
    readings += 1;
    return { now: 0, queues: [], members: [], paused: [] };
  };
  const { app } = await mirror.server({ fleet });
  for (const url of ["/metrics", "/readyz", "/readyz", "/api/fleet"]) await app.inject({ url, headers: HERE });
  expect(readings).toBe(1);
});

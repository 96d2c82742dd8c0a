// Serves the figures of /metrics for Prometheus. All but the process's own come from the snapshot, so that any process can serve them and a
// restart loses no count. Figures of a running worker come from its events (`createRunFigures`).
import { statSync } from "node:fs";
import { dirname, join } from "node:path";
import { Counter, collectDefaultMetrics, Gauge, Registry } from "prom-client";
import { z } from "zod";
import type { AlertFigures } from "../../../jobs/alerts.ts";
import { exportDir } from "../../core/data-dir.ts";
import { isCode } from "../../core/errors.ts";
import { type Fleet, jobsByState } from "../../core/report/fleet.ts";
import type { ProgressEvent } from "../../core/report/sync-progress.ts";
import { behindMs, type DeliveryState } from "../../deliver/delivery-results.ts";
import { sqlText } from "../../warehouse/duckdb/sql-files.ts";
import { MANIFEST_NAME } from "../../warehouse/export/manifest.ts";
import { readFeedBounds } from "../../warehouse/read/changes/read-changes.ts";
import type { ServerContext } from "../http/server-context.ts";
import { perSnapshot, type Snapshot } from "../snapshots/snapshot.ts";
import { publishedAt, readChecks, readFindingCounts, readReading, tablesOf } from "./overview.ts";

/** Make metrics of a registry, each with the `shared` labels and its own. */
const makersOf = (registry: Registry, ...shared: string[]) => {
  const settings = (name: string, help: string, own: readonly string[]) => ({
    name: `duckmirror_${name}`,
    help,
    labelNames: [...shared, ...own],
    registers: [registry],
  });
  return {
    gauge: (name: string, help: string, ...own: string[]) => new Gauge(settings(name, help, own)),
    counter: (name: string, help: string, ...own: string[]) => new Counter(settings(name, help, own)),
  };
};

// Adds up events of runs for /metrics: waiting, publishing, exporting. Counts from the start of this process; without
// triggers there are none.

interface RunFigures {
  readonly registry: Registry;
  /** Adds one event of a run. `now` in ms since the epoch. */
  note(profile: string, event: ProgressEvent, now: number): void;
}

/** Something a worker does now and then, such as publishing: how often, how long in sum, how long the last time. */
const createDurations = (
  registry: Registry,
  noun: "publish" | "export",
  help: { readonly total: string; readonly seconds: string; readonly last: string },
) => {
  const { counter, gauge } = makersOf(registry, "profile");
  const total = counter(noun === "publish" ? "publishes_total" : "exports_total", help.total);
  const seconds = counter(`${noun}_seconds_total`, help.seconds);
  const last = gauge(`${noun}_seconds`, help.last);
  return (profile: string, ms: number): void => {
    total.inc({ profile });
    seconds.inc({ profile }, ms / 1000);
    last.set({ profile }, ms / 1000);
  };
};

/** Concurrent waits of several requests count once. */
const createWaits = (registry: Registry) => {
  const { counter } = makersOf(registry, "profile");
  const waited = counter(
    "wait_seconds_total",
    "Time that runs of this process waited, by reason: rate limit or retry.",
    "why",
  );
  /** End of each profile's present wait. */
  const waitingUntil = new Map<string, number>();
  return (profile: string, { why, until }: Extract<ProgressEvent, { kind: "waiting" }>, now: number): void => {
    // A run does not wait for the next period: it ends.
    if (why === "quota") return;
    const from = Math.max(now, waitingUntil.get(profile) ?? 0);
    if (until <= from) return;
    waited.inc({ profile, why }, (until - from) / 1000);
    waitingUntil.set(profile, until);
  };
};

export const createRunFigures = (): RunFigures => {
  const registry = new Registry();
  const noteWait = createWaits(registry);
  const notePublish = createDurations(registry, "publish", {
    total: "Snapshots published by this process.",
    seconds: "Time that publishing took in this process.",
    last: "How long the last publish of this process took.",
  });
  const noteExport = createDurations(registry, "export", {
    total: "Exports brought up to date by this process.",
    seconds: "Time that exporting took in this process.",
    last: "How long the last export of this process took.",
  });
  return {
    registry,
    note: (profile, event, now) => {
      if (event.kind === "waiting") noteWait(profile, event, now);
      else if (event.kind === "published") notePublish(profile, event.ms);
      else if (event.kind === "exported") noteExport(profile, event.ms);
    },
  };
};

// Metrics of the fleet: each queue, the members, what is paused. Every worker reports the whole fleet.

const STATES = ["waiting", "active", "delayed", "failed"] as const;

export const addFleet = (registry: Registry, fleet: Fleet): void => {
  const { queues, members, paused } = fleet;
  const { gauge } = makersOf(registry);
  const all = gauge("queue_jobs", "Jobs of syncs and verifications in all their queues by state.", "state");
  for (const [state, jobs] of Object.entries(jobsByState(fleet))) all.set({ state }, jobs);
  const jobs = gauge("queue_depth", "Jobs of one queue by state.", "queue", "state");
  const oldest = gauge(
    "queue_oldest_waiting_seconds",
    "Time since the oldest waiting job of a queue was added; 0: none waits.",
    "queue",
  );
  const workers = gauge("members", "Worker processes with a recent sign of life.", "version");
  const pauses = gauge("paused", "1 for everything that an operator paused.", "kind", "name");
  for (const { name: queue, oldest_waiting_ms, ...counts } of queues) {
    for (const state of STATES) jobs.set({ queue, state }, counts[state]);
    oldest.set({ queue }, (oldest_waiting_ms ?? 0) / 1000);
  }
  for (const { version } of members) workers.inc({ version });
  for (const { kind, name } of paused) pauses.set({ kind, name: name ?? "" }, 1);
};

// Metrics of deliveries, one series per configured destination, from the notes that deliveries leave beside the mirror.

/** The published snapshot; null: there is none that opens. */
export interface PublishedChanges {
  /** ms since the epoch. */
  readonly publishedAt: number;
  /** Number of its last change. */
  readonly last: number;
}

/** Created per scrape. The function adds a profile's destinations. */
export const createDeliveryMetrics = (registry: Registry) => {
  const { gauge, counter } = makersOf(registry, "profile", "destination");
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
      changesBehind.set(of, Math.max(0, published.last - held.n));
    }
  };
};

const outcomeRow = z.object({
  endpoint: z.string(),
  status: z.string(),
  charge: z.string(),
  requests: z.number(),
  seconds: z.number(),
  rows: z.number(),
  bytes: z.number(),
});
const runsRow = z.object({ status: z.string(), runs: z.number(), last_at: z.number() });

const readOutcomes = perSnapshot((snapshot) =>
  snapshot.query(sqlText("server/requests-by-outcome.sql"), [], outcomeRow),
);
const readRunCounts = perSnapshot((snapshot) => snapshot.query(sqlText("server/runs-by-status.sql"), [], runsRow));

/** Number of the last change. */
const readLastChange = perSnapshot((snapshot) => readFeedBounds(snapshot).then(({ last }) => last));

/** Metrics by name, created per scrape so that no value of an old snapshot remains. */
const metricsIn = (registry: Registry) => {
  const { gauge, counter } = makersOf(registry, "profile");
  return {
    up: gauge("snapshot_up", "1 when the profile has a snapshot that opens."),
    able: gauge("profile_able", "1 when this worker can sync the profile, as far as it can check without a request."),
    published: gauge("snapshot_published_timestamp_seconds", "When the snapshot was published."),
    bytes: gauge("snapshot_bytes", "Size of the snapshot."),
    rows: gauge("table_rows", "Rows of a table.", "table"),
    staleness: gauge("table_staleness_seconds", "Time since the stalest part of a table was last checked.", "table"),
    overdue: gauge(
      "table_overdue_seconds",
      "Time since a table's stalest part passed its max_age; below 0: not yet.",
      "table",
    ),
    maxAge: gauge("table_max_age_seconds", "The max_age of a table's stream, as configured in the last run.", "table"),
    complete: gauge("table_complete", "1 when the table is proven to hold what the service holds.", "table"),
    unconfirmed: gauge("table_unconfirmed_rows", "Rows that could not be confirmed.", "table"),
    failedScopes: gauge("table_failed_scopes", "Lists of a table whose last check failed.", "table"),
    limit: gauge("credits_limit", "Credits of the period, as the service last said."),
    remaining: gauge("credits_remaining", "Credits left in the period, as the service last said."),
    reset: gauge("credits_reset_timestamp_seconds", "When the period ends."),
    forecast: gauge(
      "credits_forecast_remaining",
      "Credits left at the reset at the pace of the last days; below 0: too few.",
    ),
    readAt: gauge("credits_reading_timestamp_seconds", "When the service last reported the credits."),
    spent: counter("credits_spent_total", "Credits this mirror spent since it began."),
    ambiguous: counter("credits_ambiguous_total", "Requests that died without an answer and may have cost a credit."),
    requests: counter("requests_total", "Requests by endpoint, status and charge.", "endpoint", "status", "charge"),
    seconds: counter("request_seconds_total", "Time that requests took.", "endpoint"),
    received: counter("rows_received_total", "Records received.", "endpoint"),
    downloaded: counter("bytes_received_total", "Bytes received.", "endpoint"),
    runs: counter("runs_total", "Runs by how they ended.", "status"),
    lastRun: gauge("last_run_timestamp_seconds", "When the last run of this status ended.", "status"),
    exported: gauge("export_timestamp_seconds", "When the Parquet export was last brought up to date."),
    rejects: gauge("rejected_records", "Records that could not become rows."),
    checks: gauge("check_passes", "1 when the check passed before the last publish or attempt.", "check", "severity"),
    failing: gauge("check_failing_rows", "Rows that a check returned, counted up to 10,000.", "check", "severity"),
    alertsSent: counter("alert_messages_sent_total", "Messages of an alert rule that were taken.", "rule"),
    alertsFailed: counter("alert_attempts_failed_total", "Attempts to send a rule's message that failed.", "rule"),
    alertsWaiting: gauge("alert_messages_waiting", "Messages of an alert rule that wait.", "rule"),
    alertsDead: gauge("alert_messages_dead", "Messages of an alert rule that were given up.", "rule"),
    alertsWork: gauge("alert_works", "1 when the rule can be evaluated and its receiver did not end it.", "rule"),
    drift: gauge("schema_drift", "Ways in which received records differ from the API document."),
  };
};
type Metrics = ReturnType<typeof metricsIn>;

const setSome = (gauge: Gauge, labels: Readonly<Record<string, string>>, value: number | null | undefined) => {
  if (value !== null && value !== undefined) gauge.set(labels, value);
};

const seconds = (ms: number | null | undefined) => (ms === null || ms === undefined ? null : ms / 1000);

const addSnapshot = async (metrics: Metrics, profile: string, snapshot: Snapshot, now: number): Promise<void> => {
  const labels = { profile };
  metrics.published.set(labels, (await publishedAt(snapshot)) / 1000);
  metrics.bytes.set(labels, snapshot.bytes);
  for (const table of await tablesOf(snapshot)) {
    const of = { profile, table: table.table_name };
    metrics.rows.set(of, table.row_count);
    const checked = table.oldest_checked_at;
    setSome(metrics.staleness, of, checked === null ? null : Math.max(0, now - checked) / 1000);
    setSome(metrics.overdue, of, table.due_at === null ? null : (now - table.due_at) / 1000);
    setSome(metrics.maxAge, of, table.max_age_hours === null ? null : table.max_age_hours * 3600);
    metrics.complete.set(of, table.complete ? 1 : 0);
    metrics.unconfirmed.set(of, table.unconfirmed ?? 0);
    metrics.failedScopes.set(of, table.failed_scopes);
  }
  const reading = await readReading(snapshot);
  setSome(metrics.limit, labels, reading?.credit_limit);
  setSome(metrics.remaining, labels, reading?.remaining);
  setSome(metrics.forecast, labels, reading?.forecast_remaining);
  setSome(metrics.reset, labels, seconds(reading?.resets_at));
  setSome(metrics.readAt, labels, seconds(reading?.captured_at));
  for (const { endpoint, status, charge, ...figures } of await readOutcomes(snapshot)) {
    metrics.requests.inc({ profile, endpoint, status, charge }, figures.requests);
    metrics.seconds.inc({ profile, endpoint }, figures.seconds);
    metrics.received.inc({ profile, endpoint }, figures.rows);
    metrics.downloaded.inc({ profile, endpoint }, figures.bytes);
    metrics.spent.inc(labels, charge === "spent" ? figures.requests : 0);
    metrics.ambiguous.inc(labels, charge === "ambiguous" ? figures.requests : 0);
  }
  for (const { status, runs, last_at } of await readRunCounts(snapshot)) {
    metrics.runs.inc({ profile, status }, runs);
    metrics.lastRun.set({ profile, status }, last_at / 1000);
  }
  for (const { run } of snapshot.looks) {
    metrics.runs.inc({ profile, status: run.status });
    setSome(metrics.lastRun, { profile, status: run.status }, seconds(run.finished_at));
  }
  const manifest = join(exportDir(dirname(snapshot.path), "parquet"), MANIFEST_NAME);
  setSome(metrics.exported, labels, seconds(statSync(manifest, { throwIfNoEntry: false })?.mtimeMs));
  const findings = await readFindingCounts(snapshot);
  metrics.rejects.set(labels, findings.rejects);
  metrics.drift.set(labels, findings.drifts);
  for (const { check, severity, status, failing } of await readChecks(snapshot)) {
    metrics.checks.set({ profile, check, severity }, status === "passed" ? 1 : 0);
    setSome(metrics.failing, { profile, check, severity }, failing);
  }
};

const addAlerts = (metrics: Metrics, profile: string, rules: readonly AlertFigures[]): void => {
  for (const { name: rule, sent, failed, waiting, dead, works } of rules) {
    const of = { profile, rule };
    metrics.alertsSent.inc(of, sent);
    metrics.alertsFailed.inc(of, failed);
    metrics.alertsWaiting.set(of, waiting);
    metrics.alertsDead.set(of, dead);
    metrics.alertsWork.set(of, works ? 1 : 0);
  }
};

export interface MetricsPage {
  readonly contentType: string;
  /** Text of one scrape. A profile without a snapshot has only `snapshot_up 0`. */
  text(): Promise<string>;
}

export const createMetrics = (context: ServerContext, figures: RunFigures): MetricsPage => {
  const ours = new Registry();
  collectDefaultMetrics({ register: ours });
  new Counter({
    name: "duckmirror_user_sql_crashes_total",
    help: "Statements of users that brought their process down by a fault of DuckDB, since this process began.",
    registers: [ours],
    collect() {
      this.reset();
      this.inc(context.userSql.crashes());
    },
  });
  return {
    contentType: ours.contentType,
    text: async () => {
      const scraped = new Registry();
      const metrics = metricsIn(scraped);
      const addDeliveries = createDeliveryMetrics(scraped);
      for (const { name, snapshots, alerts, deliveries } of context.mirrors) {
        let published: PublishedChanges | null = null;
        const up = await snapshots
          .use(async (snapshot) => {
            await addSnapshot(metrics, name, snapshot, context.clock.now());
            published = { publishedAt: await publishedAt(snapshot), last: await readLastChange(snapshot) };
          })
          .then(() => 1)
          .catch((error: unknown) => {
            if (!isCode(error, "SNAPSHOT_MISSING")) context.onFault(error);
            return 0;
          });
        metrics.up.set({ profile: name }, up);
        addAlerts(metrics, name, (await alerts?.()) ?? []);
        addDeliveries(name, (await deliveries?.()) ?? [], published);
        const unable = context.unable?.();
        if (unable !== undefined)
          metrics.able.set({ profile: name }, unable.some(({ profile }) => profile === name) ? 0 : 1);
      }
      // Without Redis, the other figures are still needed.
      const fleet = await context.fleet?.().catch(() => null);
      if (fleet !== undefined) {
        makersOf(scraped)
          .gauge("redis_up", "1 when Redis answers.")
          .set(fleet === null ? 0 : 1);
      }
      if (fleet) addFleet(scraped, fleet);
      return `${await scraped.metrics()}\n${await figures.registry.metrics()}\n${await ours.metrics()}`;
    },
  };
};

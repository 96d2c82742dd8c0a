// duckmirror status: shows rows, freshness and cost of the mirror, from the snapshot and the small files of the data directory (tier,
// deliveries, home, disk). Sends no request.
import { z } from "zod";
import { STREAM_NAMES, streamSpec } from "../../../catalog/streams.ts";
import type { UserSqlSetting } from "../../../core/config/settings.ts";
import { snapshotPath } from "../../../core/data-dir.ts";
import { type Verdict, verdictOf } from "../../../core/report/verdict.ts";
import { readTier, shownTier } from "../../../core/state/tier.ts";
import { counted, formatBytes, formatDuration, unconfirmedText } from "../../../core/text/units.ts";
import { isoTimeOrNull } from "../../../core/time.ts";
import { type DeliveryFigures, deliveryFigures, deliveryStates } from "../../../deliver/delivery-results.ts";
import { type HomeStatus, homeStatus } from "../../../deliver/home/mirror-home.ts";
import { type DiskUsage, readDiskUsage } from "../../../warehouse/read/disk-usage.ts";
import { judgedOf } from "../../../warehouse/read/freshness.ts";
import { type MirrorStatus, readStatus } from "../../../warehouse/read/read-status.ts";
import { type Box, offeredBox } from "../../../warehouse/user-sql/process-pool.ts";
import { type CommandContext, defineCommand, option, wholeOf } from "../../command.ts";
import {
  creditJson,
  creditLines,
  deliveryJson,
  deliveryLines,
  diskJson,
  diskLines,
  forecastLines,
  medianError,
} from "../../terminal/status/credit-account.ts";
import { renderTable, right } from "../../terminal/table.ts";

const inputSchema = z.object({ runs: option("<n>", "how many of the last runs to show (default: 5)") });

/** What the command shows: the published state, and files of the data directory. */
interface Shown extends MirrorStatus {
  readonly disk: DiskUsage;
  readonly deliveries: readonly DeliveryFigures[];
  /** null: the setting `home` is not set. */
  readonly home: HomeStatus;
  /** Where SQL of users runs, and what this system offers for it. */
  readonly userSql: Box & { readonly setting: UserSqlSetting };
  /** Syncs do not ask for the lists of Full Access. */
  readonly isClosed: boolean;
}

/** The verdict that the page and the HTTP API give, too. */
const judge = (status: Shown, now: number): Verdict => {
  const { spending, creditsEmptyOn: emptyOn } = status;
  const [lastRun = null] = status.runs;
  const streams = inOrder(status).flatMap(({ found, state }) =>
    found === undefined || state === "not in this tier" ? [] : [judgedOf(found)],
  );
  const credits = spending.credits && { ...spending.credits, emptyOn };
  return verdictOf({ streams, credits, lastRun, nextSyncAt: null, now });
};

/** Contract of `status --json`: times as ISO text, every stream, in the order of the catalog. */
const toJson = (status: Shown, now: number) => ({
  verdict: judge(status, now),
  tier: status.tier?.tier ?? "unknown",
  tier_since: status.tier?.since ?? null,
  snapshot: {
    path: status.snapshot.path,
    bytes: status.snapshot.bytes,
    published_at: isoTimeOrNull(status.snapshot.publishedAt),
  },
  disk: diskJson(status.disk, status.snapshot.freeShare),
  tables: status.tables.map(({ table_name: table, row_count: rows, last_change_at }) => ({
    table,
    rows,
    last_change_at: isoTimeOrNull(last_change_at),
  })),
  streams: inOrder(status).map(({ stream, state, found }) => ({
    stream,
    state,
    scopes: found?.scopes ?? 0,
    last_check_at: isoTimeOrNull(found?.last_checked_at ?? null),
    oldest_check_at: isoTimeOrNull(found?.oldest_checked_at ?? null),
    oldest_walk_at: isoTimeOrNull(found?.oldest_walked_at ?? null),
    /** No row of the stream is older than this; the reason is what the short read cannot see. */
    worst_case_at: isoTimeOrNull(found?.oldest_walked_at ?? found?.oldest_checked_at ?? null),
    worst_case_because: streamSpec(stream).blindSpot,
    total_count: found?.total_count ?? null,
    complete: found?.complete ?? false,
    unconfirmed: found?.unconfirmed ?? null,
    reason: found?.unconfirmed_because ?? null,
    error: found?.error ?? null,
  })),
  destinations: deliveryJson(status.deliveries),
  home: status.home,
  user_sql: status.userSql,
  credits: creditJson(status.spending),
  runs: status.runs.map(({ differences: _, failed_requests: __, started_at, finished_at, ...run }) => ({
    ...run,
    started_at: isoTimeOrNull(started_at),
    finished_at: isoTimeOrNull(finished_at),
  })),
  forecasts: {
    median_error_percent: medianError(status.forecasts),
    last: status.forecasts.map((forecast) => ({ ...forecast, started_at: isoTimeOrNull(forecast.started_at) })),
  },
  checks: status.checks.map(({ at, ...check }) => ({ ...check, at: isoTimeOrNull(at) })),
  rejects: status.rejects,
  schema_drift: status.schemaDrifts,
});

type StreamStatus = MirrorStatus["streams"][number];

const stateOf = (found: StreamStatus | undefined, isAsked: boolean): string => {
  if (!isAsked && (found === undefined || found.complete)) return "not in this tier";
  if (!found || (found.last_checked_at === null && !found.complete && found.walking_scopes === 0))
    return "never synced";
  if (found.failed_scopes > 0)
    return found.scopes === 1 ? "failed" : `${found.failed_scopes} of ${found.scopes} failed`;
  if (found.walking_scopes > 0) return "under way";
  if (found.unchecked_scopes > 0) return `${found.unchecked_scopes} of ${found.scopes} to do`;
  return found.complete ? "complete" : unconfirmedText(found.unconfirmed);
};

const inOrder = (status: Shown) =>
  STREAM_NAMES.map((stream) => {
    const found = status.streams.find((each) => each.stream === stream);
    const isAsked = streamSpec(stream).tier === "public" || !status.isClosed;
    return { stream, found, state: stateOf(found, isAsked) };
  });

const tierLine = ({ tier }: MirrorStatus): string => {
  if (tier === null) return "tier: not known yet";
  const name = tier.tier === "full" ? "Full Access" : "public API only";
  return `tier: ${name} since ${tier.since.slice(0, 10)} (${tier.evidence})`;
};

/** Only what somebody may have to act on. */
const boxLines = ({ setting, level, because }: Shown["userSql"]): readonly string[] => {
  if (level !== "none" || setting === "off") return [];
  return [
    setting === "trusted" ? `SQL of users runs without a box: ${because}` : `SQL of users is refused: ${because}`,
  ];
};

/** Records and differences to look at, and checks that did not pass. */
const findingLines = ({ rejects, schemaDrifts, checks }: MirrorStatus): readonly string[] => [
  ...(rejects > 0 ? [`${counted(rejects, "record")} could not become rows: see sync.rejects`] : []),
  ...(schemaDrifts > 0 ? [`${counted(schemaDrifts, "difference")} from the API document: see sync.schema_drift`] : []),
  ...checks.flatMap(({ check, severity, status, failing }) => {
    if (status === "passed") return [];
    const found = failing === null ? "could not run" : `${counted(failing, "row")} (${severity})`;
    return [`check ${check}: ${found}; \`duckmirror check-data\` shows why`];
  }),
];

const homeLines = (home: HomeStatus): readonly string[] => {
  if (home === null) return [];
  if (home.behind === null) return [`home: ${home.url}, which has nothing from here yet`];
  const late =
    home.behind === 0
      ? "has what was written here"
      : `lacks ${formatDuration(home.behind * 1000)} of what was written here`;
  return [`home: ${home.url}, ${late}, fence ${home.fence}`];
};

const settingLines = (status: Shown): readonly string[] => [
  ...homeLines(status.home),
  ...boxLines(status.userSql),
  tierLine(status),
];

const runTable = (status: MirrorStatus, columns: number, ago: (ms: number | null) => string): string =>
  renderTable(
    ["run", "mode", "status", "started", ...["took", "requests", "foreseen", "credits"].map(right), "error"],
    status.runs.map((run) => [
      run.run_id,
      run.mode,
      run.status,
      ago(run.started_at),
      run.finished_at === null ? null : formatDuration(run.finished_at - run.started_at),
      run.requests,
      run.forecast_requests,
      run.credits,
      run.error,
    ]),
    columns,
  );

const render = (status: Shown, { terminal, clock }: CommandContext): string => {
  const { columns, outColours: colours } = terminal;
  const now = clock.now();
  const ago = (ms: number | null) => (ms === null ? "never" : `${formatDuration(Math.max(0, now - ms))} ago`);
  const { path, bytes, publishedAt } = status.snapshot;
  const streams = renderTable(
    ["stream", "state", right("scopes"), "checked", "furthest behind", "walked completely"],
    inOrder(status).map(({ stream, state, found }) => [
      stream,
      state,
      found?.scopes ?? 0,
      ago(found?.last_checked_at ?? null),
      ago(found?.oldest_checked_at ?? null),
      ago(found?.oldest_walked_at ?? null),
    ]),
    columns,
    (text, column) => (column === 1 && text.includes("failed") ? colours.red(text) : text),
  );
  const tables = renderTable(
    ["table", right("rows"), "last change"],
    status.tables.map(({ table_name, row_count, last_change_at }) => [table_name, row_count, ago(last_change_at)]),
    columns,
  );
  const errors = inOrder(status).flatMap(({ stream, found }) =>
    found?.error ? [`${colours.red(stream)}: ${found.error}`] : [],
  );
  const open = inOrder(status).flatMap(({ stream, found }) =>
    found?.unconfirmed_because && !found.error && found.last_checked_at !== null
      ? [`${colours.yellow(stream)}: ${unconfirmedText(found.unconfirmed)}: ${found.unconfirmed_because}`]
      : [],
  );
  const { level, text, step } = judge(status, now);
  const colour = { good: colours.green, warning: colours.yellow, bad: colours.red, none: colours.dim }[level];
  return [
    colour(text),
    ...(step === null ? [] : [step]),
    "",
    `${path} (${formatBytes(bytes)}, published ${ago(publishedAt)})`,
    ...diskLines(status.disk, status.snapshot.freeShare),
    tables,
    streams,
    ...errors,
    ...open,
    ...deliveryLines(status.deliveries, columns, ago, colours.red),
    ...settingLines(status),
    ...creditLines(status.spending, ago),
    ...forecastLines(status.forecasts),
    ...findingLines(status),
    ...(status.runs.length === 0 ? ["no runs yet"] : [runTable(status, columns, ago)]),
  ].join("\n");
};

const run = async ({ runs = "5" }: z.output<typeof inputSchema>, context: CommandContext): Promise<number> => {
  const shownRuns = wholeOf("--runs", runs, 0, 9999);
  const config = await context.loadConfig();
  const box = offeredBox();
  const published = await readStatus(snapshotPath(config.dataDir), { runs: shownRuns });
  // `check` may have learned the tier since the last run.
  const known = await readTier(config.dataDir);
  const shown = known === null ? null : shownTier(known);
  const tier = shown === null ? published.tier : { ...shown, since: new Date(shown.since).toISOString() };
  const isClosed = (known ?? published.tier)?.tier === "public";
  const deliveries = (await deliveryStates(config)).map((one) => deliveryFigures(one, published.snapshot.publishedAt));
  const disk = readDiskUsage(config.dataDir, context.clock.now());
  const userSql = { setting: config.userSql, ...(await box) };
  const home = await homeStatus(config.dataDir, config.home);
  const status = { ...published, tier, isClosed, deliveries, home, disk, userSql };
  return context.show(toJson(status, context.clock.now()), () => render(status, context));
};

export const command = defineCommand({
  examples: {
    "duckmirror status": "rows, freshness, credits and the last runs",
    "duckmirror status --json": "the same for a monitor",
    "duckmirror status --runs 50": "more of the past",
  },
  input: inputSchema,
  run,
});

// The package's public API: `import { createMirror } from "duckmirror"`. The engine of the command line without its
// texts: takes settings, returns typed reports, emits progress events. A method loads what it needs when it is called.

import { resolve } from "node:path";
import type { AlertReport, AlertsConfig, AlertsContext, AlertTestReport, DeadLetter } from "../../jobs/alerts.ts";
import type { DeliveryReport } from "../../jobs/deliver.ts";
import type { Followed, FollowedInput, Unfollowed } from "../../jobs/following.ts";
import type { LookupResult } from "../../jobs/lookup.ts";
import type { PlanReport } from "../../jobs/plan.ts";
import type { SyncRequest } from "../../jobs/sync.ts";
import type { RulePass } from "../alerts/run-rule.ts";
import { vocabulary } from "../catalog/field-rules.ts";
import { systemClock } from "../core/clock.ts";
import { type Config, type FlagValues, resolveConfig } from "../core/config/config.ts";
import { readConfigFile } from "../core/config/config-file.ts";
import { snapshotPath } from "../core/data-dir.ts";
import { DuckmirrorError } from "../core/errors.ts";
import { packageVersion } from "../core/program-files.ts";
import type { ProgressEvent, ProgressSink } from "../core/report/sync-progress.ts";
import type { SyncResult } from "../core/report/sync-report.ts";
import type { Change } from "../warehouse/read/changes/change.ts";
import type { QueryCursor, QueryResult } from "../warehouse/user-sql/query-output.ts";
import type { SqlSource } from "../warehouse/user-sql/user-query.ts";

/** The setting `alerts` at work; see docs/ALERTS.md. Each rejects with ALERTS_MISSING or ALERT_UNKNOWN. */
export interface Alerts {
  /** The rules and what they keep. `names` unset: all. */
  list(names?: readonly string[]): Promise<readonly AlertReport[]>;
  /**
   * Evaluates rules and sends what they found. Also resolves when some failed: see `error` of each. Rejects with the
   * reason of `signal`.
   */
  send(request?: { readonly names?: readonly string[]; readonly signal?: AbortSignal }): Promise<readonly RulePass[]>;
  /** Sends a test message with what the rule finds. Rejects with SNAPSHOT_MISSING, QUERY_FAILED, QUERY_LIMIT. */
  test(name: string, request?: { readonly signal?: AbortSignal }): Promise<AlertTestReport>;
  /**
   * Sends dead and waiting messages again, and turns the rule on; `after`: also evaluates the changes behind this number
   * again. Rejects with ALERT_BUSY.
   */
  replay(name: string, request?: { readonly after?: number; readonly signal?: AbortSignal }): Promise<RulePass>;
}

const contextWith = (signal = new AbortController().signal): AlertsContext => ({
  clock: systemClock,
  random: Math.random,
  signal,
});

const createAlerts = (config: AlertsConfig): Alerts => ({
  list: async (names = []) => {
    const { listAlerts } = await import("../../jobs/alerts.ts");
    return listAlerts(config, names);
  },
  send: async ({ names = [], signal } = {}) => {
    const { alertsJob } = await import("../../jobs/alerts.ts");
    return alertsJob(config, names, contextWith(signal));
  },
  test: async (name, { signal } = {}) => {
    const { testAlert } = await import("../../jobs/alerts.ts");
    return testAlert(config, name, contextWith(signal));
  },
  replay: async (name, { after, signal } = {}) => {
    const { replayAlert } = await import("../../jobs/alerts.ts");
    return replayAlert(config, { name, after: after ?? null }, contextWith(signal));
  },
});

export type { AlertEvent } from "../alerts/message.ts";
export type { RulePass } from "../alerts/run-rule.ts";
export type { RollOver } from "../budget/credits/roll-over.ts";
export type { SettingValue } from "../core/config/config.ts";
export type { SettingName } from "../core/config/settings.ts";
export { DuckmirrorError, type ErrorCode } from "../core/errors.ts";
export { ExactNumber, type JsonObject, type JsonValue } from "../core/json.ts";
export type { ProgressEvent } from "../core/report/sync-progress.ts";
export type {
  StreamReport,
  StreamStatus,
  SyncMode,
  SyncReport,
  SyncResult as SyncOutcome,
} from "../core/report/sync-report.ts";
export type { Waiting } from "../core/state/unusable-responses.ts";
export type { Delivered, DeliveredRows, LeftOut, Position } from "../deliver/destination.ts";
export type { Cut } from "../sync/plan/budgets.ts";
export type { Credits } from "../sync/plan/credits.ts";
export type { ContentPrice, ContentWay } from "../sync/plan/forecast/content-prices.ts";
export type { Forecast, ForecastReason, StreamForecast } from "../sync/plan/forecast/forecast.ts";
export type { Aging, Outlook, StreamOutlook } from "../sync/plan/forecast/outlook.ts";
export type { LookupStatus } from "../sync/rows/lookup-outcome.ts";
export type { OutValue } from "../warehouse/duckdb/out-values.ts";
export type { Change } from "../warehouse/read/changes/change.ts";
export type { QueryColumn, QueryCursor, QueryResult } from "../warehouse/user-sql/query-output.ts";

export type {
  AlertReport,
  AlertTestReport,
  DeadLetter,
  DeliveryReport,
  FlagValues as Settings,
  Followed,
  FollowedInput,
  LookupResult,
  PlanReport,
  Unfollowed,
};

/** Sources of a mirror's settings. */
export interface MirrorOptions {
  /**
   * Settings by their names in `duckmirror.yaml`, e.g. `{ base_url, token_file, data_dir }`. They override the file.
   */
  readonly settings?: FlagValues;
  /** Path of a `duckmirror.yaml`; unset: no file. */
  readonly config?: string;
  /** The organization, where the file has several. */
  readonly profile?: string;
  /** Environment variables that count as settings; default: none, so that only the caller decides. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Relative paths start here; default: the working directory. */
  readonly folder?: string;
}

/** Request of a sync or a plan; unset options have the defaults of the command line. */
export interface SyncRequestOptions {
  /** Streams to sync; unset: those of the settings. */
  readonly streams?: readonly string[];
  /** Walk every list completely. */
  readonly full?: boolean;
  /** End cleanly after this many ms. */
  readonly maxDurationMs?: number;
  /** Delete even if a list turned empty or lost more than `max_delete_share`. */
  readonly allowMassDelete?: boolean;
  /** Read contacts that changed and signals dated after this day (`2026-11-01`), and nothing else. */
  readonly since?: string;
  /** Ends the sync at its next checkpoint. */
  readonly signal?: AbortSignal;
}

/** Request of a plan. */
export interface PlanRequestOptions extends Omit<SyncRequestOptions, "maxDurationMs" | "signal"> {
  /**
   * Opt-in content to plan for as if it were configured, such as `signals.fullContent`: `content` of the report has its
   * price.
   */
  readonly withContent?: readonly string[];
}

/** Request of changes. */
export interface ChangesOptions {
  /** Continue behind this number; unset: with the oldest change that is kept. */
  readonly after?: number;
  /** Changes of these tables only; unset: of all. */
  readonly tables?: readonly string[];
  /** End after this many. */
  readonly limit?: number;
  /** Wait for later changes until `signal` aborts. */
  readonly follow?: boolean;
  readonly signal?: AbortSignal;
}

export interface LookupOptions {
  /** Oldest acceptable answer of the mirror, ms; unset: the setting `max_age`. */
  readonly maxAgeMs?: number;
  readonly signal?: AbortSignal;
}

/** Request of deliveries. */
export interface DeliverOptions {
  /** Names of destinations; unset: all. */
  readonly names?: readonly string[];
  /** Replace what another mirror, or a later state of this one, delivered. */
  readonly takeOver?: boolean;
  readonly signal?: AbortSignal;
}

/** One organization's mirror. */
export interface Mirror {
  /** Path of the published snapshot; it opens read-only in any DuckDB client. */
  readonly warehouse: string;
  /**
   * Forecasts the next sync's requests and their reasons; sends nothing. Rejects with WRITER_BUSY while a sync runs, and
   * with USAGE for unknown content or an unknown day.
   */
  plan(request?: PlanRequestOptions): Promise<PlanReport>;
  /**
   * Mirrors what is due. Also resolves when the allowance is used up or some streams failed: see `error`. Rejects
   * with WRITER_BUSY, configuration errors and faults.
   */
  sync(request?: SyncRequestOptions): Promise<SyncResult>;
  /**
   * One company (by id, domain, website, stock symbol or profile address) or account (by name or domain): from the
   * mirror if it is fresh enough, else for one credit. Rejects with BUDGET_SPENT or QUOTA_SPENT before anything is
   * sent, and with the errors of the response; that nothing was found is in `status` and `error`.
   */
  lookup(kind: "company" | "account", input: string, options?: LookupOptions): Promise<LookupResult>;
  /**
   * Runs read-only SQL on the snapshot in a separate process and returns the rows. Rejects with SNAPSHOT_MISSING,
   * QUERY_FAILED, USER_SQL_OFF, USER_SQL_NO_BOX, or QUERY_LIMIT when it needed more than `timeMs` (default 10 minutes) or
   * `memoryMiB` (default 2048).
   */
  query(
    sql: string,
    options?: { readonly signal?: AbortSignal; readonly timeMs?: number; readonly memoryMiB?: number },
  ): Promise<QueryResult>;
  /** The same in batches: `use` receives columns and an iterator. */
  stream<T>(sql: string, use: (cursor: QueryCursor) => Promise<T>): Promise<T>;
  /**
   * Follows companies by id, domain, website, stock symbol or profile address, from the next sync on. Rejects with USAGE
   * for a text that no path can carry.
   */
  follow(inputs: readonly string[]): Promise<Followed>;
  /** Stops following inputs; `erase` also removes the rows of their companies. Rejects with USAGE for one that is not followed. */
  unfollow(inputs: readonly string[], options?: { readonly erase?: boolean }): Promise<Unfollowed>;
  /** Every followed input, what it resolved to, and what failed. */
  following(): Promise<readonly FollowedInput[]>;
  /**
   * Inserts, updates and deletes of the mirror in commit order, from the published snapshot; see docs/CHANGES.md. Rejects
   * with SNAPSHOT_MISSING, CHANGES_GONE, CHANGES_AHEAD, USAGE (an unknown table), or the reason of
   * `signal`.
   */
  changes(request?: ChangesOptions): AsyncIterable<Change>;
  /**
   * Brings the setting `destinations` up to date with the published snapshot; see docs/DESTINATIONS.md. Also resolves when
   * some failed: see `error` of each. Rejects with DESTINATIONS_MISSING, DESTINATION_UNKNOWN, SNAPSHOT_MISSING,
   * or the reason of `signal`.
   */
  deliver(request?: DeliverOptions): Promise<readonly DeliveryReport[]>;
  /** Evaluates, sends, tries and replays the rules of the setting `alerts`; see docs/ALERTS.md. Does nothing by itself. */
  alerts(): Alerts;
  /**
   * Calls `listener` for the events of syncs, in order. Returns a function that stops it. If it throws, the sync goes on, and
   * rejects with that error when it has ended.
   */
  onEvent(listener: (event: ProgressEvent) => void): () => void;
}

async function* changesOf(snapshot: string, request: ChangesOptions): AsyncGenerator<Change, void> {
  const { after = null, tables = [], limit = null, follow = false, signal } = request;
  const [{ changeTables }, { streamChanges }] = await Promise.all([
    import("../warehouse/read/changes/change.ts"),
    import("../warehouse/read/changes/read-changes.ts"),
  ]);
  const stream = { snapshot, after, tables: changeTables(tables), limit, follow, clock: systemClock };
  for await (const changes of streamChanges({ ...stream, ...(signal === undefined ? {} : { signal }) })) yield* changes;
}

/** The token for requests to the service. Throws BASE_URL_MISSING, and errors of the token. */
const tokenFor = async (config: Config) => {
  if (config.baseUrl === null) throw new DuckmirrorError("BASE_URL_MISSING");
  const { resolveToken } = await import("../core/config/secrets.ts");
  return resolveToken(config);
};

/** Calls listeners and keeps their first error: thrown at once it would end the run, with paid answers not archived yet. */
const tellingTo = (listeners: ReadonlySet<ProgressSink>) => {
  const faults: unknown[] = [];
  return {
    emit: (event: ProgressEvent) => {
      for (const listener of listeners) {
        try {
          listener(event);
        } catch (fault) {
          if (faults.length === 0) faults.push(fault);
        }
      }
    },
    throwFault: () => {
      if (faults.length > 0) throw faults[0];
    },
  };
};

const QUERY_LIMITS = { timeMs: 600_000, memoryMiB: 2048 };

const queriesOf = (snapshot: string, source: SqlSource): Pick<Mirror, "query" | "stream"> => ({
  query: async (sql, { signal, ...limits } = {}) => {
    const { runUserQuery } = await import("../warehouse/user-sql/user-query.ts");
    const request = { snapshot, sql, ...(signal === undefined ? {} : { signal }) };
    return runUserQuery(request, { ...QUERY_LIMITS, ...limits }, source);
  },
  stream: async (sql, use) => {
    const { createQueryProcesses } = await import("../warehouse/user-sql/user-query.ts");
    return createQueryProcesses(QUERY_LIMITS, source).stream({ snapshot, sql }, use);
  },
});

const lookupOf = (config: Config): Pick<Mirror, "lookup"> => ({
  lookup: async (kind, input, { maxAgeMs, signal = new AbortController().signal } = {}) => {
    const request = { kind, input, maxAgeMs: maxAgeMs ?? null };
    const { lookupAtService, lookupInMirror } = await import("../../jobs/lookup.ts");
    const mirrored = await lookupInMirror(config, request, { clock: systemClock });
    if (mirrored !== null) return mirrored;
    const token = await tokenFor(config);
    const context = { clock: systemClock, random: Math.random, signal, version: packageVersion(), token };
    return lookupAtService(config, request, context);
  },
});

/** The documented members alone, so that no other one of a caller's object reaches the job. */
const requestOf = ({ streams, full, maxDurationMs, allowMassDelete, since }: SyncRequestOptions): SyncRequest => ({
  streams: streams ?? [],
  full: full ?? false,
  maxDurationMs: maxDurationMs ?? null,
  allowMassDelete: allowMassDelete ?? false,
  ...(since == null ? {} : { since }),
});

const followingOf = (config: Config): Pick<Mirror, "follow" | "unfollow" | "following"> => {
  const jobs = () => import("../../jobs/following.ts");
  return {
    follow: async (inputs) => (await jobs()).followJob(config, inputs, systemClock),
    unfollow: async (inputs, { erase = false } = {}) =>
      (await jobs()).unfollowJob(config, inputs, { erase, clock: systemClock }),
    following: async () => (await jobs()).followingJob(config),
  };
};

/**
 * A mirror with the given settings. Opens nothing yet. Throws CONFIG_INVALID, CONFIG_FILE_UNREADABLE,
 * PROFILE_UNKNOWN.
 */
export const createMirror = (options: MirrorOptions): Mirror => {
  const { settings = {}, env = {}, folder = resolve(), profile } = options;
  const config = resolveConfig({
    flags: settings,
    env,
    file: options.config === undefined ? null : readConfigFile(options.config, folder),
    cwd: folder,
    vocabulary: vocabulary(),
    profile,
  });
  const listeners = new Set<ProgressSink>();
  const snapshot = snapshotPath(config.dataDir);
  return {
    warehouse: snapshot,
    plan: async ({ withContent, ...request } = {}) => {
      const { planJob } = await import("../../jobs/plan.ts");
      return planJob(config, { ...requestOf(request), withContent: withContent ?? [] }, systemClock);
    },
    sync: async ({ signal = new AbortController().signal, ...request } = {}) => {
      const [{ syncJob }, { COMMAND_GRACE_MS }] = await Promise.all([
        import("../../jobs/sync.ts"),
        import("../../jobs/engine.ts"),
      ]);
      const token = await tokenFor(config);
      const telling = tellingTo(listeners);
      const outcome = await syncJob(config, requestOf(request), {
        clock: systemClock,
        random: Math.random,
        emit: telling.emit,
        signal,
        graceMs: COMMAND_GRACE_MS,
        version: packageVersion(),
        token,
      });
      telling.throwFault();
      return outcome;
    },
    ...lookupOf(config),
    ...queriesOf(snapshot, config.userSql),
    ...followingOf(config),
    changes: (request = {}) => changesOf(snapshot, request),
    deliver: async ({ names = [], takeOver = false, signal = new AbortController().signal } = {}) => {
      const { deliverJob } = await import("../../jobs/deliver.ts");
      return deliverJob(config, { names, takeOver }, { clock: systemClock, signal });
    },
    alerts: () => createAlerts(config),
    onEvent: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
};

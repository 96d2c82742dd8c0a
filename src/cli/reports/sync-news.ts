// Reads what a sync changed in each table, for its report (send-report.ts) to orchestrators and data catalogs: one asset per table.
import { streamOfTable } from "../../catalog/dictionary.ts";
import { TABLE_NAMES, type TableName } from "../../catalog/tables.ts";
import type { DuckmirrorError } from "../../core/errors.ts";
import type { CheckReport, SyncReport, SyncResult } from "../../core/report/sync-report.ts";
import { isoTimeOrNull } from "../../core/time.ts";
import { changesOfRun } from "../../warehouse/read/read-run.ts";
import { readStatus } from "../../warehouse/read/read-status.ts";

/** A table after a sync, as its snapshot has it. */
export interface TableNews {
  readonly table: TableName;
  readonly stream: string;
  readonly rows: number;
  /** Rows that the sync changed; 0 where a check kept them from the snapshot. */
  readonly inserted: number;
  readonly updated: number;
  readonly deleted: number;
  /** Credits of its stream; 0 for a further table of the same stream. */
  readonly credits: number;
  /** Age of the part that was compared longest ago; null: never compared. */
  readonly age_seconds: number | null;
  readonly last_change_at: string | null;
  readonly complete: boolean;
  /** Rows that could not be confirmed; null: unknown. */
  readonly unconfirmed: number | null;
  readonly reason: string | null;
}

export interface SyncNews {
  readonly run_id: string;
  readonly status: SyncReport["status"];
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly started_at: string;
  readonly finished_at: string;
  readonly requests: number;
  readonly credits: number;
  readonly warehouse: string;
  /** False: readers still have the snapshot from before, because a check or a fault kept the new one. */
  readonly published: boolean;
  readonly tables: readonly TableNews[];
  readonly checks: readonly CheckReport[];
}

/** Faults after which a run publishes nothing. */
const publishes = (report: SyncReport, error: DuckmirrorError | null): boolean =>
  error?.code !== "CHECK_FAILED" && report.status !== "failed";

/** The tables of the report's streams. */
const tablesOf = ({ streams }: SyncReport): readonly TableName[] =>
  TABLE_NAMES.filter((table) => streams.some(({ stream }) => stream === streamOfTable(table)));

/** Reads the snapshot for the tables; without one there are none. `now`: ms since the epoch. `scrub` removes secrets. */
export const readNews = async (
  { report, error }: SyncResult,
  { now, scrub }: { readonly now: number; readonly scrub: (text: string) => string },
): Promise<SyncNews> => {
  const { run_id, status, started_at, finished_at, requests, credits, warehouse, streams, checks = [] } = report;
  const snapshot = await readStatus(warehouse, { runs: 1 }).catch(() => null);
  const changes = snapshot === null ? [] : await changesOfRun(warehouse, run_id);
  const priced = new Set<string>();
  const newsOf = (table: TableName): TableNews => {
    const stream = streamOfTable(table);
    const ended = streams.find((one) => one.stream === stream);
    const state = snapshot?.streams.find((one) => one.stream === stream);
    const found = snapshot?.tables.find((one) => one.table_name === table);
    const changed = (kind: string) =>
      changes.find(({ table_name, change }) => table_name === table && change === kind)?.rows ?? 0;
    const checkedAt = state?.oldest_checked_at ?? null;
    const isFirst = !priced.has(stream);
    priced.add(stream);
    return {
      table,
      stream,
      rows: found?.row_count ?? 0,
      inserted: changed("insert"),
      updated: changed("update"),
      deleted: changed("delete"),
      credits: isFirst ? (ended?.credits ?? 0) : 0,
      age_seconds: checkedAt === null ? null : Math.max(0, Math.round((now - checkedAt) / 1000)),
      last_change_at: isoTimeOrNull(found?.last_change_at ?? null),
      complete: ended?.complete ?? false,
      unconfirmed: ended?.unconfirmed ?? null,
      reason: ended?.reason ?? ended?.error ?? null,
    };
  };
  return {
    run_id,
    status,
    error: error === null ? null : { code: error.code, message: scrub(error.message) },
    started_at,
    finished_at,
    requests,
    credits: credits.spent,
    warehouse,
    published: publishes(report, error),
    tables: snapshot === null ? [] : tablesOf(report).map(newsOf),
    checks,
  };
};

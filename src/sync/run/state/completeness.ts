// Completeness of each stream in a run's report: complete if each of its lists was proven complete (marts.freshness) and this run left none
// of its work. Also counts the rows that a walk which did not add up leaves unconfirmed.
import { z } from "zod";
import type { StreamName, StreamSpec } from "../../../catalog/streams.ts";
import { DuckmirrorError } from "../../../core/errors.ts";
import type { StreamVerdict } from "../../../core/report/sync-report.ts";
import { formatCount } from "../../../core/text/units.ts";
import type { Database } from "../../../warehouse/duckdb/database.ts";
import { sqlText } from "../../../warehouse/duckdb/sql-files.ts";
import type { Unconfirmed } from "../../../warehouse/record/checkpoint.ts";

/** A list after a walk, in the mirror and by the service's count. */
export interface WalkedList {
  /** Mirrored rows. */
  readonly rows: number;
  /** Mirrored rows that the walk did not return. */
  readonly unmet: number;
  /** Rows that the service counts, minus records that the mirror cannot hold; null: it does not count. */
  readonly counted: number | null;
  /** Records that became no row: they may be those that it did not return. */
  readonly unread: number;
}

/** The unconfirmed rows of a list; null: none. */
export const unconfirmedIn = ({ rows, unmet, counted, unread }: WalkedList): Unconfirmed | null => {
  const beyond = counted === null ? 0 : Math.max(0, rows - counted);
  const lacking = counted === null ? 0 : Math.max(0, counted - rows);
  if (Math.max(unmet, beyond, lacking) === 0) return null;
  const count = Math.max(unmet, beyond, unread) + lacking;
  const figures =
    counted === null || counted === rows ? "" : `, the service counts ${formatCount(Math.max(0, counted))}`;
  const missed = unmet === 0 ? "" : `; the last walk did not meet ${formatCount(unmet)} of them`;
  return { rows: count, because: `the mirror holds ${formatCount(rows)} rows${figures}${missed}` };
};

const verdictRow = z.object({
  stream: z.string(),
  complete: z.boolean(),
  unconfirmed: z.number().nullable(),
  because: z.string().nullable(),
  scopes: z.number(),
});

/** Proven completeness of a stream, and the number of its known lists or records. */
export interface ProvenStream extends StreamVerdict {
  readonly scopes: number;
}

/** Proven completeness of each stream now. */
export const readCompleteness = async (database: Database): Promise<ReadonlyMap<string, ProvenStream>> => {
  const rows = await database.query(sqlText("plan/completeness.sql"), [], verdictRow);
  return new Map(
    rows.map(({ stream, complete, unconfirmed, because, scopes }) => [
      stream,
      { complete, unconfirmed, scopes, ...(because === null ? {} : { reason: because }) },
    ]),
  );
};

const NEVER_READ: ProvenStream = { complete: false, unconfirmed: null, reason: "never read", scopes: 0 };

/**
 * Error for a stream that is read per company or account and had nothing to read, in a mirror whose accounts were never
 * read. null: it had something to read.
 */
export const missingParents = (
  stream: StreamSpec,
  run: {
    readonly proven: ReadonlyMap<string, ProvenStream>;
    readonly requests: number;
  },
): DuckmirrorError | null => {
  if (stream.scope !== "company" && stream.scope !== "account") return null;
  if (run.requests > 0 || (run.proven.get(stream.name)?.scopes ?? 0) > 0) return null;
  const parents = stream.scope === "company" ? "companies" : "accounts";
  return new DuckmirrorError("PARENTS_MISSING", { stream: stream.name, parents });
};

/** Completeness of a stream for the report of a run that may have failed in it, or left some of its work. */
export const completenessOf = (
  proven: ReadonlyMap<string, ProvenStream>,
  stream: StreamName,
  run: { readonly failed: string | null; readonly left: boolean },
): StreamVerdict => {
  const { scopes: _, ...known } = proven.get(stream) ?? NEVER_READ;
  if (!known.complete || (run.failed === null && !run.left)) return known;
  return { complete: false, unconfirmed: null, reason: run.failed ?? "the run ended before it was read" };
};

// Completeness: what a walk that did not add up leaves unconfirmed, and what the report of a run says of each stream.
// A stream is complete when every list of it was proven to be (marts.freshness) and this run left nothing of it undone.
import { z } from "zod";
import type { StreamName, StreamSpec } from "../../catalog/streams.ts";
import { DuckmirrorError } from "../../core/errors.ts";
import type { StreamVerdict } from "../../core/sync-report.ts";
import { formatCount } from "../../core/units.ts";
import type { Database } from "../../warehouse/duckdb/database.ts";
import { sqlText } from "../../warehouse/duckdb/sql-files.ts";
import type { Unconfirmed } from "../../warehouse/record/checkpoint.ts";

/** A list as the mirror holds it and as the service counts it, when a walk of it ended. */
export interface WalkedList {
  /** Rows mirrored. */
  readonly rows: number;
  /** Of these, rows that the walk did not meet. */
  readonly unmet: number;
  /** Rows the service counts, without those that can be no rows here; null: it does not count. */
  readonly counted: number | null;
}

/** What could not be confirmed of a list; null: all of it was. */
export const unconfirmedIn = ({ rows, unmet, counted }: WalkedList): Unconfirmed | null => {
  const beyond = counted === null ? 0 : Math.max(0, rows - counted);
  const lacking = counted === null ? 0 : Math.max(0, counted - rows);
  const count = Math.max(unmet, beyond) + lacking;
  if (count === 0) return null;
  const figures = counted === null || counted === rows ? "" : `, the service counts ${formatCount(counted)}`;
  const missed = unmet === 0 ? "" : `; the last walk did not meet ${formatCount(unmet)} of them`;
  return { rows: count, because: `the mirror holds ${formatCount(rows)} rows${figures}${missed}` };
};

const verdictRow = z.object({
  stream: z.string(),
  complete: z.boolean(),
  unconfirmed: z.number(),
  because: z.string().nullable(),
  scopes: z.number(),
});

/** What is proven of a stream, and how many lists or records of it are known. */
export interface ProvenStream extends StreamVerdict {
  readonly scopes: number;
}

/** What is proven of each stream now. */
export const readVerdicts = async (database: Database): Promise<ReadonlyMap<string, ProvenStream>> => {
  const rows = await database.query(sqlText("plan/completeness.sql"), [], verdictRow);
  return new Map(
    rows.map(({ stream, complete, unconfirmed, because, scopes }) => [
      stream,
      { complete, unconfirmed, scopes, ...(because === null ? {} : { unconfirmed_because: because }) },
    ]),
  );
};

const NEVER_READ: ProvenStream = { complete: false, unconfirmed: 0, unconfirmed_because: "never read", scopes: 0 };

/**
 * Why a stream that is read once per company or account had nothing to read, although nothing says that there is none:
 * the accounts were never read. null: it had something to read, or rightly nothing.
 */
export const missingParents = (
  stream: StreamSpec,
  run: {
    readonly proven: ReadonlyMap<string, ProvenStream>;
    readonly accountsRead: boolean;
    readonly requests: number;
  },
): DuckmirrorError | null => {
  if (stream.scope !== "company" && stream.scope !== "account") return null;
  if (run.accountsRead || run.requests > 0 || (run.proven.get(stream.name)?.scopes ?? 0) > 0) return null;
  const parents = stream.scope === "company" ? "companies" : "accounts";
  return new DuckmirrorError("PARENTS_MISSING", { stream: stream.name, parents });
};

/** The verdict of a stream in the report of a run that may have failed in it, or left something of it undone. */
export const verdictOf = (
  proven: ReadonlyMap<string, ProvenStream>,
  stream: StreamName,
  run: { readonly failed: string | null; readonly left: boolean },
): StreamVerdict => {
  const { scopes: _, ...known } = proven.get(stream) ?? NEVER_READ;
  if (!known.complete || (run.failed === null && !run.left)) return known;
  const because = run.failed ?? "the run ended before it was read";
  return { complete: false, unconfirmed: 0, unconfirmed_because: because };
};

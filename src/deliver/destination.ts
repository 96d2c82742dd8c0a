// `Destination`: the interface of every kind of destination (kinds/), which brings its tables to one published snapshot, completely or not
// at all. docs/DESTINATIONS.md describes it for users.

import { catalogTables, commentOf } from "../catalog/dictionary.ts";
import type { Clock } from "../core/clock.ts";
import type { AzureEnvironment } from "../core/config/destinations/secrets-in.ts";
import type { MemoryPlan } from "../core/config/memory-plan.ts";

/** How far a destination has come. */
export interface Position {
  /** Mirror whose changes it holds, so that two mirrors never mix in one place. */
  readonly mirror: string;
  /** Number of the last change (`sync.changes`, docs/CHANGES.md) that it holds. */
  readonly n: number;
  /**
   * What the source needs to recognise change `n`, and changes of rows that have no number (source.ts). A destination
   * stores this text as it is, about 1 KiB.
   */
  readonly mark: string;
}

export const isSamePosition = (a: Position | null, b: Position): boolean =>
  a !== null && a.mirror === b.mirror && a.n === b.n && a.mark === b.mark;

/** A table of schema `main` as it is delivered: names and columns of the warehouse. */
export interface DeliveredTable {
  readonly name: string;
  readonly key: readonly string[];
  /** In order; `type` is DuckDB's. */
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  /**
   * `changes`: rows whose keys changed after the destination's position (marks.ts). `whole`: every row, because the
   * destination lacks the table or a column of it, its position is older than the changes that are kept, the feed began
   * anew, a contact was erased (the feed does not name whom), or rows changed without a number.
   */
  readonly extent: "changes" | "whole";
  /** Changes since the destination's position; null: unknown, because the table is brought whole. */
  readonly changes: number | null;
}

/** One published snapshot; it does not change while it is delivered. */
export interface DeliverySource {
  /**
   * Absolute path of a DuckDB file that can be attached read-only. Its folder is this delivery's own: a destination may keep
   * unfinished files in it, which are removed with it.
   */
  readonly snapshot: string;
  /** When it was published, ms since the epoch. */
  readonly publishedAt: number;
  /** Differs after each `forget`: a snapshot that was published with another text may hold a person who was erased. */
  readonly erasures: string;
  readonly position: Position;
  /** Bring every row, also to a destination that is at `position`: somebody may have changed what it holds. */
  readonly takeOver: boolean;
  /** Last run in the snapshot, and the credits it spent; null: no run. */
  readonly run: { readonly id: string; readonly credits: number } | null;
  /**
   * What to bring to a destination whose position is `from`; null: it holds nothing yet. Every table of the destination,
   * also those without changes. Throws DESTINATION_OTHER_MIRROR, DESTINATION_AHEAD.
   */
  tablesSince(from: Position | null): Promise<readonly DeliveredTable[]>;
}

export interface DeliveredRows {
  readonly table: string;
  readonly extent: "changes" | "whole";
  readonly written: number;
  readonly deleted: number;
}

/** Rows that this kind of destination cannot hold, for example because of their key. Every other row arrives. */
export interface LeftOut {
  readonly table: string;
  /** Counts the whole table, not only this delivery. */
  readonly rows: number;
  /** The first of their keys, shortened. */
  readonly keys: readonly string[];
}

export interface Delivered {
  readonly from: Position | null;
  readonly to: Position;
  readonly tables: readonly DeliveredRows[];
  readonly leftOut: readonly LeftOut[];
  /** Bytes sent or written, where the kind knows them. */
  readonly bytes: number | null;
}

/** One destination, open. */
export interface Destination {
  /** Read from the destination itself; null: it holds nothing yet. */
  position(): Promise<Position | null>;
  /**
   * Brings it to `source`. Data and position are committed together at the destination: a kill at any moment leaves it at
   * `from` or at `to`. Deliver the same snapshot twice and nothing is written.
   * @throws DuckmirrorError DESTINATION_* with a hint; an abort of `signal` throws its reason.
   */
  deliver(source: DeliverySource, signal: AbortSignal): Promise<Delivered>;
  close(): Promise<void>;
}

/** True when a destination at `held` needs nothing. */
export const isUpToDate = (
  held: Position | null,
  { position, takeOver }: Pick<DeliverySource, "position" | "takeOver">,
): boolean => !takeOver && isSamePosition(held, position);

/** Dependencies that every kind gets besides its settings. */
export interface DestinationContext {
  /** DuckDB's memory limits. */
  readonly memory: MemoryPlan;
  readonly azure: AzureEnvironment;
  readonly clock: Pick<Clock, "now">;
}

/** Comments of a table (`column` null) and of its columns, from the catalog. */
export const commentsOf = ({ name, columns }: Pick<DeliveredTable, "name" | "columns">) => {
  const described = catalogTables().find((table) => table.schema === "main" && table.name === name);
  const ofColumns = columns.flatMap(({ name: column }) => {
    const known = described?.columns.find((one) => one.name === column);
    return known === undefined ? [] : [{ column, comment: commentOf(known) }];
  });
  return [{ column: null, comment: described?.grain ?? "" }, ...ofColumns];
};

// Stores the result of each delivery in state/deliveries/<destination>.json, for status, page and metrics. No delivery depends on it: the
// destination itself stores its position (docs/decisions/destinations.md). Error texts are not stored, because they may hold values of
// rows.
import { join } from "node:path";
import { z } from "zod";
import type { Config } from "../core/config/config.ts";
import type { DestinationKind } from "../core/config/destinations/destination-settings.ts";
import { DELIVERIES } from "../core/data-dir.ts";
import { readNote, writeNote } from "../core/state/shared-file.ts";
import { counted } from "../core/text/units.ts";
import type { Delivered } from "./destination.ts";

const noteSchema = z.object({
  v: z.literal(1),
  /** What the destination holds; null: no delivery has ended well. Times in ms since the epoch. */
  held: z
    .object({
      /** Number of the last change. */
      n: z.int(),
      /** When its snapshot was published. */
      publishedAt: z.number(),
      deliveredAt: z.number(),
      /** How long that delivery took. */
      ms: z.number(),
      /** Rows that the destination cannot hold, per table. */
      leftOut: z.array(z.object({ table: z.string(), rows: z.int() })),
    })
    .nullable(),
  /** Attempts that failed since the last delivery that did not; null: none. `givenUp`: no further one follows. */
  failing: z
    .object({ since: z.number(), at: z.number(), code: z.string(), attempts: z.int(), givenUp: z.boolean() })
    .nullable(),
  /** Since the file was made. */
  totals: z.object({
    deliveries: z.int(),
    failures: z.int(),
    ms: z.number(),
    written: z.int(),
    deleted: z.int(),
    bytes: z.number(),
  }),
});
export type DeliveryNote = z.output<typeof noteSchema>;

/** A configured destination; `note` null: no delivery was tried. */
export interface DeliveryState {
  readonly name: string;
  readonly kind: DestinationKind;
  readonly note: DeliveryNote | null;
}

export type DeliveryOutcome =
  | { readonly delivered: Delivered; readonly publishedAt: number; readonly ms: number; readonly now: number }
  /** `isLast`: no further attempt follows; undefined: it was not one of a worker's. */
  | { readonly code: string; readonly isLast: boolean | undefined; readonly now: number };

const NEW: DeliveryNote = {
  v: 1,
  held: null,
  failing: null,
  totals: { deliveries: 0, failures: 0, ms: 0, written: 0, deleted: 0, bytes: 0 },
};

/** The note after one more attempt. PURE. */
export const noteAfter = (before: DeliveryNote | null, outcome: DeliveryOutcome): DeliveryNote => {
  const { held, failing, totals } = before ?? NEW;
  const { now } = outcome;
  if ("code" in outcome) {
    const { code, isLast = failing?.givenUp ?? false } = outcome;
    const attempts = (failing?.attempts ?? 0) + 1;
    const since = failing?.since ?? now;
    return {
      v: 1,
      held,
      failing: { since, at: now, code, attempts, givenUp: isLast },
      totals: { ...totals, failures: totals.failures + 1 },
    };
  }
  const { delivered, publishedAt, ms } = outcome;
  const sum = (of: "written" | "deleted") => delivered.tables.reduce((all, table) => all + table[of], 0);
  return {
    v: 1,
    held: {
      n: delivered.to.n,
      publishedAt,
      deliveredAt: now,
      ms,
      leftOut: delivered.leftOut.map(({ table, rows }) => ({ table, rows })),
    },
    failing: null,
    totals: {
      deliveries: totals.deliveries + 1,
      failures: totals.failures,
      ms: totals.ms + ms,
      written: totals.written + sum("written"),
      deleted: totals.deleted + sum("deleted"),
      bytes: totals.bytes + (delivered.bytes ?? 0),
    },
  };
};

/** How much older the snapshot at the destination is than the published one, ms; null: it holds none. PURE. */
export const behindMs = ({ note }: DeliveryState, publishedAt: number): number | null =>
  note === null || note.held === null ? null : Math.max(0, publishedAt - note.held.publishedAt);

/** Figures of a destination, compared with the published snapshot. PURE. */
export const deliveryFigures = (state: DeliveryState, publishedAt: number) => {
  const { name, kind, note } = state;
  const { held = null, failing = null } = note ?? {};
  const behind = behindMs(state, publishedAt);
  const usual = behind === null ? "never delivered" : behind === 0 ? "up to date" : "behind";
  return {
    name,
    kind,
    state: failing === null ? usual : failing.givenUp ? "given up" : "failing",
    /** Number of the last change that it holds. */
    change: held?.n ?? null,
    /** How much older its snapshot is than the published one, ms. */
    behindMs: behind,
    deliveredAt: held?.deliveredAt ?? null,
    lastMs: held?.ms ?? null,
    /** Rows that it cannot hold, per table. */
    leftOut: held?.leftOut ?? [],
    /** Attempts that failed since then. */
    failing,
  };
};

/** `1 row of news_articles left out`; empty: none. PURE. */
export const leftOutText = (leftOut: readonly { readonly table: string; readonly rows: number }[]): string =>
  leftOut.length === 0
    ? ""
    : `${leftOut.map(({ table, rows }) => `${counted(rows, "row")} of ${table}`).join(", ")} left out`;

export type DeliveryFigures = ReturnType<typeof deliveryFigures>;

const fileOf = (dataDir: string, name: string) => ({
  path: join(dataDir, "state", DELIVERIES, `${name}.json`),
  schema: noteSchema,
});

const noteOf = (dataDir: string, name: string) => readNote(fileOf(dataDir, name)).catch(() => null);

/**
 * Notes an attempt. Two processes that deliver at once can lose a count. Throws nothing: without the note a figure is
 * missing, the delivery is whole.
 */
export const noteDelivery = async (dataDir: string, name: string, outcome: DeliveryOutcome): Promise<void> => {
  try {
    await writeNote(fileOf(dataDir, name), noteAfter(await noteOf(dataDir, name), outcome));
  } catch {
    // The folder of unfinished deliveries is in the same place: a disk that is full fails the delivery itself.
  }
};

/** Every configured destination, in the order of the configuration. */
export const deliveryStates = async ({
  dataDir,
  destinations,
}: Pick<Config, "dataDir" | "destinations">): Promise<readonly DeliveryState[]> =>
  Promise.all(destinations.map(async ({ name, kind }) => ({ name, kind, note: await noteOf(dataDir, name) })));

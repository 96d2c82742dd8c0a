// The organization as `check` last saw it: lengths of its lists, and its credits. A plan before the first sync knows no
// other figures. Kept in a file of the data directory, beside the tier.
import { join } from "node:path";
import { z } from "zod";
import { changeShared, readShared, type SharedFile } from "./shared-file.ts";

const creditsSchema = z.object({
  limit: z.number().nullable(),
  used: z.number().nullable(),
  remaining: z.number().nullable(),
  /** ms since the epoch. */
  resetsAt: z.number().nullable(),
});
const listSchema = z.object({
  total: z.number(),
  seen_at: z.number(),
  // Missing where the service named no page size.
  page: z.number().int().positive().optional(),
  // The filters of the setting `scope` with which the rows were counted, as JSON text.
  filters: z.string().optional(),
});
const fileSchema = z.object({
  v: z.literal(1),
  lists: z.record(z.string(), listSchema),
  credits: creditsSchema.nullable(),
});

const fileOf = (dataDir: string): SharedFile<z.output<typeof fileSchema>> => ({
  path: join(dataDir, "state", "checked.json"),
  schema: fileSchema,
  holds: "record of a check",
  without: "`duckmirror check` writes it again",
  empty: { v: 1, lists: {}, credits: null },
});

export interface Checked {
  /** Stream → rows of its list. */
  readonly totals: ReadonlyMap<string, number>;
  /** Stream → filters with which its rows were counted, as JSON text; none: the whole list. */
  readonly filters: ReadonlyMap<string, string>;
  /** Stream → rows that a page of its list may have. */
  readonly pageSizes: ReadonlyMap<string, number>;
  /** null: not reported. */
  readonly credits: z.output<typeof creditsSchema> | null;
}

/** Reads what `check` stored. Throws STATE_FILE_DAMAGED. */
export const readChecked = async (dataDir: string): Promise<Checked> => {
  const { lists, credits } = await readShared(fileOf(dataDir));
  const totals = new Map(Object.entries(lists).map(([stream, { total }]) => [stream, total]));
  const pageSizes = new Map(
    Object.entries(lists).flatMap(([stream, { page }]) => (page === undefined ? [] : [[stream, page]])),
  );
  const filters = new Map(
    Object.entries(lists).flatMap(([stream, list]) => (list.filters === undefined ? [] : [[stream, list.filters]])),
  );
  // Each credit used is an entry of the request history; how many refusals it holds is not known.
  if (credits !== null && credits.used !== null) totals.set("usage", credits.used);
  return { totals, filters, pageSizes, credits };
};

/** Adds what a check saw; lists that it did not ask for stay. Throws STATE_FILE_DAMAGED, DATA_DIR_UNWRITABLE. */
export const learnChecked = async (
  dataDir: string,
  { totals, filters, pageSizes, credits }: Checked,
  now: number,
): Promise<void> => {
  const listOf = (stream: string, total: number) => {
    const page = pageSizes.get(stream);
    const filtered = filters.get(stream);
    return {
      total,
      seen_at: now,
      ...(page === undefined ? {} : { page }),
      ...(filtered === undefined ? {} : { filters: filtered }),
    };
  };
  await changeShared(fileOf(dataDir), (known) => ({
    v: 1 as const,
    lists: {
      ...known.lists,
      ...Object.fromEntries([...totals].map(([stream, total]) => [stream, listOf(stream, total)])),
    },
    credits: credits ?? known.credits,
  }));
};

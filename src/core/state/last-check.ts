// State file with what `check` saw last: lengths of the organization's lists, and its credits. A plan before the first sync uses it,
// because the mirror has no figures yet.
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
  /** Most rows of a page; null: the service named no page size. */
  page: z.number().int().positive().nullable().default(null),
  /** The filters of the setting `scope` with which the rows were counted, as JSON text; null: none. */
  filters: z.string().nullable().default(null),
});
const fileSchema = z.object({
  v: z.literal(1),
  /** By stream. */
  lists: z.record(z.string(), listSchema),
  /** null: not reported. */
  credits: creditsSchema.nullable(),
});
export type Checked = Omit<z.output<typeof fileSchema>, "v">;

const fileOf = (dataDir: string): SharedFile<z.output<typeof fileSchema>> => ({
  path: join(dataDir, "state", "checked.json"),
  schema: fileSchema,
  holds: "record of a check",
  without: "`duckmirror check` writes it again",
  empty: { v: 1, lists: {}, credits: null },
});

/** Reads what `check` stored. Throws STATE_FILE_DAMAGED. */
export const readChecked = (dataDir: string): Promise<Checked> => readShared(fileOf(dataDir));

/** Adds what a check saw; lists that it did not ask for stay. Throws STATE_FILE_DAMAGED, DATA_DIR_UNWRITABLE. */
export const learnChecked = async (dataDir: string, { lists, credits }: Checked): Promise<void> => {
  await changeShared(fileOf(dataDir), (known) => ({
    v: 1 as const,
    lists: { ...known.lists, ...lists },
    credits: credits ?? known.credits,
  }));
};

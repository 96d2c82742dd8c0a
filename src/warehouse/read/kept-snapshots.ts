// Lists the published snapshots that a data directory still holds: state/snapshots/index.json names them, `<n>.duckdb` beside it is the
// file of each but the present one. A snapshot never changes, and its number is given once.
import { dirname, join } from "node:path";
import { z } from "zod";
import { readNote } from "../../core/state/shared-file.ts";
import { fileVersion } from "./looks.ts";

/** Name of the folder in `state/`. `forget` removes what holds the person. */
export const KEPT = "snapshots";

const noteSchema = z.object({
  n: z.int().positive(),
  /** When readers could see it first, ms since the epoch. */
  at: z.number(),
  /** Number of the last change in it (`sync.changes`). */
  position: z.int().nonnegative(),
  bytes: z.int().nonnegative(),
  /** Every table was proven to hold what the service held. */
  complete: z.boolean(),
  /** `fileVersion` of the file when it was published. */
  file: z.string(),
});
export type SnapshotNote = z.output<typeof noteSchema>;
const indexSchema = z.object({
  v: z.literal(1),
  /** The number given last; it stays when its snapshot goes. */
  last: z.int().nonnegative(),
  /** Oldest first. */
  snapshots: z.array(noteSchema),
});
export type SnapshotIndex = z.output<typeof indexSchema>;

export const keptFolder = (snapshot: string): string => join(dirname(snapshot), "state", KEPT);
export const indexFile = (snapshot: string) => ({
  path: join(keptFolder(snapshot), "index.json"),
  schema: indexSchema,
});
export const keptFile = (snapshot: string, n: number): string => join(keptFolder(snapshot), `${n}.duckdb`);

/** What is noted; nothing where no note can be read: its numbers begin anew. */
export const readIndex = async (snapshot: string): Promise<SnapshotIndex> =>
  (await readNote(indexFile(snapshot))) ?? { v: 1, last: 0, snapshots: [] };

export interface KeptSnapshot extends SnapshotNote {
  readonly path: string;
}

/** The snapshots that are there, the newest first; the first one is the present one. */
export const keptSnapshots = async (snapshot: string): Promise<readonly KeptSnapshot[]> => {
  const { snapshots } = await readIndex(snapshot);
  const present = fileVersion(snapshot);
  return snapshots.toReversed().flatMap((note): readonly KeptSnapshot[] => {
    const kept = keptFile(snapshot, note.n);
    const path = note.file === present ? snapshot : fileVersion(kept) === null ? null : kept;
    return path === null ? [] : [{ ...note, path }];
  });
};

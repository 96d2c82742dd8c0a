// The archive as a run uses it: opened for appending, read back after a crash. On disk here; simulations keep their own.
import { type Archive, type IntentRecord, openArchive } from "./archive.ts";
import { type ArchivedResponse, readArchive, readIntents } from "./read-archive.ts";

export interface ArchiveStore {
  /** Opens the archive of a run for appending. `now`: ms since the epoch. */
  open(run: { readonly runId: string; readonly now: number }): Archive;
  /** What a run archived, in order. */
  responses(runId: string): AsyncIterable<ArchivedResponse>;
  /** What a run was about to send, in order. */
  intents(runId: string): Promise<readonly IntentRecord[]>;
}

/** The archive in a directory. */
export const archiveStore = (dir: string): ArchiveStore => ({
  open: (run) => openArchive({ dir, ...run }),
  responses: (runId) => readArchive(dir, { runId }),
  intents: (runId) => readIntents(dir, runId),
});

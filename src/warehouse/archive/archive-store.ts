// The archive as a run uses it: opens it for appending and reads it back after a crash. On disk here; simulations
// have their own.
import { type Archive, type IntentRecord, openArchive } from "./archive.ts";
import { type ArchivedResponse, readArchive, readIntents } from "./read-archive.ts";

export interface ArchiveStore {
  /** Opens the archive of a run for appending. `now`: ms since the epoch. */
  open(run: { readonly runId: string; readonly now: number }): Archive;
  /** Responses that a run archived, in order. */
  responses(runId: string): AsyncIterable<ArchivedResponse>;
  /** Requests that a run was about to send, in order. */
  intents(runId: string): Promise<readonly IntentRecord[]>;
}

/** The archive in a directory on disk. */
export const archiveStore = (dir: string): ArchiveStore => ({
  open: (run) => openArchive({ dir, ...run }),
  responses: (runId) => readArchive(dir, { runId }),
  intents: (runId) => readIntents(dir, runId),
});

// Streams the change feed page by page from the published snapshot, and on request waits for the next snapshot.
import type { Clock } from "../../../core/clock.ts";
import { fileVersion } from "../looks.ts";
import { FOR_ONE_ANSWER, openSnapshot } from "../mirror-reader.ts";
import type { Change, ChangePage } from "./change.ts";
import { type ChangesRequest, readChanges } from "./read-changes.ts";

export interface StreamRequest extends Omit<ChangesRequest, "limit"> {
  readonly snapshot: string;
  /** Most changes; null: all. */
  readonly limit: number | null;
  /** Wait for later snapshots. */
  readonly follow: boolean;
  readonly clock: Clock;
  /** Ends the stream with its reason. */
  readonly signal?: AbortSignal;
}

const PAGE_ROWS = 4_000;
/** Time between two checks for a new snapshot, ms. */
const POLL_MS = 1_000;

async function* pagesOf(request: StreamRequest, limit: number): AsyncGenerator<ChangePage, void> {
  const database = await openSnapshot(request.snapshot, FOR_ONE_ANSWER);
  let { after } = request;
  let left = limit;
  try {
    for (;;) {
      request.signal?.throwIfAborted();
      const rows = Math.min(PAGE_ROWS, left);
      const page = await readChanges(database, { ...request, after, limit: rows });
      after = page.next;
      left -= page.changes.length;
      yield page;
      if (page.next === page.last || left === 0) return;
    }
  } finally {
    await database.close();
  }
}

/**
 * Changes in order, in pages. Throws SNAPSHOT_MISSING, SNAPSHOT_DAMAGED, CHANGES_GONE, CHANGES_AHEAD, and the signal's
 * reason.
 */
export async function* streamChanges(request: StreamRequest): AsyncGenerator<readonly Change[], void> {
  const { snapshot, follow, clock, signal } = request;
  let { after } = request;
  let left = request.limit ?? Number.POSITIVE_INFINITY;
  while (left > 0) {
    const version = fileVersion(snapshot);
    for await (const { changes, next } of pagesOf({ ...request, after }, left)) {
      after = next;
      left -= changes.length;
      if (changes.length > 0) yield changes;
    }
    if (!follow) return;
    for (let found: string | null = version; found === version || found === null; found = fileVersion(snapshot)) {
      await clock.sleep(POLL_MS, signal);
    }
  }
}

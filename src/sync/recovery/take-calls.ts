// Books the calls that commands made without holding the warehouse: `check`, `feedback`, and whatever ran beside a
// worker. Each command becomes a run with its ledger rows.
import { detailOf } from "../../core/errors.ts";
import { readCallFiles, removeCallFile } from "../../warehouse/calls/call-files.ts";
import type { OutsideCalls, SentCall } from "../../warehouse/calls/call-lines.ts";
import type { Warehouse } from "../../warehouse/file/warehouse.ts";
import type { RequestRecord } from "../../warehouse/record/checkpoint.ts";

const ambiguousCall = ({ requestId, stream, scope, endpoint, url, at }: SentCall, runId: string): RequestRecord => ({
  requestId,
  runId,
  stream,
  scope,
  endpoint,
  url,
  status: null,
  charge: "ambiguous",
  startedAt: at,
  durationMs: 0,
  bytes: 0,
  rows: 0,
  attempt: 1,
  error: "no answer before the process ended",
});

/** Booking the same calls twice changes nothing, so a crash before the file is removed is harmless. */
const book = async (warehouse: Warehouse, calls: OutsideCalls): Promise<void> => {
  const { runId, mode, startedAt, finishedAt, answered, open, quota, error } = calls;
  const requests = [...answered, ...open.map((call) => ambiguousCall(call, runId))];
  await warehouse.startRun({ runId, mode, startedAt });
  await warehouse.commit({ runId, loads: [], requests, scopes: [], quota });
  await warehouse.finishRun(runId, { status: "done", finishedAt, summary: null, error });
};

/**
 * Books every call file whose process has ended. `now`: ms since the epoch. Returns why files could not be removed; they
 * are booked again, which changes nothing.
 */
export const takeCalls = async (warehouse: Warehouse, dataDir: string, now: number): Promise<readonly string[]> => {
  const problems: string[] = [];
  for (const calls of await readCallFiles(dataDir)) {
    if (calls.until >= now) continue;
    await book(warehouse, calls);
    try {
      removeCallFile(dataDir, calls.runId);
    } catch (error) {
      problems.push(detailOf(error));
    }
  }
  return problems;
};

/** The warehouse that also books such calls before it publishes, so that a snapshot lacks none of them. */
export const bookingWarehouse = (warehouse: Warehouse, dataDir: string, now: () => number): Warehouse => ({
  ...warehouse,
  publish: async () => {
    await takeCalls(warehouse, dataDir, now());
    return warehouse.publish();
  },
});

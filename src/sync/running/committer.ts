// Committer: collects arrivals and writes them in one transaction: rows, scope states, request ledger (invariant I1).
// While one batch is written, the next is collected, so fetching and loading overlap.

import type { Archive } from "../../warehouse/archive/archive.ts";
import type { Warehouse } from "../../warehouse/file/warehouse.ts";
import type {
  LoadCounts,
  QuotaReading,
  RequestRecord,
  ScopeState,
  TableLoad,
} from "../../warehouse/record/checkpoint.ts";

/** Most arrivals and decoded bytes in one transaction. Parsed and staged, they take several times that memory. */
const MOST_ARRIVALS = 256;
const MOST_BYTES = 4 * 1024 * 1024;

/** Something to commit. */
export interface Arrival {
  readonly loads: readonly TableLoad[];
  readonly requests: readonly RequestRecord[];
  /** States of scopes after it; later arrivals replace them. */
  readonly states: readonly ScopeState[];
  /**
   * Called with the counts of the loads before any arrival of the batch continues, because a task may use its figures
   * only when they include everything committed with it.
   */
  readonly counted?: (counts: readonly LoadCounts[]) => void;
  readonly bytes: number;
}

export interface Committer {
  /** Resolves with the counts of the loads once they are durable. Rejects if the commit fails. */
  commit(arrival: Arrival): Promise<readonly LoadCounts[]>;
  /** Number of arrivals that are not durable yet. */
  waiting(): number;
  /** Decoded bytes of these arrivals' bodies. */
  waitingBytes(): number;
}

interface Queued {
  readonly arrival: Arrival;
  readonly resolve: (counts: readonly LoadCounts[]) => void;
  readonly reject: (error: unknown) => void;
}

const stateId = (state: ScopeState) => `${state.stream}\n${state.scope}`;

export const createCommitter = (deps: {
  readonly warehouse: Warehouse;
  readonly archive: Archive;
  readonly runId: string;
  /** A usage block to store with the next commit, if one is due. */
  readonly takeQuota: () => QuotaReading | null;
}): Committer => {
  const { warehouse, archive, runId } = deps;
  let queue: Queued[] = [];
  let writing = false;
  let inBatch = 0;
  let waitingBytes = 0;

  const takeBatch = (): readonly Queued[] => {
    let bytes = 0;
    let count = 0;
    for (const { arrival } of queue) {
      if (count > 0 && (count >= MOST_ARRIVALS || bytes + arrival.bytes > MOST_BYTES)) break;
      bytes += arrival.bytes;
      count += 1;
    }
    const batch = queue.slice(0, count);
    queue = queue.slice(count);
    return batch;
  };

  const write = async (batch: readonly Queued[]) => {
    // Later states of a scope replace earlier ones, because the batch is one transaction.
    const states = new Map(batch.flatMap(({ arrival }) => arrival.states).map((state) => [stateId(state), state]));
    await archive.flush();
    const counts = await warehouse.commit({
      runId,
      loads: batch.flatMap(({ arrival }) => arrival.loads),
      requests: batch.flatMap(({ arrival }) => arrival.requests),
      scopes: [...states.values()],
      quota: deps.takeQuota(),
    });
    let position = 0;
    const shares = batch.map(({ arrival }) => {
      const share = counts.slice(position, position + arrival.loads.length);
      position += arrival.loads.length;
      arrival.counted?.(share);
      return share;
    });
    for (const [index, { resolve }] of batch.entries()) resolve(shares[index] ?? []);
  };

  const drain = async () => {
    if (writing) return;
    writing = true;
    while (queue.length > 0) {
      const batch = takeBatch();
      inBatch = batch.length;
      try {
        await write(batch);
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
      inBatch = 0;
      waitingBytes -= batch.reduce((sum, { arrival }) => sum + arrival.bytes, 0);
    }
    writing = false;
  };

  return {
    commit: (arrival) =>
      new Promise((resolve, reject) => {
        queue.push({ arrival, resolve, reject });
        waitingBytes += arrival.bytes;
        void drain();
      }),
    waiting: () => queue.length + inBatch,
    waitingBytes: () => waitingBytes,
  };
};

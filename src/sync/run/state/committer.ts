// Committer: collects responses ("arrivals") and writes several of them in one transaction: rows, scope states, request ledger (invariant
// I1). While one batch is written, the next is collected. While the rate limit decides the pace, arrivals wait for each other:
// docs/decisions/loading.md.

import type { Clock } from "../../../core/clock.ts";
import type { Archive } from "../../../warehouse/archive/archive.ts";
import type { Warehouse } from "../../../warehouse/file/warehouse.ts";
import type {
  LoadCounts,
  QuotaReading,
  RequestRecord,
  ScopeState,
  TableLoad,
} from "../../../warehouse/record/checkpoint.ts";

/** Most arrivals and decoded bytes in one transaction. Parsed and staged, they take several times that memory. */
const MOST_ARRIVALS = 256;
const MOST_BYTES = 4 * 1024 * 1024;
/** Longest time that an arrival waits for others. */
const LONGEST_WAIT_MS = 1000;

/** Something to commit. */
export interface Arrival {
  readonly loads: readonly TableLoad[];
  readonly requests: readonly RequestRecord[];
  /** States of scopes after this arrival. A later arrival's state of the same scope replaces them. */
  readonly states: readonly ScopeState[];
  /**
   * Called with the counts of the loads before any arrival of the batch continues, because a task may use its figures
   * only when they include everything committed with it.
   */
  readonly counted?: (counts: readonly LoadCounts[]) => void;
  readonly bytes: number;
  /** True: probably no request follows from it, so it may wait for other arrivals. */
  readonly canWait?: boolean;
}

export interface Committer {
  /** Resolves with the counts of the loads once they are durable. Rejects if this commit or an earlier one failed. */
  commit(arrival: Arrival): Promise<readonly LoadCounts[]>;
  /** Number of arrivals that are not durable yet. */
  waiting(): number;
  /** Decoded bytes of these arrivals' bodies. */
  waitingBytes(): number;
  /** `paced`: the next request waits for the rate limit, so arrivals with `canWait` wait, for a second at most. */
  setPaced(paced: boolean): void;
}

interface Queued {
  readonly arrival: Arrival;
  /** Resolves when the responses up to this arrival are durable in the archive. */
  readonly durable: Promise<void>;
  readonly resolve: (counts: readonly LoadCounts[]) => void;
  readonly reject: (error: unknown) => void;
}

export interface CommitterDeps {
  readonly clock: Clock;
  readonly warehouse: Pick<Warehouse, "commit">;
  readonly archive: Pick<Archive, "flush">;
  readonly runId: string;
  /** A usage block to store with the next commit, if one is due. */
  readonly takeQuota: () => QuotaReading | null;
  /** Called with the counts of every commit; unset: nobody waits for them. */
  readonly onCommitted?: ((counts: readonly LoadCounts[]) => void) | undefined;
}

/** Number of arrivals that go into the next transaction: at least one. */
const batchSize = (queue: readonly Queued[]): number => {
  let bytes = 0;
  let count = 0;
  for (const { arrival } of queue) {
    if (count > 0 && (count >= MOST_ARRIVALS || bytes + arrival.bytes > MOST_BYTES)) break;
    bytes += arrival.bytes;
    count += 1;
  }
  return count;
};

const bytesOf = (batch: readonly Queued[]): number => batch.reduce((sum, { arrival }) => sum + arrival.bytes, 0);

/** Commits a batch in one transaction. Every arrival is counted before the first continues, which no promise does within the loop. */
const write = async (batch: readonly Queued[], deps: CommitterDeps) => {
  const { warehouse, archive, runId, takeQuota } = deps;
  const loads: TableLoad[] = [];
  const requests: RequestRecord[] = [];
  // Later states of a scope replace earlier ones, because the batch is one transaction.
  const states = new Map<string, ScopeState>();
  for (const { arrival, durable } of batch) {
    loads.push(...arrival.loads);
    requests.push(...arrival.requests);
    for (const state of arrival.states) states.set(`${state.stream}\n${state.scope}`, state);
    await durable;
  }
  await archive.flush();
  const counts = await warehouse.commit({ runId, loads, requests, scopes: [...states.values()], quota: takeQuota() });
  let position = 0;
  for (const { arrival, resolve } of batch) {
    const share = counts.slice(position, position + arrival.loads.length);
    position += arrival.loads.length;
    arrival.counted?.(share);
    resolve(share);
  }
  deps.onCommitted?.(counts);
};

/** True when the arrivals fill a transaction, or one of them cannot wait. */
const isDue = (queue: readonly Queued[]): boolean =>
  queue.some(({ arrival }) => arrival.canWait !== true) ||
  queue.length >= MOST_ARRIVALS ||
  bytesOf(queue) >= MOST_BYTES;

export const createCommitter = (deps: CommitterDeps): Committer => {
  let queue: Queued[] = [];
  /** The batch that is being written. */
  let writing: readonly Queued[] = [];
  let waitingBytes = 0;
  let paced = false;
  /** Why an earlier batch was not written: a later one may hold cursors that passed its rows (invariant I1). */
  let failure: { readonly error: unknown } | null = null;
  /** Ends the wait of the queued arrivals for others; null: they do not wait. */
  let wait: AbortController | null = null;

  const drain = async (isOver: boolean) => {
    if (writing.length > 0) return;
    let due = isOver;
    while (queue.length > 0 && (due || !paced || isDue(queue))) {
      due = false;
      wait?.abort();
      wait = null;
      const size = batchSize(queue);
      writing = queue.slice(0, size);
      queue = queue.slice(size);
      try {
        if (failure !== null) throw failure.error;
        await write(writing, deps);
      } catch (error) {
        failure ??= { error };
        for (const { reject } of writing) reject(error);
      }
      waitingBytes -= bytesOf(writing);
      writing = [];
    }
    if (queue.length > 0) startWait();
  };
  const startWait = () => {
    if (wait !== null) return;
    wait = new AbortController();
    deps.clock.sleep(LONGEST_WAIT_MS, wait.signal).then(
      () => drain(true),
      () => undefined,
    );
  };
  /** Flushes the archive before an arrival waits, so that waiting risks no response. `write` reports a failure. */
  const durable = ({ canWait = false }: Arrival): Promise<void> => {
    if (!paced || !canWait) return Promise.resolve();
    const flushed = deps.archive.flush();
    flushed.catch(() => undefined);
    return flushed;
  };

  return {
    commit: (arrival) =>
      new Promise((resolve, reject) => {
        queue.push({ arrival, durable: durable(arrival), resolve, reject });
        waitingBytes += arrival.bytes;
        void drain(false);
      }),
    waiting: () => queue.length + writing.length,
    waitingBytes: () => waitingBytes,
    setPaced: (next) => {
      paced = next;
      if (!next) void drain(false);
    },
  };
};

// Runs syncs of a fake service over real sockets into a real warehouse in a temporary directory.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { OpenAccess } from "../../jobs/service-access.ts";
import { type SyncRequest, syncJob } from "../../jobs/sync.ts";
import { type VerifyRequest, verifyJob } from "../../jobs/verify.ts";
import type { Clock } from "../../src/core/clock.ts";
import type { ErrorCode } from "../../src/core/errors.ts";
import type { ProgressEvent } from "../../src/core/report/sync-progress.ts";
import type { SyncReport } from "../../src/core/report/sync-report.ts";
import type { SyncResult } from "../../src/sync/run/run-sync.ts";
import type { VerifyResult } from "../../src/sync/verify/verify.ts";
import { runQuery } from "../../src/warehouse/read/query.ts";
import { afterTest } from "./after-test.ts";
import { seededRandom } from "./chance.ts";
import { startFakeServer } from "./fake-server.ts";
import { type FakeService, paidOf } from "./fake-service.ts";
import { copyMigratedMirror } from "./migrated-mirror.ts";
import { runsOf } from "./runs-of.ts";

/** The machine's time, but waiting takes none: retries and rate limits pass at once. */
export const hurriedClock = (): Clock => {
  let ahead = 0;
  return {
    now: () => Date.now() + ahead,
    sleep: async (ms, signal) => {
      if (signal?.aborted) throw signal.reason;
      ahead += Math.max(0, ms);
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
};

/** A clock of its own that only waiting moves: what runs on it does not depend on how fast the machine is. */
export const simulatedClock = (start = Date.UTC(2026, 10, 21)): Clock => {
  let now = start;
  return {
    now: () => now,
    sleep: async (ms, signal) => {
      if (signal?.aborted) throw signal.reason;
      now += Math.max(0, ms);
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
};

/** What a sync came to, and what it asked the service for. */
export interface Synced extends SyncResult {
  /** Of its error; null: there is none. */
  readonly code: ErrorCode | null;
  /** Every stream of the report is complete. */
  readonly complete: boolean;
  readonly sent: FakeService["log"];
  /** Credits that the service charged meanwhile. */
  readonly paid: number;
  /** What the report says of a stream. */
  of(stream: string): SyncReport["streams"][number];
}

export const watched = async (service: FakeService, run: () => Promise<SyncResult>): Promise<Synced> => {
  const from = service.log.length;
  const { error, report } = await run();
  const sent = service.log.slice(from);
  const of = (name: string) => {
    const found = report.streams.find(({ stream }) => stream === name);
    if (found === undefined) throw new TypeError(`the report has no ${name}`);
    return found;
  };
  const complete = report.streams.every((stream) => stream.complete);
  return { error, report, code: error?.code ?? null, complete, sent, paid: paidOf(sent), of };
};

export interface SyncRig {
  readonly service: FakeService;
  readonly clock: Clock;
  readonly dataDir: string;
  readonly events: ProgressEvent[];
  sync(request?: Partial<SyncRequest>, env?: Record<string, string>, signal?: AbortSignal): Promise<Synced>;
  verify(request?: Partial<VerifyRequest>): Promise<VerifyResult>;
  /** Rows of a query on the published snapshot. */
  rows(sql: string): Promise<readonly Record<string, unknown>[]>;
  close(): Promise<void>;
}

/** Ends when it is closed: for a mirror that several tests of a file look at. */
export const openSyncRig = async (
  service: FakeService,
  env: Record<string, string> = {},
  clock: Clock = hurriedClock(),
  connect?: OpenAccess,
  random: () => number = seededRandom(1),
): Promise<SyncRig> => {
  service.useClock(clock);
  const server = await startFakeServer(service);
  const dataDir = await mkdtemp(join(tmpdir(), "duckmirror-rig-"));
  await copyMigratedMirror(dataDir);
  const { events, configOf, context } = runsOf({ url: server.url, dataDir, env, clock, random });
  const contextOf = (signal?: AbortSignal) => ({ ...context(signal), ...(connect === undefined ? {} : { connect }) });
  return {
    service,
    clock,
    dataDir,
    events,
    sync: (request = {}, more = {}, signal) =>
      watched(service, () => syncJob(configOf(more), request, contextOf(signal))),
    verify: (request = {}) =>
      verifyJob(
        configOf(),
        { streams: [], maxCredits: 20, sample: 100, repair: false, allowMassDelete: false, ...request },
        contextOf(),
      ),
    rows: async (sql) => {
      const result = await runQuery({ snapshot: join(dataDir, "warehouse.duckdb"), sql });
      return result.rows.map((row) =>
        Object.fromEntries(row.map((value, index) => [result.columns[index]?.name ?? "", value])),
      );
    },
    close: async () => {
      await server.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
};

/** It is closed after the test. */
export const startSyncRig = async (...args: Parameters<typeof openSyncRig>): Promise<SyncRig> => {
  const rig = await openSyncRig(...args);
  afterTest(rig.close);
  return rig;
};

// The mirror of a trial: its clock, its syncs and what it holds, in memory, in files, or kept by the built program.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openOwnAccess } from "../../jobs/service-access.ts";
import { syncJob } from "../../jobs/sync.ts";
import { openWarehouse } from "../../src/warehouse/file/warehouse.ts";
import { memoryJob } from "../support/memory-job.ts";
import { createMemoryWarehouse } from "../support/memory-warehouse/memory-warehouse.ts";
import { copyMigratedMirror } from "../support/migrated-mirror.ts";
import { createEventClock, type EventClock } from "./event-clock.ts";
import type { Following } from "./expected.ts";
import { memoryMirror, publishedMirror, type ReadMirror } from "./mirror-contents.ts";
import { asProcess, inProcess, type MirrorRuns } from "./mirror-runs.ts";
import { pairedWarehouse } from "./paired-warehouse.ts";
import type { SecondServer, ServiceClock } from "./service.ts";

/**
 * `memory`: tables and archive in memory, on a clock that only events move; `files`: a data directory; `paired`: tables
 * in files and in memory, compared at each call; else the built program.
 */
export type MirrorKind = "memory" | "files" | "paired" | { readonly program: string };

export interface OpenMirror {
  /** Clock of the service. */
  readonly clock: ServiceClock;
  now(): number;
  advance(ms: number): void;
  /** The client's clock is so far ahead of the service's from now on, ms. */
  setAhead(ms: number): void;
  /** Syncs of a mirror of this service. */
  open(server: SecondServer, following: Following): { readonly runs: MirrorRuns; readonly read: ReadMirror };
  /** Where two kinds of tables are compared: what differs. */
  differences?(): readonly string[];
  close(): void | Promise<void>;
}

/** Starts of syncs in trials lie here: a fixed day, so that a seed is the same service tomorrow. */
const START = Date.UTC(2026, 2, 4, 9, 30);
/** A disk that answers later than this only lets time pass, ms. */
const DISK_MS = 3;
/** The built program waits for real: the service's latency is cut to this, ms. */
const LONGEST_SLEEP_MS = 30;

/** The same time, as a machine whose clock can be wrong tells it. */
const ownClock = (clock: EventClock) => {
  let aheadMs = 0;
  return {
    clock: { ...clock, now: () => clock.now() + aheadMs },
    setAhead: (ms: number) => {
      aheadMs = ms;
    },
  };
};

const inMemory = (): OpenMirror => {
  const clock = createEventClock(START);
  const own = ownClock(clock);
  const warehouse = createMemoryWarehouse({});
  return {
    ...clock,
    clock: clock.service,
    setAhead: own.setAhead,
    open: (server, following) => ({
      runs: inProcess(
        server,
        { dataDir: tmpdir(), ...following },
        { clock: own.clock, job: memoryJob(warehouse, own.clock, clock.wired) },
      ),
      read: memoryMirror(warehouse),
    }),
  };
};

const inBoth = async (): Promise<OpenMirror> => {
  const clock = createEventClock(START);
  const own = ownClock(clock);
  const dataDir = newFolder();
  await copyMigratedMirror(dataDir);
  const files = await openWarehouse({ dataDir, clock: own.clock });
  const warehouse = pairedWarehouse(files, createMemoryWarehouse({}), clock.wired);
  return {
    ...clock,
    clock: clock.service,
    setAhead: own.setAhead,
    open: (server, following) => ({
      runs: inProcess(
        server,
        { dataDir, ...following },
        { clock: own.clock, job: memoryJob(warehouse, own.clock, clock.wired) },
      ),
      read: publishedMirror(join(dataDir, "warehouse.duckdb")),
    }),
    differences: () => warehouse.differences,
    close: async () => {
      clock.close();
      await files.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
};

const newFolder = () => mkdtempSync(join(tmpdir(), "duckmirror-second-"));

/** The job itself; the clock learns of its requests. */
const filesJob =
  (clock: EventClock): typeof syncJob =>
  (config, request, context) =>
    syncJob(config, request, {
      ...context,
      connect: async (...given) => {
        const access = await openOwnAccess(...given);
        const { sender } = access;
        return { ...access, sender: { ...sender, send: (...sent) => clock.wired(() => sender.send(...sent)) } };
      },
    });

const inFiles = async (seed: number): Promise<OpenMirror> => {
  const clock = createEventClock(START, DISK_MS);
  const own = ownClock(clock);
  const dataDir = newFolder();
  // One in ten migrates a file of its own.
  if (seed % 10 !== 0) await copyMigratedMirror(dataDir);
  return {
    ...clock,
    clock: clock.service,
    setAhead: own.setAhead,
    open: (server, following) => ({
      runs: inProcess(server, { dataDir, ...following }, { clock: own.clock, job: filesJob(clock) }),
      read: publishedMirror(join(dataDir, "warehouse.duckdb")),
    }),
    close: () => {
      clock.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
};

const byProgram = (program: string): OpenMirror => {
  const dataDir = newFolder();
  const now = () => Date.now();
  const sleep = (ms: number) => new Promise<void>((done) => setTimeout(done, Math.min(ms, LONGEST_SLEEP_MS)));
  return {
    clock: { now, sleep, touch: () => undefined },
    now,
    advance: () => undefined,
    setAhead: () => undefined,
    open: (server, following) => ({
      runs: asProcess(server, { dataDir, ...following }, program),
      read: publishedMirror(join(dataDir, "warehouse.duckdb")),
    }),
    close: () => rmSync(dataDir, { recursive: true, force: true }),
  };
};

export const openMirror = async (kind: MirrorKind, seed: number): Promise<OpenMirror> => {
  if (kind === "memory") return inMemory();
  if (kind === "paired") return inBoth();
  return kind === "files" ? inFiles(seed) : byProgram(kind.program);
};

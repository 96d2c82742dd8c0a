// A worker as it is, over a simulated queue and a simulated engine: real sessions and job functions, virtual time. It can be
// killed, stopped and frozen.
import { DelayedError } from "bullmq";
import { outcomeOf } from "../../../../jobs/publish.ts";
import { createSessions, type SessionDeps } from "../../../../jobs/session.ts";
import type { Clock } from "../../../../src/core/clock.ts";
import type { Config } from "../../../../src/core/config/config.ts";
import { DuckmirrorError, isCode } from "../../../../src/core/errors.ts";
import { ABORT, BUSY_MS, failureToKeep } from "../../../../src/queue/requests/stored-failures.ts";
import { processSync, type SyncJobDeps } from "../../../../src/queue/syncs/redis/process-sync.ts";
import type { SyncResult } from "../../../../src/sync/run/run-sync.ts";
import { aReport, aStreamReport } from "../../../support/reports.ts";
import { LOCK_MS, type SimJob, type SimQueue } from "./simulated-queue.ts";

/** The mirror of one organization: its writer's lock, and what runs read. */
export interface SimMirror {
  /** Who writes; null: nobody. */
  writer: string | null;
  readonly runs: { readonly syncId: string; readonly runId: string; readonly streams: readonly string[] }[];
  /** Streams that were read to their end, and when the run that read them began. */
  readonly reads: { readonly stream: string; readonly begunAt: number }[];
  /** Syncs in which the service failed a stream. */
  readonly faulty: Set<string>;
}

interface World {
  readonly clock: Clock;
  readonly random: () => number;
  readonly queue: SimQueue;
  readonly mirror: SimMirror;
  readonly config: Config;
}

/** How long a run waits for Redis before it gives up, ms. */
const PATIENCE_MS = 60_000;
const scrubber = { scrub: (text: string) => text };

export class SimWorker {
  state: "alive" | "stopping" | "dead" = "alive";
  frozenUntil = 0;
  private readonly active = new Map<SimJob, AbortController>();
  private readonly world: World;
  readonly name: string;

  constructor(name: string, world: World) {
    this.name = name;
    this.world = world;
    const { clock } = world;
    const marks = world.queue.syncMarks(() => this.guard());
    const sessions = createSessions({
      clock: this.clock(),
      run: this.engine,
      emit: () => undefined,
      most: 1,
      onStart: (syncId) => marks.start(syncId),
    });
    const deps: SyncJobDeps = {
      profiles: [world.config],
      sessions,
      marks,
      clock,
      scrubber,
      publish: async (_, sync) => outcomeOf(sync, { snapshot: "mirror" }, clock.now()),
    };
    const take = () => {
      const token = `${name} ${world.random()}`;
      const job = this.active.size < 2 && !world.queue.away ? world.queue.take(token) : null;
      if (job !== null) void this.work(job, token, deps).catch(() => undefined);
    };
    void this.every(100, take);
    void this.every(5_000, () => this.renew());
    void this.every(500, () => this.endCancelled());
    void this.every(10_000, () => world.queue.away || world.queue.findStalled());
  }

  /** Nothing that a dead worker awaits ever comes; a frozen one waits. */
  private async guard(): Promise<void> {
    while (this.frozenUntil > this.world.clock.now())
      await this.world.clock.sleep(this.frozenUntil - this.world.clock.now());
    if (this.state === "dead") await new Promise(() => undefined);
  }

  private clock(): Clock {
    const { clock } = this.world;
    const sleep: Clock["sleep"] = async (ms, signal) => {
      await clock.sleep(ms, signal).finally(() => this.guard());
    };
    return { now: clock.now, sleep };
  }

  private async every(ms: number, task: () => unknown): Promise<void> {
    while (this.state === "alive" || this.active.size > 0) {
      await this.world.clock.sleep(ms);
      await this.guard();
      if (this.state === "alive" || ms !== 100) task();
    }
  }

  private renew(): void {
    const { queue, clock } = this.world;
    if (queue.away) return;
    for (const [job, abort] of this.active) {
      const mine = queue.jobs.get(job.id) === job && job.state === "active" && job.token?.startsWith(`${this.name} `);
      if (mine) job.lockedUntil = clock.now() + LOCK_MS;
      else abort.abort(ABORT.lockLost);
    }
  }

  private endCancelled(): void {
    const { queue } = this.world;
    for (const [job, abort] of this.active)
      if (!queue.away && queue.marks.has(`cancelled ${job.id}`)) abort.abort(ABORT.cancelled);
  }

  kill(): void {
    this.state = "dead";
    if (this.world.mirror.writer === this.name) this.world.mirror.writer = null;
  }

  stop(): void {
    if (this.state === "alive") this.state = "stopping";
    for (const abort of this.active.values()) abort.abort(ABORT.stopping);
  }

  private async work(job: SimJob, token: string, deps: SyncJobDeps) {
    const { queue, clock } = this.world;
    const abort = new AbortController();
    this.active.set(job, abort);
    /** A command of the worker's own connection: it waits until Redis is back. */
    const command = async <T>(run: () => T): Promise<T> => {
      do {
        await this.guard();
        await clock.sleep(2);
      } while (queue.away);
      await this.guard();
      return run();
    };
    const moveToDelayed = (at: number) =>
      command(() => {
        queue.mustHold(job, token);
        Object.assign(job, { state: "delayed", readyAt: at, token: null });
      });
    const taken = {
      job: {
        id: job.id,
        data: job.data,
        progress: job.progress,
        timestamp: job.timestamp,
        updateProgress: (progress: object) => command(() => Object.assign(job, { progress })),
        moveToDelayed,
        promote: async () => undefined,
      },
      token,
      signal: abort.signal,
      leftFor: async () => clock.now() - job.timestamp,
    };
    try {
      const result = await processSync(taken, deps);
      await command(() => queue.end(job, token, { state: "completed", result, failure: null }));
    } catch (error) {
      if (error instanceof DelayedError) return;
      if (isCode(error, "REDIS_UNAVAILABLE")) return await moveToDelayed(clock.now() + BUSY_MS);
      const failure = failureToKeep(error, scrubber).message;
      await command(() => queue.end(job, token, { state: "failed", result: null, failure }));
    } finally {
      this.active.delete(job);
    }
  }

  /** One run: reads stream after stream, needs Redis for each, and ends early where it must. */
  private readonly engine: SessionDeps["run"] = async (_, request, { signal }): Promise<SyncResult> => {
    const { clock, random, queue, mirror } = this.world;
    const sleep = this.clock().sleep;
    const syncId = request.runId ?? "";
    await sleep(5);
    if (mirror.writer !== null) throw new DuckmirrorError("WRITER_BUSY", { dir: "mirror" });
    mirror.writer = this.name;
    const begunAt = clock.now();
    const earlier = mirror.runs.filter((run) => run.syncId === syncId).length;
    const runId = earlier === 0 ? syncId : `${syncId}-${earlier + 1}`;
    mirror.runs.push({ syncId, runId, streams: request.streams });
    const ended = new Map<string, "done" | "failed">();
    let error: DuckmirrorError | null = null;
    for (const stream of request.streams) {
      await sleep(50 + random() * 1_500, signal).catch(() => undefined);
      for (const since = clock.now(); queue.away && !signal.aborted && error === null; ) {
        if (clock.now() - since > PATIENCE_MS) {
          error = new DuckmirrorError("REDIS_UNAVAILABLE", { address: "sim", detail: "connect ECONNREFUSED" });
        } else await sleep(1_000, signal).catch(() => undefined);
      }
      if (signal.aborted || error !== null) break;
      const fails = random() < 0.01;
      if (fails) mirror.faulty.add(syncId);
      else mirror.reads.push({ stream, begunAt });
      ended.set(stream, fails ? "failed" : "done");
    }
    mirror.writer = null;
    if (error === null && isCode(signal.reason, "DURATION_SPENT")) error = signal.reason;
    const left = error === null ? "interrupted" : "stopped";
    const streams = request.streams.map((stream) => aStreamReport(stream, { status: ended.get(stream) ?? left }));
    const whole = [...ended.values()].includes("failed") ? "partial" : "done";
    const why = error?.code === "DURATION_SPENT" ? "stopped" : "failed";
    const status = error !== null ? why : ended.size < streams.length ? "interrupted" : whole;
    const at = new Date(begunAt).toISOString();
    return { report: { ...aReport({ run_id: runId, status, started_at: at }), streams }, error };
  };
}

// A queue as BullMQ and Redis behave, in memory and under virtual time: jobs with locks, redelivery, a board, and triggers.
// It can be away, be emptied, and lose locks.
import type { Clock } from "../../../src/core/clock.ts";
import type { Config } from "../../../src/core/config/config.ts";
import { DuckmirrorError } from "../../../src/core/errors.ts";
import type { AskedSync, SyncAsk } from "../../../src/core/report/triggers.ts";
import { endedState, joins, laterOf, payloadOf, type Triggers } from "../../../src/queue/asking/asks.ts";
import { type SyncPayload, syncOutcome } from "../../../src/queue/asking/payloads.ts";
import type { KeptEnd, SyncBoard } from "../../../src/queue/taking/sync-board.ts";
import {
  LATE,
  type Life,
  lifeOf,
  type SyncTimes,
  shownState,
  timeLeftOf,
} from "../../../src/queue/taking/sync-life.ts";

export const LOCK_MS = 15_000;

export interface SimJob {
  readonly id: string;
  readonly syncId: string;
  /** Family, or `publish`. */
  readonly name: string;
  readonly data: unknown;
  readonly timestamp: number;
  progress: unknown;
  state: "waiting" | "active" | "delayed" | "blocked" | "completed" | "failed";
  readyAt: number;
  token: string | null;
  lockedUntil: number;
  deliveries: number;
  result: unknown;
  failure: string | null;
}

export const ENDED = ["completed", "failed"];

export class SimQueue {
  readonly jobs = new Map<string, SimJob>();
  readonly syncs = new Map<string, SyncPayload>();
  readonly marks = new Set<string>();
  readonly runners = new Map<string, { worker: string; until: number }>();
  readonly keys = new Map<string, string>();
  /** Sync -> its first start, and its deadline. */
  readonly started = new Map<string, number>();
  readonly due = new Map<string, number>();
  away = false;
  /** Runs as the mirror keeps them: what Redis forgot is looked up here. */
  readonly stored = new Map<string, AskedSync>();
  private readonly clock: Clock;
  private readonly random: () => number;

  constructor(clock: Clock, random: () => number) {
    this.clock = clock;
    this.random = random;
  }

  /** One round trip; rejects while the server is away. */
  async hop(): Promise<void> {
    await this.clock.sleep(1 + Math.floor(this.random() * 4));
    if (this.away) throw new DuckmirrorError("REDIS_UNAVAILABLE", { address: "sim", detail: "connect ECONNREFUSED" });
  }

  wipe(): void {
    for (const map of [this.jobs, this.syncs, this.runners, this.keys, this.started, this.due]) map.clear();
    this.marks.clear();
  }

  add(sync: SyncPayload): void {
    const job = (id: string, name: string, state: SimJob["state"], data: unknown) =>
      this.jobs.set(id, {
        id,
        syncId: sync.syncId,
        name,
        data,
        timestamp: this.clock.now(),
        progress: 0,
        state,
        readyAt: 0,
        token: null,
        lockedUntil: 0,
        deliveries: 0,
        result: null,
        failure: null,
      });
    for (const family of sync.families) job(`${sync.syncId}.${family}`, family, "waiting", { ...sync, family });
    job(sync.syncId, "publish", "blocked", sync);
    this.syncs.set(sync.syncId, sync);
  }

  /** The next job that may be taken, locked under `token`. */
  take(token: string): SimJob | null {
    const now = this.clock.now();
    const ready = [...this.jobs.values()].filter(
      ({ state, readyAt }) => state === "waiting" || (state === "delayed" && readyAt <= now),
    );
    const job = ready[Math.floor(this.random() * ready.length)];
    if (job === undefined) return null;
    Object.assign(job, { state: "active", token, lockedUntil: now + LOCK_MS, deliveries: job.deliveries + 1 });
    return job;
  }

  /** Jobs whose worker did not renew their lock are delivered again. */
  findStalled(): void {
    for (const job of this.jobs.values())
      if (job.state === "active" && job.lockedUntil < this.clock.now())
        Object.assign(job, { state: "waiting", token: null });
  }

  /** Ends a job, for who holds its lock only. */
  end(job: SimJob, token: string, how: Pick<SimJob, "state" | "result" | "failure">): void {
    this.mustHold(job, token);
    Object.assign(job, how);
    const siblings = [...this.jobs.values()].filter(({ syncId, name }) => syncId === job.syncId && name !== "publish");
    const publish = this.jobs.get(job.syncId);
    if (publish?.state === "blocked" && siblings.every(({ state }) => ENDED.includes(state))) publish.state = "waiting";
  }

  mustHold(job: SimJob, token: string): void {
    if (this.jobs.get(job.id) !== job || job.token !== token || job.state !== "active") throw new Error("Missing lock");
  }

  isLive(syncId: string): boolean {
    const publish = this.jobs.get(syncId);
    return publish !== undefined && !ENDED.includes(publish.state);
  }

  lifeOf(syncId: string): Life {
    const held = (this.runners.get(syncId)?.until ?? 0) > this.clock.now();
    const cancelled = this.marks.has(`cancelled ${syncId}`);
    return lifeOf({ times: this.timesOf(syncId), timeoutMs: null, held, cancelled });
  }

  timesOf(syncId: string): SyncTimes {
    const startedAt = this.started.get(syncId) ?? null;
    return { now: this.clock.now(), startedAt, dueAt: this.due.get(syncId) ?? null };
  }

  board(worker: string, alive: () => Promise<void>): SyncBoard {
    const at = async <T>(work: () => T): Promise<T> => {
      await alive();
      await this.hop();
      const done = work();
      await alive();
      return done;
    };
    return {
      isCancelled: (syncId) => at(() => this.marks.has(`cancelled ${syncId}`)),
      claim: (syncId) =>
        at(() => {
          const holder = this.runners.get(syncId);
          if (holder !== undefined && holder.worker !== worker && holder.until > this.clock.now()) return false;
          this.runners.set(syncId, { worker, until: this.clock.now() + LOCK_MS });
          return true;
        }),
      giveUp: (syncId) =>
        at(() => {
          if (this.runners.get(syncId)?.worker === worker) this.runners.delete(syncId);
        }),
      start: (syncId) => at(() => void this.started.set(syncId, this.started.get(syncId) ?? this.clock.now())),
      timesOf: (syncId) => at(() => this.timesOf(syncId)),
      progressOf: (syncId, families) =>
        at(() => {
          const jobs = families.map((family) => this.jobs.get(`${syncId}.${family}`));
          return new Map(jobs.flatMap((job) => (job === undefined ? [] : [[job.name, job.progress]])));
        }),
      keep: (syncId, family, progress) =>
        at(() => {
          const job = this.jobs.get(`${syncId}.${family}`);
          if (job !== undefined) job.progress = progress;
        }),
      ends: ({ syncId, families }) =>
        at(() => {
          const ends = new Map<string, KeptEnd>();
          for (const family of families) {
            const job = this.jobs.get(`${syncId}.${family}`);
            if (job?.state === "completed") ends.set(family, { progress: job.result, failure: null });
            if (job?.state === "failed") ends.set(family, { progress: job.progress, failure: job.failure ?? "" });
          }
          return ends;
        }),
    };
  }

  triggers(config: Config): Triggers {
    const find = (runId: string): AskedSync | null => {
      const sync = this.syncs.get(runId);
      const publish = this.jobs.get(runId);
      if (sync === undefined || publish === undefined) return this.stored.get(runId) ?? null;
      const base = { runId, profile: config.profile, askedAt: sync.askedAt, report: null, error: null };
      if (this.isLive(runId)) {
        const life = this.lifeOf(runId);
        const { leftMs } = timeLeftOf(this.timesOf(runId), config.syncTimeoutMs);
        const dueAt = leftMs === null ? null : this.clock.now() + leftMs;
        return { ...base, state: shownState(life), error: life === "expired" ? LATE : null, dueAt, progress: null };
      }
      if (publish.state === "failed") return { ...base, state: "failed" };
      const { report, problem, cancelled } = syncOutcome.parse(publish.result);
      return { ...base, state: cancelled ? "cancelled" : endedState(report.status), report, error: problem };
    };
    const start = (ask: SyncAsk) => {
      const sync = payloadOf(ask, config, this.clock.now(), this.random);
      const earlier = this.keys.get(ask.idempotencyKey ?? "");
      if (earlier !== undefined && find(earlier) !== null) return { runId: earlier, joined: true };
      const live = [...this.syncs.values()].filter(
        ({ syncId }) =>
          this.isLive(syncId) &&
          !this.marks.has(`cancelled ${syncId}`) &&
          (this.due.get(syncId) ?? Number.POSITIVE_INFINITY) > this.clock.now(),
      );
      const there = live.find((other) => joins(ask, sync, { ...other, started: this.started.has(other.syncId) }));
      const dueAt = typeof ask.timeoutMs === "number" ? this.clock.now() + ask.timeoutMs : null;
      if (there === undefined) {
        this.add(sync);
        if (dueAt !== null) this.due.set(sync.syncId, dueAt);
      } else if (!this.started.has(there.syncId)) {
        const later = laterOf(this.due.get(there.syncId) ?? null, dueAt);
        if (later === null) this.due.delete(there.syncId);
        else this.due.set(there.syncId, later);
      }
      const { syncId: runId } = there ?? sync;
      this.keys.set(ask.idempotencyKey ?? "", runId);
      return { runId, joined: there !== undefined };
    };
    const at = async <T>(work: () => T): Promise<T> => {
      await this.hop();
      return work();
    };
    return {
      start: (ask) => at(() => start(ask)),
      find: (runId) => at(() => find(runId)),
      cancel: (runId) =>
        at(() => {
          if (!this.isLive(runId)) return false;
          this.marks.add(`cancelled ${runId}`);
          return true;
        }),
      active: async () => [],
    };
  }
}

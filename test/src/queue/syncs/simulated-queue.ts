// A queue as BullMQ and Redis behave, in memory and under virtual time: jobs with locks, redelivery, marks, and triggers.
// It can be away, be emptied, and lose locks.
import type { Clock } from "../../../../src/core/clock.ts";
import type { Config } from "../../../../src/core/config/config.ts";
import { DuckmirrorError } from "../../../../src/core/errors.ts";
import type { RequestedState, RequestedSync, TriggerRequest } from "../../../../src/core/report/triggers.ts";
import type { SyncMarks, SyncTimes } from "../../../../src/queue/redis/marks.ts";
import { keptSync, type SyncPayload, syncOutcome } from "../../../../src/queue/requests/job-payloads.ts";
import {
  endedState,
  laterDeadline,
  mayJoin,
  payloadOf,
  type Triggers,
} from "../../../../src/queue/requests/sync-requests.ts";
import { LATE, openState, timeLeftOf } from "../../../../src/queue/syncs/sync-life.ts";

export const LOCK_MS = 15_000;

export interface SimJob {
  readonly id: string;
  readonly data: unknown;
  readonly timestamp: number;
  progress: unknown;
  state: "waiting" | "active" | "delayed" | "completed" | "failed";
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
  readonly keys = new Map<string, string>();
  /** Sync -> its first start, and its deadline. */
  readonly started = new Map<string, number>();
  readonly due = new Map<string, number>();
  away = false;
  /** Runs as the mirror keeps them: what Redis forgot is looked up here. */
  readonly stored = new Map<string, RequestedSync>();
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
    for (const map of [this.jobs, this.syncs, this.keys, this.started, this.due]) map.clear();
    this.marks.clear();
  }

  add(sync: SyncPayload): void {
    this.jobs.set(sync.syncId, {
      id: sync.syncId,
      data: sync,
      timestamp: this.clock.now(),
      progress: 0,
      state: "waiting",
      readyAt: 0,
      token: null,
      lockedUntil: 0,
      deliveries: 0,
      result: null,
      failure: null,
    });
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
  }

  mustHold(job: SimJob, token: string): void {
    if (this.jobs.get(job.id) !== job || job.token !== token || job.state !== "active") throw new Error("Missing lock");
  }

  isLive(syncId: string): boolean {
    const job = this.jobs.get(syncId);
    return job !== undefined && !ENDED.includes(job.state);
  }

  stateOf(syncId: string): RequestedState {
    return openState(this.timesOf(syncId), this.marks.has(`cancelled ${syncId}`));
  }

  timesOf(syncId: string): SyncTimes {
    const startedAt = this.started.get(syncId) ?? null;
    return { now: this.clock.now(), startedAt, dueAt: this.due.get(syncId) ?? null };
  }

  syncMarks(alive: () => Promise<void>): SyncMarks {
    const at = async <T>(work: () => T): Promise<T> => {
      await alive();
      await this.hop();
      const done = work();
      await alive();
      return done;
    };
    return {
      isCancelled: (syncId) => at(() => this.marks.has(`cancelled ${syncId}`)),
      start: (syncId) => at(() => void this.started.set(syncId, this.started.get(syncId) ?? this.clock.now())),
      timesOf: (syncId) => at(() => this.timesOf(syncId)),
    };
  }

  triggers(config: Config): Triggers {
    const find = (runId: string): RequestedSync | null => {
      const sync = this.syncs.get(runId);
      const job = this.jobs.get(runId);
      if (sync === undefined || job === undefined) return this.stored.get(runId) ?? null;
      const base = { runId, profile: config.profile, askedAt: sync.askedAt, report: null, error: null };
      if (this.isLive(runId)) {
        const state = this.stateOf(runId);
        const { leftMs } = timeLeftOf(this.timesOf(runId), config.syncTimeoutMs);
        const dueAt = leftMs === null ? null : this.clock.now() + leftMs;
        return { ...base, state, error: state === "stopped" ? LATE : null, dueAt, progress: null };
      }
      const kept = job.state === "failed" ? keptSync.safeParse(job.progress).data?.outcome : undefined;
      if (job.state === "failed" && kept == null) return { ...base, state: "failed" };
      const { report, problem, cancelled } = kept ?? syncOutcome.parse(job.result);
      return { ...base, state: cancelled ? "cancelled" : endedState(report.status), report, error: problem };
    };
    const start = (ask: TriggerRequest) => {
      const sync = payloadOf(ask, config, this.clock.now(), this.random);
      const earlier = this.keys.get(ask.idempotencyKey ?? "");
      if (earlier !== undefined && find(earlier) !== null) return { runId: earlier, joined: true };
      const live = [...this.syncs.values()].filter(
        ({ syncId }) =>
          this.isLive(syncId) &&
          !this.marks.has(`cancelled ${syncId}`) &&
          (this.due.get(syncId) ?? Number.POSITIVE_INFINITY) > this.clock.now(),
      );
      const there = live.find((other) => mayJoin(ask, sync, { ...other, started: this.started.has(other.syncId) }));
      const dueAt = typeof ask.timeoutMs === "number" ? this.clock.now() + ask.timeoutMs : null;
      if (there === undefined) {
        this.add(sync);
        if (dueAt !== null) this.due.set(sync.syncId, dueAt);
      } else if (!this.started.has(there.syncId)) {
        const later = laterDeadline(this.due.get(there.syncId) ?? null, dueAt);
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

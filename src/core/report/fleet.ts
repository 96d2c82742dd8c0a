// Types of the fleet as operators see it: queues, workers, and what is paused. `duckmirror jobs`, the worker's server and the metrics show
// it. Times are ms since the epoch by Redis's clock. PURE.

/** A queue in Redis. */
export interface QueueState {
  readonly name: string;
  /** Jobs that the next free worker may take. */
  readonly waiting: number;
  readonly active: number;
  readonly delayed: number;
  /** Jobs that wait for other jobs of their sync. */
  readonly blocked: number;
  /** Dead letters. */
  readonly failed: number;
  readonly paused: boolean;
  /** Time since the oldest waiting job was added, ms; null: none waits. */
  readonly oldest_waiting_ms: number | null;
}

/** A worker process's description of itself. */
export interface MemberIdentity {
  readonly version: string;
  readonly host: string;
  readonly pid: number;
}

/** A profile that a worker cannot sync, and why. */
export interface UnableProfile {
  readonly profile: string;
  readonly code: string;
  readonly message: string;
  readonly hint: string;
}

/** A worker process in the register. */
export interface Member extends MemberIdentity {
  readonly id: string;
  /** The newest version of payloads in the queue that it reads. */
  readonly reads: number;
  /** Start of the process's work. */
  readonly since: number;
  /** Last sign of life. */
  readonly seen_at: number;
  /** Its running syncs. */
  readonly in_flight: number;
  /** Profiles of its configuration that it cannot sync. */
  readonly unable: readonly UnableProfile[];
}

/** A member, as shown. */
export interface SeenMember extends Member {
  /** Time since its last sign of life if it may be lost, ms; null: it is alive. */
  readonly silent_ms: number | null;
}

export const PAUSE_KINDS = ["fleet", "profile", "queue"] as const;

/** Something an operator paused. */
export interface Pause {
  readonly kind: (typeof PAUSE_KINDS)[number];
  /** Profile or queue; null for the fleet. */
  readonly name: string | null;
  /** null: unknown, because another program paused the queue. */
  readonly since: number | null;
}

export interface Fleet {
  readonly now: number;
  readonly queues: readonly QueueState[];
  readonly members: readonly SeenMember[];
  readonly paused: readonly Pause[];
}

/** A member without a sign of life for this long may be lost, ms: three renewals. */
const SILENT_MS = 15_000;

export const asSeen = (member: Member, now: number): SeenMember => {
  const silentMs = now - member.seen_at;
  return { ...member, silent_ms: silentMs > SILENT_MS ? silentMs : null };
};

/** State -> number of jobs of syncs and verifications, over all their queues. */
export const jobsByState = ({ queues }: Fleet): Readonly<Record<string, number>> => {
  const sumOf = (state: "waiting" | "active" | "delayed" | "blocked" | "failed") =>
    queues.reduce((sum, queue) => sum + queue[state], 0);
  return {
    waiting: sumOf("waiting"),
    active: sumOf("active"),
    delayed: sumOf("delayed"),
    "waiting-children": sumOf("blocked"),
    failed: sumOf("failed"),
  };
};

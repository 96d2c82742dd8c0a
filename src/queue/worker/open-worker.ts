// Opens what a worker with Redis uses: two connections, the queues, triggers, and the shared marks of syncs (marks.ts).
// `release` closes them, even while Redis does not answer.

import { randomUUID } from "node:crypto";
import type { SessionDeps } from "../../../jobs/session.ts";
import type { RedisConnection } from "../../budget/store/redis-connection.ts";
import { endsWithin } from "../../core/async/waiting.ts";
import type { Clock } from "../../core/clock.ts";
import type { Config } from "../../core/config/config.ts";
import { DuckmirrorError, detailOf, isCode, withHint } from "../../core/errors.ts";
import type { MemberIdentity, UnableProfile } from "../../core/report/fleet.ts";
import { isTakenAway } from "../../core/report/problem.ts";
import type { Scrubber, Secret } from "../../core/secret.ts";
import { noTracer, type Tracer } from "../../core/tracing.ts";
import { CHECK_MS } from "../alerts/local.ts";
import type { DeliveryDeps } from "../deliveries/local.ts";
import { createSyncMarks } from "../redis/marks.ts";
import { openCommandConnection, openConsumerConnection, redisFailure } from "../redis/queue-connections.ts";
import { closeQueues, openQueues } from "../redis/queues.ts";
import { tracedTriggers } from "../requests/sync-requests.ts";
import { createQueuedTriggers } from "../syncs/redis/queued-triggers.ts";
import type { Verify } from "../verifications/local.ts";

// Types of the things that a worker with Redis needs, and its intervals and time limits.

export interface WorkerDeps {
  readonly redisUrl: Secret;
  readonly profiles: readonly Config[];
  /** How this process appears in the register of the fleet. */
  readonly identity: MemberIdentity;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly scrubber: Pick<Scrubber, "scrub">;
  /** Writes to the log. */
  readonly log: (level: "info" | "warn" | "error", text: string) => void;
  /** Runs the engine; this connection shares rate and credits with other processes. */
  readonly run: (connection: RedisConnection) => SessionDeps["run"];
  /** Runs verifications over the same connection. */
  readonly verify: (connection: RedisConnection) => Verify;
  readonly emit: SessionDeps["emit"];
  readonly tracer?: Tracer;
  /** Opens destinations; unset: by kind. */
  readonly open?: DeliveryDeps["open"];
  /** Profiles that this worker cannot sync now; unset: none. */
  readonly unable?: () => readonly UnableProfile[];
  /** Times in ms; the defaults are for production. */
  readonly times?: Partial<WorkerTimes>;
}

interface WorkerTimes {
  /** Time without renewal after which a worker has lost its job. */
  readonly lock: number;
  /** Interval of the check for lost jobs. */
  readonly stalledCheck: number;
  /** Interval of the check for cancelled syncs. */
  readonly cancelCheck: number;
  /** Interval at which this worker's runs give a sign of life. */
  readonly heartbeat: number;
  /** Interval at which the process renews its entry in the register of the fleet, and the entry's lifetime. */
  readonly memberRenewal?: number;
  readonly memberLife?: number;
  /** Interval for comparing schedules with the configuration. */
  readonly scheduleCheck: number;
  /** Wait after the first failed attempt of a delivery. */
  readonly deliveryWait?: number;
  /** Interval at which every alert rule is evaluated. */
  readonly alertCheck: number;
  /** Time limit for ending running work when the worker stops. */
  readonly stop: number;
}

const TIMES: WorkerTimes = {
  lock: 15_000,
  stalledCheck: 10_000,
  cancelCheck: 100,
  heartbeat: 2_000,
  scheduleCheck: 60_000,
  alertCheck: CHECK_MS,
  stop: 9_000,
};

// Logs Redis's failures for a worker, in duckmirror's words, and logs when Redis answers again. While Redis is away there are
// several failures per second, so it logs only at intervals.

/** Shortest time between two log lines about the same, ms. */
const COMPLAIN_EVERY_MS = 30_000;

/** Texts of ioredis and codes of sockets for a connection that is not there. */
const AWAY =
  /isn't writeable|Connection is closed|Command timed out|\b(ECONN\w+|EPIPE|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|E(HOST|NET)UNREACH)\b/;
/** A failover turned the server into a replica, in the middle of a command or before it. */
const REPLICA = /\bREADONLY\b|instance state changed/;
const FULL = /OOM command not allowed/;
/** BullMQ names the job whose lock is gone. */
const LOST_JOB = /(?:Missing (?:lock|key)|could not renew lock) for job (\S+?)\.?(?:\s|$)/;

interface Complaint {
  /** Subject of the failure: failures with the same one become one line. */
  readonly about: string;
  readonly level: "warn" | "error";
  readonly text: string;
}

const complaintOf = (error: unknown, connection: RedisConnection): Complaint => {
  const detail = detailOf(error);
  const job = LOST_JOB.exec(detail)?.[1];
  if (job !== undefined || isTakenAway(error)) {
    const text = `job ${job ?? "(unknown)"} is not this worker's any more: Redis or this process had stopped, or the job is gone. If it is still there, a worker continues it.`;
    return { about: `job ${job}`, level: "warn", text };
  }
  if (REPLICA.test(detail)) {
    const { code, message, hint } = new DuckmirrorError("REDIS_REPLICA", { address: connection.address });
    const text = `${code}: ${message} Syncs continue when its address leads to a primary server again. Else: ${hint}`;
    return { about: "replica", level: "warn", text };
  }
  const failure = FULL.test(detail) || AWAY.test(detail) ? redisFailure(connection, error) : error;
  if (isCode(failure, "REDIS_UNAVAILABLE")) {
    const text = `${failure.message}. Syncs continue when it is back; until then requests for syncs fail.`;
    return { about: "away", level: "warn", text };
  }
  if (isCode(failure, "REDIS_FULL")) {
    return { about: "full", level: "error", text: `${failure.code}: ${withHint(failure)}` };
  }
  return { about: detail, level: "warn", text: `Redis: ${detail}` };
};

/** Logs failures of Redis; and, once, when it answers again. */
const createComplaints = ({ clock, scrubber, log }: WorkerDeps, connection: RedisConnection) => {
  const complained = new Map<string, number>();
  let isAway = false;
  connection.redis.on("ready", () => {
    if (isAway) log("info", `Redis at ${connection.address} answers again`);
    isAway = false;
    complained.delete("away");
  });
  return (error: unknown): void => {
    const { about, level, text } = complaintOf(error, connection);
    isAway ||= about === "away" && connection.redis.status !== "ready";
    const last = complained.get(about);
    if (last !== undefined && clock.now() - last < COMPLAIN_EVERY_MS) return;
    complained.set(about, clock.now());
    log(level, scrubber.scrub(text));
  };
};

/** Time limit for what waits for Redis when the worker stops, ms. */
export const CLOSING_MS = 500;

/** Opens all of it. Throws REDIS_UNAVAILABLE and the other refusals of `checkRedis`. */
export const openWorker = async (deps: WorkerDeps) => {
  const { profiles, clock, random, log, redisUrl, tracer = noTracer } = deps;
  const times = { ...TIMES, ...deps.times };
  const asking = await openCommandConnection(redisUrl, (text) => log("warn", text));
  const complain = createComplaints(deps, asking);
  const queues = openQueues(asking.redis, complain);
  const queued = createQueuedTriggers({ connection: asking, queues, profiles, clock, random });
  const triggers = tracedTriggers(queued, tracer);
  const working = openConsumerConnection(redisUrl, complain);
  const workerId = randomUUID();
  const marks = createSyncMarks(asking);
  /** Has a time limit, because commands of BullMQ wait for Redis without one. */
  const release = async (): Promise<void> => {
    await endsWithin(closeQueues(queues), CLOSING_MS, clock).catch(complain);
    working.end();
    await asking.close();
  };
  return { times, complain, asking, working, queues, triggers, workerId, marks, release };
};

export type OpenWorker = Awaited<ReturnType<typeof openWorker>>;

// Types of the things that a worker with Redis needs, and its intervals and time limits.
import type { SessionDeps } from "../../../jobs/session.ts";
import type { RedisConnection } from "../../budget/store/redis-connection.ts";
import type { Clock } from "../../core/clock.ts";
import type { Config } from "../../core/config/config.ts";
import type { MemberIdentity, UnableProfile } from "../../core/report/fleet.ts";
import type { Scrubber, Secret } from "../../core/secret.ts";
import type { Tracer } from "../../core/tracing.ts";
import { CHECK_MS } from "../alerts/alert-pass.ts";
import type { DeliveryDeps } from "../deliveries/delivery.ts";
import type { Verify } from "../verifications/verification.ts";

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

export const TIMES: WorkerTimes = {
  lock: 15_000,
  stalledCheck: 10_000,
  cancelCheck: 100,
  heartbeat: 2_000,
  scheduleCheck: 60_000,
  alertCheck: CHECK_MS,
  stop: 9_000,
};

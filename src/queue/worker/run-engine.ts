// Runs the engine for a worker's session, with the profile's token and the worker's connection to the service.
import type { OpenAccess } from "../../../jobs/service-access.ts";
import { type SessionDeps, WORKER_GRACE_MS } from "../../../jobs/session.ts";
import { syncJob } from "../../../jobs/sync.ts";
import { VERIFY_CREDITS, VERIFY_SAMPLE, verifyJob } from "../../../jobs/verify.ts";
import type { Clock } from "../../core/clock.ts";
import type { Config } from "../../core/config/config.ts";
import { resolveToken } from "../../core/config/secrets.ts";
import {
  type ProgressEvent,
  progressAfter,
  progressAtStart,
  type SyncProgress,
} from "../../core/report/sync-progress.ts";
import { orBroken } from "../../core/report/sync-report.ts";
import type { Scrubber } from "../../core/secret.ts";
import type { Tracer } from "../../core/tracing.ts";
import type { SeenMirrors } from "../../warehouse/file/empty-mirror.ts";
import type { Verify } from "../verifications/local.ts";

// Progress of the syncs that run in this process.

export interface ProgressBook {
  /** Runs the engine like `run`, and records its progress. */
  readonly run: SessionDeps["run"];
  /** Records an event of a run. */
  readonly note: (event: ProgressEvent, syncId: string) => void;
  /** Sync -> its progress, for syncs that run in this process now. A call counts as a sign of life. */
  readonly all: () => ReadonlyMap<string, SyncProgress>;
}

export const createProgressBook = (run: SessionDeps["run"], clock: Pick<Clock, "now">): ProgressBook => {
  const running = new Map<string, SyncProgress>();
  return {
    run: async (profile, request, context) => {
      const syncId = request.runId ?? "";
      running.set(syncId, progressAtStart(clock.now()));
      try {
        return await run(profile, request, context);
      } finally {
        running.delete(syncId);
      }
    },
    note: (event, syncId) => {
      const known = running.get(syncId);
      if (known !== undefined) running.set(syncId, progressAfter(known, event));
    },
    all: () => new Map([...running].map(([id, progress]) => [id, { ...progress, heartbeat_at: clock.now() }])),
  };
};

export interface EngineDeps {
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly version: string;
  readonly scrubber: Pick<Scrubber, "hide">;
  /** Connection to the service; unset: from this process alone. */
  readonly connect?: OpenAccess;
  readonly tracer?: Tracer;
  /** Keeps a mirror that vanished from being made anew; unset: it is made anew. */
  readonly mirrors?: SeenMirrors;
}

const unguarded: SeenMirrors = { guard: (_, work) => work() };

/** Inputs of jobs. The token is read for each run, so that keys can be rotated while the worker runs. */
const contextOf = async (profile: Config, { scrubber, mirrors: _, ...deps }: EngineDeps) => {
  const token = await resolveToken(profile);
  scrubber.hide(token);
  return { ...deps, token, graceMs: WORKER_GRACE_MS };
};

/** Function with which sessions start the engine. */
export const engineRunner =
  (deps: EngineDeps): SessionDeps["run"] =>
  async (profile, request, context) => {
    const { mirrors = unguarded } = deps;
    const given = { ...(await contextOf(profile, deps)), ...context };
    return mirrors.guard(profile.dataDir, () => orBroken(syncJob(profile, request, given)));
  };

/** Function for a worker's verifications: `duckmirror verify` with its defaults. Repairs nothing. */
export const engineVerifier =
  (deps: EngineDeps): Verify =>
  async (profile, runId, context) => {
    const { mirrors = unguarded } = deps;
    const given = { ...(await contextOf(profile, deps)), ...context };
    const request = {
      runId,
      streams: [],
      maxCredits: Math.min(profile.maxCredits ?? VERIFY_CREDITS, VERIFY_CREDITS),
      sample: VERIFY_SAMPLE,
      repair: false,
      allowMassDelete: false,
    };
    return mirrors.guard(profile.dataDir, () => verifyJob(profile, request, given));
  };

// How a session of a worker runs the engine: with the profile's token, through the worker's way to the service.
import type { Connect } from "../../jobs/connection.ts";
import type { SessionDeps } from "../../jobs/session.ts";
import { syncJob } from "../../jobs/sync.ts";
import { VERIFY_CREDITS, VERIFY_SAMPLE, verifyJob } from "../../jobs/verify.ts";
import type { Clock } from "../core/clock.ts";
import type { Config } from "../core/config/config.ts";
import { resolveToken } from "../core/config/token.ts";
import type { Scrubber } from "../core/secret.ts";
import type { Tracer } from "../core/tracing.ts";
import type { Verify } from "./verifications.ts";

export interface EngineDeps {
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly version: string;
  readonly scrubber: Pick<Scrubber, "hide">;
  /** How requests get to the service; unset: from this process alone. */
  readonly connect?: Connect;
  readonly tracer?: Tracer;
}

/** How long requests on the wire are waited for once a run ends, ms: less than a worker that stops takes. */
const GRACE_MS = 6_000;

/** What jobs are given. The token is read for each run: keys can be rotated while the worker lives. */
const contextOf = async (profile: Config, { scrubber, ...deps }: EngineDeps) => {
  const token = await resolveToken(profile);
  scrubber.hide(token);
  return { ...deps, token, graceMs: GRACE_MS };
};

/** The engine, as sessions start it. */
export const engineRunner =
  (deps: EngineDeps): SessionDeps["run"] =>
  async (profile, request, { signal, hardSignal, emit }) =>
    syncJob(profile, request, { ...(await contextOf(profile, deps)), signal, hardSignal, emit });

/** Verifications as a worker makes them: what `duckmirror verify` does when nothing more is said. Repairs nothing. */
export const engineVerifier =
  (deps: EngineDeps): Verify =>
  async (profile, runId, { signal, hardSignal, emit }) =>
    verifyJob(
      profile,
      {
        runId,
        streams: [],
        maxCredits: Math.min(profile.maxCredits ?? VERIFY_CREDITS, VERIFY_CREDITS),
        sample: VERIFY_SAMPLE,
        repair: false,
        allowMassDelete: false,
      },
      { ...(await contextOf(profile, deps)), signal, hardSignal, emit },
    );

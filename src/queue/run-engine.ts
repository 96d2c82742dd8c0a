// How a session of a worker runs the engine: with the profile's token, through the worker's way to the service.
import type { Connect } from "../../jobs/connection.ts";
import type { SessionDeps } from "../../jobs/session.ts";
import { syncJob } from "../../jobs/sync.ts";
import type { Clock } from "../core/clock.ts";
import type { Scrubber } from "../core/secret.ts";
import { resolveToken } from "../core/token.ts";

/** The engine, as sessions start it. The token is read for each run: keys can be rotated while the worker lives. */
export const engineRunner =
  (deps: {
    readonly clock: Clock;
    /** In [0, 1). */
    readonly random: () => number;
    readonly version: string;
    readonly scrubber: Pick<Scrubber, "hide">;
    /** How requests get to the service; unset: from this process alone. */
    readonly connect?: Connect;
  }): SessionDeps["run"] =>
  async (profile, request, { signal, hardSignal, emit }) => {
    const { clock, random, version, scrubber, connect } = deps;
    const token = await resolveToken(profile);
    scrubber.hide(token);
    const context = { clock, random, version, token, signal, hardSignal, emit };
    return syncJob(profile, request, connect === undefined ? context : { ...context, connect });
  };

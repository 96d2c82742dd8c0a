// Which profiles of a worker cannot sync, by what can be checked without a request: at the start all of them, then every
// minute those that could not. One broken profile keeps no other from running.
import { checkProfileJob } from "../../../jobs/check-profile.ts";
import { mapAtOnce } from "../../core/async/map-at-once.ts";
import type { Config } from "../../core/config/config.ts";
import type { Logger } from "../../core/log.ts";
import type { UnableProfile } from "../../core/report/fleet.ts";
import { problemOf } from "../../core/report/problem.ts";
import type { CommandContext } from "../command.ts";

const AGAIN_MS = 60_000;
/** Profiles checked at once: each may run a `token_command`. */
const AT_ONCE = 8;

export interface ProfileWatch {
  /** Profiles that cannot sync now, in the order of the configuration. */
  unable(): readonly UnableProfile[];
}

/** Checks all profiles until `signal` aborts. Throws the first profile's problem if none of them can sync. */
export const watchProfiles = async (
  profiles: readonly Config[],
  logger: Pick<Logger, "error" | "info">,
  { clock, version, scrubber, signal }: Pick<CommandContext, "clock" | "version" | "scrubber" | "signal">,
): Promise<ProfileWatch> => {
  const problems = new Map<string, unknown>();

  const check = async (config: Config): Promise<void> => {
    const { profile } = config;
    try {
      scrubber.hide(await checkProfileJob(config, { clock, version }));
      if (problems.delete(profile)) logger.info(`profile ${profile} can sync again`);
    } catch (error) {
      const known = problems.get(profile);
      problems.set(profile, error);
      const { code, message, hint } = problemOf(error);
      const isNew = known === undefined || problemOf(known).message !== message;
      if (isNew && profiles.length > 1) logger.error(`profile ${profile} cannot sync: ${code}: ${message} ${hint}`);
    }
  };
  const checkAll = (wanted: readonly Config[]) => mapAtOnce(wanted, AT_ONCE, check);
  const keepChecking = async (): Promise<void> => {
    while (problems.size > 0 && !signal.aborted) {
      await clock.sleep(AGAIN_MS, signal).catch(() => undefined);
      if (!signal.aborted) await checkAll(profiles.filter(({ profile }) => problems.has(profile)));
    }
  };

  await checkAll(profiles);
  const [first] = profiles;
  if (first !== undefined && problems.size === profiles.length) throw problems.get(first.profile);
  void keepChecking();
  return {
    unable: () =>
      profiles.flatMap(({ profile }) =>
        problems.has(profile) ? [{ profile, ...problemOf(problems.get(profile)) }] : [],
      ),
  };
};

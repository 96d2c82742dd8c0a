// Profiles for the server: `servedProfile` gives `serve` and `worker` what the page and the API may do with each (plan, follow, feedback).
// For `worker` also, checks without a request which profiles can sync, and the next sync by schedule.
import { alertFigures } from "../../../jobs/alerts.ts";
import { checkProfileJob } from "../../../jobs/check.ts";
import { feedbackJob } from "../../../jobs/feedback.ts";
import { followingJob, followJob, unfollowJob } from "../../../jobs/following.ts";
import { planJson, planSnapshotJob } from "../../../jobs/plan.ts";
import { isStreamName } from "../../catalog/streams.ts";
import { mapAtOnce } from "../../core/async/concurrency.ts";
import type { Config } from "../../core/config/config.ts";
import { nextRun, parseCron } from "../../core/config/schedules/cron.ts";
import { snapshotPath } from "../../core/data-dir.ts";
import { DuckmirrorError, withHint } from "../../core/errors.ts";
import type { JsonObject } from "../../core/json.ts";
import type { Logger } from "../../core/log.ts";
import type { UnableProfile } from "../../core/report/fleet.ts";
import { problemOf, withCode } from "../../core/report/problem.ts";
import { readProgress } from "../../core/state/progress-file.ts";
import { deliveryStates } from "../../deliver/delivery-results.ts";
import type { ServedProfile } from "../../server/http/server-context.ts";
import { openTrail } from "../../warehouse/audit/trail.ts";
import type { CliDeps, CommandContext } from "../command.ts";
import { serviceContext } from "../context.ts";

// Which profiles of a worker cannot sync, by what can be checked without a request: at the start all of them, then every
// minute those that could not. One broken profile keeps no other from running.

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
      const problem = withCode(error);
      const isNew = known === undefined || withCode(known).message !== problem.message;
      if (isNew && profiles.length > 1)
        logger.error(`profile ${profile} cannot sync: ${problem.code}: ${withHint(problem)}`);
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

const plainJson = (value: Readonly<Record<string, unknown>>): JsonObject => JSON.parse(JSON.stringify(value));

/** When the schedule of a profile starts its next sync, ms since the epoch; null: no schedule does. */
export const nextSyncOf = ({ schedules }: Config, now: number): number | null => {
  const times = schedules.flatMap(({ cron, timeZone }) => nextRun(parseCron(cron), timeZone, now) ?? []);
  return times.length === 0 ? null : Math.min(...times);
};

/** The configuration with another choice of lists; none: its own. Throws USAGE. */
const withStreams = (config: Config, streams: readonly string[]): Config => {
  if (streams.length === 0) return config;
  const unknown = streams.find((name) => !isStreamName(name));
  if (unknown !== undefined) throw new DuckmirrorError("USAGE", { detail: `${unknown} is not a list` });
  return { ...config, streams };
};

/** Feedback needs an address and a token of the service. */
export const servedProfile = (
  config: Config,
  context: Pick<CliDeps, "clock" | "version" | "scrubber" | "signal">,
  warn: (text: string) => void,
): ServedProfile => ({
  name: config.profile,
  snapshot: snapshotPath(config.dataDir),
  ratePerMinute: config.rateLimitPerMinute,
  settings: () => config.shownSettings,
  progress: () => readProgress(config.dataDir, context.clock.now()),
  audit: openTrail({ dataDir: config.dataDir, ...config.audit, clock: context.clock, warn }),
  ...(config.alerts.length === 0 ? {} : { alerts: () => alertFigures(config) }),
  ...(config.destinations.length === 0 ? {} : { deliveries: () => deliveryStates(config) }),
  following: {
    list: () => followingJob(config),
    add: (inputs) => followJob(config, inputs, context.clock),
    remove: (inputs, erase) => unfollowJob(config, inputs, { erase, clock: context.clock }),
  },
  plan: async (withContent, streams) =>
    planJson(await planSnapshotJob(withStreams(config, streams), { withContent }, context.clock)),
  ...(config.streams === null ? {} : { streams: config.streams }),
  ...(config.baseUrl === null || config.token === null
    ? {}
    : {
        sendFeedback: async ({ message, rating = null, category = null, context: about }) => {
          const service = await serviceContext(config, context);
          const feedback = { message, rating, category, context: about === undefined ? null : plainJson(about) };
          return feedbackJob(config, feedback, { ...service, warn });
        },
      }),
});

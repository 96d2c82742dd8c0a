// A profile of the configuration in the server's form, for `serve` and `worker`.
import { alertFigures } from "../../../jobs/alerts.ts";
import { feedbackJob } from "../../../jobs/feedback.ts";
import { followingJob, followJob, unfollowJob } from "../../../jobs/following.ts";
import { planJson, planSnapshotJob } from "../../../jobs/plan.ts";
import type { Config } from "../../core/config/config.ts";
import { resolveToken } from "../../core/config/secrets/token.ts";
import { snapshotPath } from "../../core/data-dir.ts";
import type { JsonObject } from "../../core/json.ts";
import { deliveryStates } from "../../deliver/notes.ts";
import type { ServedProfile } from "../../server/server-context.ts";
import { openTrail } from "../../warehouse/audit/trail.ts";
import type { CliDeps } from "../command.ts";

/** The next sync as a scheduler requests it: everything that is due. */
const NEXT_SYNC = { streams: [], full: false, maxDurationMs: null, allowMassDelete: false } as const;

const plainJson = (value: Readonly<Record<string, unknown>>): JsonObject => JSON.parse(JSON.stringify(value));

/** Feedback needs an address and a token of the service. */
export const servedProfile = (
  config: Config,
  {
    clock,
    version,
    scrubber,
    signal,
    warn,
  }: Pick<CliDeps, "clock" | "version" | "scrubber" | "signal"> & { readonly warn: (text: string) => void },
): ServedProfile => ({
  name: config.profile,
  snapshot: snapshotPath(config.dataDir),
  ratePerMinute: config.rateLimitPerMinute,
  audit: openTrail({ dataDir: config.dataDir, ...config.audit, clock, warn }),
  ...(config.alerts.length === 0 ? {} : { alerts: () => alertFigures(config) }),
  ...(config.destinations.length === 0 ? {} : { deliveries: () => deliveryStates(config) }),
  following: {
    list: () => followingJob(config),
    add: (inputs) => followJob(config, inputs, clock),
    remove: (inputs, erase) => unfollowJob(config, inputs, { erase, clock }),
  },
  plan: async (withContent) => planJson(await planSnapshotJob(config, { ...NEXT_SYNC, withContent }, clock)),
  ...(config.baseUrl === null || config.token === null
    ? {}
    : {
        sendFeedback: async ({ message, rating, category, context }) => {
          const token = await resolveToken(config);
          scrubber.hide(token);
          const about = context === undefined ? null : plainJson(context);
          const feedback = { message, rating: rating ?? null, category: category ?? null, context: about };
          return feedbackJob(config, feedback, { clock, random: Math.random, warn, version, token, signal });
        },
      }),
});

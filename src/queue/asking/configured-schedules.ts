// The schedules of the configuration, each with an id that its content decides.
import { validate } from "node-cron";
import type { Config } from "../../core/config/config.ts";
import { DuckmirrorError } from "../../core/errors.ts";
import { keyDigest } from "./asks.ts";

/** Schedules of all profiles. Throws CONFIG_INVALID for a cron expression that matches no time. */
export const schedulesOf = (profiles: readonly Config[]) =>
  profiles.flatMap(({ profile, schedules }) =>
    schedules.map((schedule) => {
      if (!validate(schedule.cron)) {
        throw new DuckmirrorError("CONFIG_INVALID", { detail: `schedule: "${schedule.cron}" is no cron expression` });
      }
      return { id: `${profile}.${keyDigest(JSON.stringify(schedule))}`, profile, schedule };
    }),
  );

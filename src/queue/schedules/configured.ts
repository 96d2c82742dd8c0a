// The schedules of the configuration, each with an id that its content decides.
import type { Config } from "../../core/config/config.ts";
import { keyDigest } from "../asking/asks.ts";

/** Schedules of all profiles. */
export const schedulesOf = (profiles: readonly Config[]) =>
  profiles.flatMap(({ profile, schedules }) =>
    schedules.map((schedule) => ({
      id: `${profile}.${keyDigest(JSON.stringify(schedule))}`,
      profile,
      schedule,
    })),
  );

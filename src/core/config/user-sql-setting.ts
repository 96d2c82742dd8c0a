// The setting `user_sql`: where SQL of users may run.
import { choice } from "./setting-parsers.ts";

export const USER_SQL = ["box", "off", "trusted"] as const;
export type UserSqlSetting = (typeof USER_SQL)[number];

export const userSqlSetting = choice(USER_SQL).prefault("box").meta({
  description:
    "SQL of users (`POST /api/query`, alert rules, the library): box: in a process that reaches nothing but the snapshot, or not at all; off: not at all; trusted: without a box where the system offers none.",
});

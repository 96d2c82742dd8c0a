// Runs one pass of an alert rule (`passOf`, with Redis and without), and keeps the rules of a worker without Redis: when a message is due
// again. Who triggers passes after a publish and every minute is the worker. A receiver that is away blocks no other rule.
import { alertsJob } from "../../../jobs/alerts.ts";
import type { Clock } from "../../core/clock.ts";
import type { Config } from "../../core/config/config.ts";
import { detailOf } from "../../core/errors.ts";
import { counted } from "../../core/text/units.ts";
import { createProfileTasks, type ProfileTasks } from "../requests/keyed-tasks.ts";

/** Most time between two passes of a rule, ms: data gets old while no sync runs. */
export const CHECK_MS = 60_000;
/** Least time between them, ms. */
const LEAST_MS = 1_000;

export interface AlertingDeps {
  readonly clock: Pick<Clock, "now">;
  readonly random: () => number;
  readonly log: (level: "info" | "warn" | "error", text: string) => void;
}

/** Last problem of each rule that was logged, so that each is logged once. */
export type Logged = Map<string, string>;

/** Runs a pass; returns the time to the next one, ms; null: the next check of the minute is early enough. Throws the reason of `signal`, ALERT_UNKNOWN, ALERTS_MISSING. */
export const passOf = async (
  config: Config,
  name: string,
  signal: AbortSignal,
  { clock, random, log }: AlertingDeps,
  logged: Logged,
): Promise<number | null> => {
  const [pass] = await alertsJob(config, [name], { clock, random, signal });
  const key = `${config.profile}.${name}`;
  // Another process is at it.
  if (pass === undefined || pass.error?.code === "ALERT_BUSY") return null;
  const { sent, dead, nextAt, error } = pass;
  if (sent > 0) log("info", `alert ${name}: sent ${counted(sent, "message")}`);
  if (dead > 0)
    log("error", `alert ${name}: ${counted(dead, "message")} given up; \`duckmirror alerts list\` shows why`);
  const text = error?.message ?? "";
  const level = error?.code === "ALERT_UNDELIVERED" ? "warn" : "error";
  if (text !== "" && text !== logged.get(key)) log(level, `alert ${name}: ${text}`);
  logged.set(key, text);
  const waitMs = nextAt === null ? CHECK_MS : Math.max(LEAST_MS, nextAt - clock.now());
  return waitMs < CHECK_MS ? waitMs : null;
};

export const createLocalAlerts = (deps: AlertingDeps & { readonly clock: Clock }): ProfileTasks => {
  const logged: Logged = new Map();
  return createProfileTasks(
    deps.clock,
    ({ alerts }) => alerts,
    (config, name) => (_attempt, signal) =>
      passOf(config, name, signal, deps, logged).catch((error: unknown) => {
        if (!signal.aborted) deps.log("error", `alert ${name}: ${detailOf(error)}`);
        return null;
      }),
  );
};

// Alerts of the worker without Redis: each rule has a loop of its own, so that a receiver that is away holds up no other. It
// makes a pass after each publish, when a message is due again, and once a minute.

import { alertsJob } from "../../../jobs/alerts.ts";
import type { Clock } from "../../core/clock.ts";
import type { Config } from "../../core/config/config.ts";
import { DuckmirrorError, detailOf } from "../../core/errors.ts";
import { counted } from "../../core/text/units.ts";

// One pass of an alert rule in a worker: what is logged of it, and when the next one is due.

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

/** Runs a pass; returns the time to the next one, ms. Throws the reason of `signal`, ALERT_UNKNOWN, ALERTS_MISSING. */
export const passOf = async (
  config: Config,
  name: string,
  signal: AbortSignal,
  { clock, random, log }: AlertingDeps,
  logged: Logged,
): Promise<number> => {
  const [pass] = await alertsJob(config, [name], { clock, random, signal });
  const key = `${config.profile}.${name}`;
  // Another process is at it.
  if (pass === undefined || pass.error?.code === "ALERT_BUSY") return CHECK_MS;
  const { sent, dead, nextAt, error } = pass;
  if (sent > 0) log("info", `alert ${name}: sent ${counted(sent, "message")}`);
  if (dead > 0)
    log("error", `alert ${name}: ${counted(dead, "message")} given up; \`duckmirror alerts list\` shows why`);
  const text = error?.message ?? "";
  const level = error?.code === "ALERT_UNDELIVERED" ? "warn" : "error";
  if (text !== "" && text !== logged.get(key)) log(level, `alert ${name}: ${text}`);
  logged.set(key, text);
  return nextAt === null ? CHECK_MS : Math.min(CHECK_MS, Math.max(LEAST_MS, nextAt - clock.now()));
};

export interface LocalAlerts {
  /** Asks for a pass of every rule of a profile; returns at once. */
  ask(config: Config): void;
  /** Ends what runs. */
  stop(): Promise<void>;
}

/** Wakes a loop that waits; a wake before it waits counts, too. */
const createBell = (clock: Clock, stopping: AbortSignal) => {
  let ringing = new AbortController();
  return {
    ring: () => ringing.abort(),
    /** Waits for `ms`, or until the bell rings, or the worker stops. */
    wait: async (ms: number): Promise<void> => {
      await clock.sleep(ms, AbortSignal.any([ringing.signal, stopping])).catch(() => undefined);
      ringing = new AbortController();
    },
  };
};

export const startLocalAlerts = (
  profiles: readonly Config[],
  deps: AlertingDeps & { readonly clock: Clock },
): LocalAlerts => {
  const { clock, log } = deps;
  const stopping = new AbortController();
  const { signal } = stopping;
  const bells = new Map<string, ReturnType<typeof createBell>[]>();
  const logged = new Map<string, string>();

  const loop = async (config: Config, name: string, bell: ReturnType<typeof createBell>): Promise<void> => {
    while (!signal.aborted) {
      const waitMs = await passOf(config, name, signal, deps, logged).catch((error: unknown) => {
        if (!signal.aborted) log("error", `alert ${name}: ${detailOf(error)}`);
        return CHECK_MS;
      });
      await bell.wait(waitMs);
    }
  };
  const loops = profiles.flatMap((config) =>
    config.alerts.map(({ name }) => {
      const bell = createBell(clock, signal);
      bells.set(config.profile, [...(bells.get(config.profile) ?? []), bell]);
      return loop(config, name, bell);
    }),
  );
  return {
    ask: ({ profile }) => {
      for (const bell of bells.get(profile) ?? []) bell.ring();
    },
    stop: async () => {
      stopping.abort(new DuckmirrorError("INTERRUPTED"));
      await Promise.all(loops);
    },
  };
};

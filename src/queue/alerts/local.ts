// Alerts of the worker without Redis: each rule has a loop of its own, so that a receiver that is away holds up no other. It
// makes a pass after each publish, when a message is due again, and once a minute.
import type { Clock } from "../../core/clock.ts";
import type { Config } from "../../core/config/config.ts";
import { DuckmirrorError, detailOf } from "../../core/errors.ts";
import { type AlertingDeps, CHECK_MS, passOf } from "./alert-pass.ts";

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

// Runs tasks by key (a destination, an alert rule) in one process: one at a time per key, a repeat after a failure, and requests that
// come while a task waits or runs become one more run. With Redis, BullMQ's deduplication with `keepLastIfActive`, its attempts and
// `postpone` do the same (redis/job-consumers.ts).
//
//   idle ─ask─▶ running ─done─▶ idle          running ─ask─▶ running, then once more
//                │     ▲
//                └ ms ─▶ waiting               a request adds nothing: the next run takes what is new by then
import type { Clock } from "../../core/clock.ts";
import type { Config } from "../../core/config/config.ts";
import { DuckmirrorError } from "../../core/errors.ts";

/** One round. `attempt`: 1-based since the last round that named no time. Returns ms until the next one; null: none is needed. */
export type KeyedTask = (attempt: number, signal: AbortSignal) => Promise<number | null>;

export interface KeyedTasks {
  /** Asks for a round of this key; returns at once. A round never rejects. */
  ask(key: string, round: KeyedTask): void;
  /** Ends what runs. */
  stop(): Promise<void>;
}

export const createKeyedTasks = (clock: Clock): KeyedTasks => {
  const running = new Map<string, { asked: boolean; ended: Promise<void> }>();
  const stopping = new AbortController();
  const { signal } = stopping;

  const carryOut = async (key: string, round: KeyedTask): Promise<void> => {
    let attempt = 1;
    for (let entry = running.get(key); entry?.asked === true && !signal.aborted; entry = running.get(key)) {
      entry.asked = false;
      const waitMs = await round(attempt, signal);
      attempt = waitMs === null ? 1 : attempt + 1;
      if (waitMs === null) continue;
      await clock.sleep(waitMs, signal).catch(() => undefined);
      entry.asked = true;
    }
    running.delete(key);
  };

  return {
    ask: (key, round) => {
      const there = running.get(key);
      if (there !== undefined) there.asked = true;
      else if (!signal.aborted) {
        // The first step runs after the entry is there.
        const ended = Promise.resolve().then(() => carryOut(key, round));
        running.set(key, { asked: true, ended });
      }
    },
    stop: async () => {
      stopping.abort(new DuckmirrorError("INTERRUPTED"));
      await Promise.all([...running.values()].map(({ ended }) => ended));
    },
  };
};

/** Work by key that a worker without Redis does for a profile. */
export interface ProfileTasks {
  /** Asks for a round of every key of the profile; returns at once. */
  ask(config: Config): void;
  /** Ends what runs. */
  stop(): Promise<void>;
}

/** `keysOf`: names of the keys in a profile. */
export const createProfileTasks = (
  clock: Clock,
  keysOf: (config: Config) => readonly { readonly name: string }[],
  roundOf: (config: Config, name: string) => KeyedTask,
): ProfileTasks => {
  const rounds = createKeyedTasks(clock);
  return {
    ask: (config) => {
      for (const { name } of keysOf(config)) rounds.ask(`${config.profile}.${name}`, roundOf(config, name));
    },
    stop: rounds.stop,
  };
};

/** Repeats a task every `ms` until the worker stops; a failure is reported, and the task is tried again. */
export const every = async (
  ms: number,
  task: () => unknown,
  {
    clock,
    stopping,
    onError,
  }: { readonly clock: Clock; readonly stopping: AbortSignal; onError(error: unknown): void },
): Promise<void> => {
  while (!stopping.aborted) {
    try {
      await task();
    } catch (error) {
      onError(error);
    }
    await clock.sleep(ms, stopping).catch(() => undefined);
  }
};

// A clock that moves only where everything waits: it jumps to the next timer when no request is on the wire and nothing
// happens. How fast the machine is does not show on it. Service and client share it, so a rate of ten a minute is kept
// in a moment and a wait of three hours shows at once.
import type { Clock } from "../../src/core/clock.ts";
import type { ServiceClock } from "./service.ts";

/** Turns of the event loop in which nothing may have happened before time moves: by a little, and by much. */
const TURNS = 4;
const MANY_TURNS = 12;
const LITTLE_MS = 2_000;

interface Sleeper {
  readonly at: number;
  readonly order: number;
  wake(): void;
}

export interface EventClock extends Clock, ServiceClock {
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Moves time on at once. */
  advance(ms: number): void;
  close(): void;
  /** The client sends a request, and has its answer. */
  wired<T>(request: () => Promise<T>): Promise<T>;
  /** The service waits with an answer. */
  readonly service: ServiceClock;
}

/**
 * `diskMs`: real time in which nothing may have happened besides, for runs that also wait for a disk. A jump that comes
 * too early is harmless: the disk was slow.
 */
export const createEventClock = (start: number, diskMs = 0): EventClock => {
  let at = start;
  let events = 0;
  let sleeping = 0;
  let wired = 0;
  let closed = false;
  const sleepers = new Set<Sleeper>();

  const jump = (): void => {
    const next = [...sleepers].sort((a, b) => a.at - b.at || a.order - b.order)[0];
    if (next === undefined) return;
    at = Math.max(at, next.at);
    sleepers.delete(next);
    touch();
    next.wake();
  };

  /** Waits some turns for something to happen, else jumps. */
  const look = (seen: number, turns: number): void => {
    // What happened meanwhile has its own look.
    if (closed || seen !== events || wired > sleeping) return;
    const next = Math.min(...[...sleepers].map((sleeper) => sleeper.at));
    if (turns >= (next - at > LITTLE_MS ? MANY_TURNS : TURNS)) jump();
    else if (diskMs > 0) setTimeout(look, diskMs, seen, turns + 1);
    else setImmediate(look, seen, turns + 1);
  };
  const touch = (): void => {
    events += 1;
    setImmediate(look, events, 0);
  };

  const sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const leave = () => {
        sleepers.delete(sleeper);
        reject(signal?.reason);
        touch();
      };
      const wake = () => {
        signal?.removeEventListener("abort", leave);
        resolve();
      };
      // Whole milliseconds, as the machine's timers.
      const sleeper = { at: at + Math.ceil(Math.max(0, ms)), order: events, wake };
      if (ms <= 0) setImmediate(wake);
      else sleepers.add(sleeper);
      signal?.addEventListener("abort", leave, { once: true });
      touch();
    });

  const clock = {
    now: () => at,
    touch,
    sleep,
    advance: (ms: number) => {
      at += ms;
    },
    close: () => {
      closed = true;
    },
  };
  return {
    ...clock,
    wired: async (request) => {
      wired += 1;
      try {
        return await request();
      } finally {
        wired -= 1;
        touch();
      }
    },
    service: {
      ...clock,
      sleep: async (ms) => {
        sleeping += 1;
        await sleep(ms).finally(() => {
          sleeping -= 1;
        });
      },
    },
  };
};

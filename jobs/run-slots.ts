// Limits how many runs of a worker work at once: each needs a slot. A run that only waits for its service lends its slot to another run,
// and continues at once when the service answers, so that an organization whose service hangs does not block the others.
//
//   waiting ─admit─▶ working ─no answer for QUIET_MS─▶ lending ─an answer, or nothing awaited─▶ working
//
// A lender continues without waiting for a free slot. So for a moment more runs may work than there are slots, at most `most` and
// LENT_PER_SLOT times `most`.
import type { Clock } from "../src/core/clock.ts";

/** Notes that a wait for the service begins. The returned function notes its end. */
export type BeginWait = () => () => void;

export interface RunSlots {
  /** Does the work when there is a slot, in order of arrival. The signal ends that wait, which throws its reason. */
  take<T>(signal: AbortSignal, work: (onWait: BeginWait) => Promise<T>): Promise<T>;
}

export interface RunSlotsDeps {
  readonly clock: Clock;
  /** Number of slots. */
  readonly most: number;
  /** Called when the number of lent slots changes. The caller may then start `most + lent` runs. */
  readonly onLent?: ((lent: number) => void) | undefined;
}

/** A run without an answer for this long lends its slot, ms. */
const QUIET_MS = 5_000;
/** Most lent slots per slot: a run keeps its warehouse open, which takes memory. */
const LENT_PER_SLOT = 3;

/** Counts the runs that work and the lent slots, and holds the runs that wait. */
interface Room {
  /** True once the run has a slot; false when the signal aborted first. */
  enter(signal: AbortSignal): Promise<boolean>;
  /** False: no more slots may be lent. */
  lend(): boolean;
  takeBack(): void;
  leave(): void;
}

const createRoom = (most: number, onLent: (lent: number) => void): Room => {
  let working = 0;
  let lent = 0;
  const waiting: (() => void)[] = [];

  /** Gives free slots to the runs that wait, in order of arrival. */
  const admit = (): void => {
    while (working < most) {
      const first = waiting.shift();
      if (first === undefined) return;
      working += 1;
      first();
    }
  };
  const change = (by: number) => {
    lent += by;
    working -= by;
    onLent(lent);
    admit();
  };

  return {
    enter: (signal) =>
      new Promise((resolve) => {
        const enter = () => {
          signal.removeEventListener("abort", leave);
          resolve(true);
        };
        const leave = () => {
          waiting.splice(waiting.indexOf(enter), 1);
          resolve(false);
        };
        if (signal.aborted) return resolve(false);
        signal.addEventListener("abort", leave, { once: true });
        waiting.push(enter);
        admit();
      }),
    lend: () => {
      if (lent >= most * LENT_PER_SLOT) return false;
      change(1);
      return true;
    },
    takeBack: () => change(-1),
    leave: () => {
      working -= 1;
      admit();
    },
  };
};

/** The slot of one run that works. */
const openPlace = (room: Room, clock: Clock) => {
  let awaited = 0;
  let isLent = false;
  let answeredAt = clock.now();
  /** Ends the timer that lends the slot; set while the run waits for its service. */
  let watch: AbortController | null = null;

  const takeBack = () => {
    answeredAt = clock.now();
    if (isLent) room.takeBack();
    isLent = false;
  };
  const lendWhenQuiet = async (signal: AbortSignal): Promise<void> => {
    for (;;) {
      const leftMs = answeredAt + QUIET_MS - clock.now();
      if (leftMs > 0) await clock.sleep(leftMs, signal);
      else if (isLent || !room.lend()) await clock.sleep(QUIET_MS, signal);
      else isLent = true;
    }
  };
  const onWait: BeginWait = () => {
    awaited += 1;
    if (watch === null) {
      watch = new AbortController();
      answeredAt = clock.now();
      lendWhenQuiet(watch.signal).catch(() => undefined);
    }
    let done = false;
    return () => {
      if (done) return;
      done = true;
      awaited -= 1;
      takeBack();
      if (awaited > 0) return;
      watch?.abort();
      watch = null;
    };
  };
  const close = () => {
    watch?.abort();
    takeBack();
    room.leave();
  };
  return { onWait, close };
};

export const createRunSlots = ({ clock, most, onLent = () => undefined }: RunSlotsDeps): RunSlots => {
  const room = createRoom(most, onLent);
  return {
    take: async (signal, work) => {
      if (!(await room.enter(signal))) signal.throwIfAborted();
      const { onWait, close } = openPlace(room, clock);
      try {
        return await work(onWait);
      } finally {
        close();
      }
    },
  };
};

// Answers of a fake service in any order: those under way at the same time leave in an order drawn by a seed.
import { seededRandom } from "./chance.ts";

/** Turns of the event loop without a new request, after which the next answer leaves. */
const QUIET_TURNS = 20;

const turns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
};

/** Keeps each answer back until it is drawn. Requests that a client sends together arrive within few turns. */
export const anyOrder = (seed: number): (() => Promise<void>) => {
  const random = seededRandom(seed);
  const waiting: (() => void)[] = [];
  let arrivals = 0;
  let isLetting = false;
  const letGo = async (): Promise<void> => {
    while (waiting.length > 0) {
      for (let seen = -1; seen !== arrivals; ) {
        seen = arrivals;
        await turns(QUIET_TURNS);
      }
      waiting.splice(Math.floor(random() * waiting.length), 1)[0]?.();
    }
    isLetting = false;
  };
  return () =>
    new Promise((resolve) => {
      arrivals += 1;
      waiting.push(resolve);
      if (isLetting) return;
      isLetting = true;
      void letGo();
    });
};

// A caller's signal that outlives its runs keeps nothing of them.
import { getEventListeners } from "node:events";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { createEnding } from "../../../../../src/sync/run/state/ending.ts";
import { standingClock } from "../../../../support/standing-clock.ts";

test("runs that share a signal leave no listener on it, also after garbage was collected", async () => {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("gc");
  if (typeof collect !== "function") throw new TypeError("this Node has no gc()");
  const { signal } = new AbortController();
  const endings = Array.from({ length: 5 }, () =>
    createEnding({ signal, hardSignal: signal, clock: standingClock(1) }),
  );
  // Weak references hold until the current job ends.
  await new Promise(setImmediate);
  collect();
  for (const ending of endings) ending.close();
  expect(getEventListeners(signal, "abort")).toEqual([]);
});

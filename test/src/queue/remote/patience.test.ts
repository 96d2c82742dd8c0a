// A step that needs Redis, repeated until Redis is back.
import { expect, test } from "vitest";
import { DuckmirrorError } from "../../../../src/core/errors.ts";
import { patiently } from "../../../../src/queue/remote/patience.ts";
import { createManualClock } from "../../budget/manual-clock.ts";

/** A step that fails so often, and when it was tried. */
const aStep = (failures: number, error: Error = new Error("away")) => {
  const clock = createManualClock(0);
  const triedAt: number[] = [];
  const step = async () => {
    triedAt.push(clock.now());
    if (triedAt.length <= failures) throw error;
    return "done";
  };
  return { clock, step, triedAt };
};

test("it is tried again after longer and longer waits, of a second at most", async () => {
  const { clock, step, triedAt } = aStep(7);
  const ended = patiently(step, { clock, forMs: 60_000 });
  await clock.advance(60_000);
  expect(await ended).toBe("done");
  expect(triedAt).toEqual([0, 50, 150, 350, 750, 1550, 2550, 3550]);
});

test("after the time limit its latest error is thrown", async () => {
  const { clock, step, triedAt } = aStep(Number.POSITIVE_INFINITY);
  const ended = patiently(step, { clock, forMs: 1_000 }).catch((error: unknown) => error);
  await clock.advance(10_000);
  expect(await ended).toMatchObject({ message: "away" });
  expect(triedAt).toEqual([0, 50, 150, 350, 750, 1550]);
});

test("an error of this program is thrown at once, and so is any after an abort", async () => {
  const own = aStep(9, new DuckmirrorError("FENCED"));
  const refused = patiently(own.step, { clock: own.clock, forMs: 60_000 }).catch((error: unknown) => error);
  await own.clock.advance(60_000);
  expect(await refused).toMatchObject({ code: "FENCED" });
  expect(own.triedAt).toEqual([0]);
  const stop = new AbortController();
  const { clock, step, triedAt } = aStep(9);
  const ended = patiently(step, { clock, forMs: 60_000, signal: stop.signal }).catch((error: unknown) => error);
  await clock.advance(60);
  stop.abort();
  expect(await ended).toMatchObject({ message: "away" });
  expect(triedAt).toEqual([0, 50, 60]);
});

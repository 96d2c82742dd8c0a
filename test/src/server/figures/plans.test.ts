// Forecasts for the page: each computed once per snapshot and minute, one at a time.
import { expect, test } from "vitest";
import { createManualClock, settled } from "../../../../bench/rates/manual-clock.ts";
import { createPlans } from "../../../../src/server/routes/page-api.ts";

const aMirror = (plan: (content: readonly string[]) => Promise<unknown>) => {
  const state = { version: "1" as string | null };
  return { state, mirror: { name: "default", plan, snapshots: { version: () => state.version } } };
};
const counting = () => {
  const asked: string[] = [];
  return { asked, plan: async (content: readonly string[]) => asked.push(content.join("+")) };
};

test("one forecast serves a minute of readers, until a snapshot is published", async () => {
  const clock = createManualClock(0);
  const planOf = createPlans(clock);
  const { asked, plan } = counting();
  const { state, mirror } = aMirror(plan);
  await Promise.all([planOf(mirror, []), planOf(mirror, [])]);
  await clock.advance(59_999);
  await planOf(mirror, []);
  expect(asked).toHaveLength(1);
  await clock.advance(1);
  await planOf(mirror, []);
  expect(asked).toHaveLength(2);
  state.version = "2";
  await planOf(mirror, []);
  expect(asked).toHaveLength(3);
});

test("with other content it is another forecast, and a field named twice is named once", async () => {
  const planOf = createPlans(createManualClock(0));
  const { asked, plan } = counting();
  const { mirror } = aMirror(plan);
  for (const content of [[], ["a"], ["a", "a"], []]) await planOf(mirror, content);
  expect(asked).toEqual(["", "a"]);
});

test("forecasts are computed one after the other, and one that fails is tried again by its next reader", async () => {
  const planOf = createPlans(createManualClock(0));
  const ends: ((failed: boolean) => void)[] = [];
  const { mirror } = aMirror(
    () => new Promise((resolve, reject) => ends.push((failed) => (failed ? reject(new Error("x")) : resolve("plan")))),
  );
  const first = planOf(mirror, [])?.catch(() => "failed");
  const other = planOf(mirror, ["a"]);
  await settled();
  expect(ends).toHaveLength(1);
  ends[0]?.(true);
  expect(await first).toBe("failed");
  await settled();
  ends[1]?.(false);
  expect(await other).toBe("plan");
  void planOf(mirror, []);
  await settled();
  expect(ends).toHaveLength(3);
});

test("a mirror that is only served has no forecast; of many, the latest hundred are kept", async () => {
  const planOf = createPlans(createManualClock(0));
  expect(planOf({ name: "m", snapshots: { version: () => "1" } }, [])).toBeNull();
  const { asked, plan } = counting();
  const { mirror } = aMirror(plan);
  for (let nth = 0; nth <= 100; nth++) await planOf(mirror, [`${nth}`]);
  await planOf(mirror, ["100"]);
  expect(asked).toHaveLength(101);
  await planOf(mirror, ["0"]);
  expect(asked).toHaveLength(102);
});

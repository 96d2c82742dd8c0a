import { expect, test } from "vitest";
import { briefly } from "../../../../src/core/async/briefly.ts";

const counted = () => {
  let now = 1_000_000;
  let reads = 0;
  const read = briefly(
    async () => {
      reads += 1;
      return reads;
    },
    { now: () => now },
    100,
  );
  return {
    read,
    pass: (ms: number) => {
      now += ms;
    },
  };
};

test("one reading serves all who ask within its time", async () => {
  const { read, pass } = counted();
  expect(await Promise.all([read(), read()])).toEqual([1, 1]);
  pass(99);
  expect(await read()).toBe(1);
  pass(1);
  expect(await read()).toBe(2);
});

test("a clock that is set back makes no reading last", async () => {
  const { read, pass } = counted();
  expect(await read()).toBe(1);
  pass(-3_600_000);
  expect(await read()).toBe(2);
  pass(50);
  expect(await read()).toBe(2);
});

test("a failure is not kept", async () => {
  let fails = true;
  const read = briefly(
    async () => {
      if (fails) throw new Error("away");
      return "here";
    },
    { now: () => 0 },
    100,
  );
  await expect(read()).rejects.toThrow("away");
  fails = false;
  expect(await read()).toBe("here");
});

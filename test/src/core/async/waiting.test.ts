// Work that waits while the mirror is in use.
import { expect, test } from "vitest";
import { briefly, untilAborted, whenFree } from "../../../../src/core/async/waiting.ts";
import { DuckmirrorError } from "../../../../src/core/errors.ts";

// A wait ends with its work or with its signal, whichever comes first.

const stopped = new Error("stopped");

test("without a signal, or with one that stays quiet, it is the work", async () => {
  expect(await untilAborted(Promise.resolve(1), undefined)).toBe(1);
  const { signal } = new AbortController();
  expect(await untilAborted(Promise.resolve(1), signal)).toBe(1);
  await expect(untilAborted(Promise.reject(stopped), signal)).rejects.toBe(stopped);
});

test("a signal ends it at once with its reason, also one that came before; the work's failure is no unhandled one", async () => {
  const stop = new AbortController();
  let fail: (error: Error) => void = () => undefined;
  const work = new Promise<never>((_, reject) => (fail = reject));
  const waiting = untilAborted(work, stop.signal);
  stop.abort(stopped);
  await expect(waiting).rejects.toBe(stopped);
  fail(new Error("later"));
  await expect(untilAborted(Promise.resolve(1), stop.signal)).rejects.toBe(stopped);
});

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

const busy = () => new DuckmirrorError("WRITER_BUSY", { dir: "d" });
/** Work that finds the mirror in use `times` times, with a clock that notes its sleeps. */
const attempt = (times: number, failure: Error = busy(), sleeping: () => Promise<void> = async () => undefined) => {
  const slept: number[] = [];
  let left = times;
  const clock = {
    now: () => 0,
    sleep: async (ms: number) => {
      slept.push(ms);
      await sleeping();
    },
  };
  const work = async () => {
    if (left-- > 0) throw failure;
    return "done";
  };
  return { slept, result: whenFree(work, { clock, busyMs: 50, signal: new AbortController().signal }) };
};

test("is tried again until the mirror is free", async () => {
  const { slept, result } = attempt(2);
  expect(await result).toBe("done");
  expect(slept).toEqual([50, 50]);
});

test("another failure ends it at once; so does the end of the wait", async () => {
  const fault = new DuckmirrorError("DISK_FULL", { detail: "" });
  const { slept, result } = attempt(1, fault);
  await expect(result).rejects.toBe(fault);
  expect(slept).toEqual([]);
  const interrupted = attempt(1, busy(), () => Promise.reject(new Error("aborted")));
  await expect(interrupted.result).rejects.toMatchObject({ code: "INTERRUPTED" });
});

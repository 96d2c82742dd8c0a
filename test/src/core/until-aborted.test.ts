// A wait ends with its work or with its signal, whichever comes first.
import { expect, test } from "vitest";
import { untilAborted } from "../../../src/core/until-aborted.ts";

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

// The rule of work that is asked for by key: one round at a time, one more for what was asked for meanwhile, and again after a wait.
import { expect, test } from "vitest";
import { createKeyedTasks, every } from "../../../../src/queue/requests/keyed-tasks.ts";
import { simulatedClock } from "../../../support/sync-rig.ts";

const turn = () => new Promise((resolve) => setImmediate(resolve));

test("however often a running key is asked for, one more round follows, and other keys run beside it", async () => {
  const rounds = createKeyedTasks(simulatedClock());
  const open: (() => void)[] = [];
  const begun: string[] = [];
  const round = (key: string) => () =>
    new Promise<null>((resolve) => {
      begun.push(key);
      open.push(() => resolve(null));
    });
  for (const key of ["a", "a", "b", "a"]) rounds.ask(key, round(key));
  await turn();
  expect(begun).toEqual(["a", "b"]);
  rounds.ask("a", round("a"));
  rounds.ask("a", round("a"));
  open.shift()?.();
  await turn();
  expect(begun).toEqual(["a", "b", "a"]);
  for (const end of open) end();
  await turn();
  expect(begun).toEqual(["a", "b", "a"]);
  await rounds.stop();
});

test("a round that names a time is followed by another one then, with the number of its attempt", async () => {
  const clock = simulatedClock();
  const startedAt = clock.now();
  const rounds = createKeyedTasks(clock);
  const attempts: string[] = [];
  const done = new Promise<void>((resolve) => {
    rounds.ask("a", async (attempt) => {
      attempts.push(`${attempt} after ${clock.now() - startedAt}`);
      if (attempt < 3) return attempt * 1_000;
      resolve();
      return null;
    });
  });
  await done;
  await turn();
  expect(attempts).toEqual(["1 after 0", "2 after 1000", "3 after 3000"]);
  await rounds.stop();
});

test("stopping ends the wait and the round that runs, and later asks begin nothing", async () => {
  const rounds = createKeyedTasks(simulatedClock());
  let begun = 0;
  const round = (_attempt: number, signal: AbortSignal) =>
    new Promise<null>((resolve) => {
      begun += 1;
      signal.addEventListener("abort", () => resolve(null));
    });
  rounds.ask("a", round);
  await turn();
  await rounds.stop();
  rounds.ask("a", round);
  await turn();
  expect(begun).toBe(1);
});

test("a task that fails is reported and tried again at its interval", async () => {
  const clock = simulatedClock();
  const stop = new AbortController();
  const failures: unknown[] = [];
  let runs = 0;
  const task = () => {
    runs += 1;
    if (runs === 3) stop.abort();
    throw new Error(`run ${runs}`);
  };
  await every(1_000, task, { clock, stopping: stop.signal, onError: (error) => failures.push(error) });
  expect(failures).toHaveLength(3);
});

// Slots of a worker's runs, without a worker: who works, who only waits, and who is let in meanwhile.
import { expect, test } from "vitest";
import { createManualClock, settled } from "../../bench/rates/manual-clock.ts";
import { type BeginWait, createRunSlots } from "../../jobs/run-slots.ts";

const aRig = (most: number) => {
  const clock = createManualClock();
  const lent: number[] = [];
  const places = createRunSlots({ clock, most, onLent: (count) => void lent.push(count) });
  const running = new Map<string, { readonly onWait: BeginWait; readonly end: () => Promise<void> }>();
  const start = (name: string, signal = new AbortController().signal) =>
    places.take(
      signal,
      (onWait) =>
        new Promise<string>((resolve) => {
          const end = async () => {
            running.delete(name);
            resolve(name);
            await settled();
          };
          running.set(name, { onWait, end });
        }),
    );
  const of = (name: string) => {
    const run = running.get(name);
    if (run === undefined) throw new Error(`${name} does not run`);
    return run;
  };
  return { clock, lent, start, of, running: () => [...running.keys()] };
};

test("a run that gets no answer lends its place, and takes it back when the answer comes", async () => {
  const { clock, lent, start, of, running } = aRig(1);
  for (const name of ["hangs", "second", "third"]) void start(name);
  await settled();
  const answered = of("hangs").onWait();
  await clock.advance(4_900);
  expect(running()).toEqual(["hangs"]);
  await clock.advance(200);
  expect(running()).toEqual(["hangs", "second"]);
  answered();
  await of("second").end();
  expect(running()).toEqual(["hangs"]);
  await of("hangs").end();
  expect([running(), lent]).toEqual([["third"], [1, 0]]);
});

test("a run with answers in between, or with work of its own, keeps its place", async () => {
  const { clock, start, of, running } = aRig(1);
  for (const name of ["busy", "second"]) void start(name);
  await settled();
  const others = of("busy").onWait();
  for (let nth = 0; nth < 5; nth += 1) {
    const answered = of("busy").onWait();
    await clock.advance(3_000);
    answered();
  }
  others();
  await clock.advance(60_000);
  expect(running()).toEqual(["busy"]);
});

test("a bounded number of places is lent; one more is lent as soon as one is taken back", async () => {
  const { clock, start, of, running } = aRig(1);
  const names = ["a", "b", "c", "d", "e", "f"];
  for (const name of names) void start(name);
  await settled();
  const answers = new Map<string, () => void>();
  for (let nth = 0; nth < 5; nth += 1) {
    for (const name of running()) if (!answers.has(name)) answers.set(name, of(name).onWait());
    await clock.advance(5_100);
  }
  expect(running()).toEqual(["a", "b", "c", "d"]);
  answers.get("a")?.();
  await of("a").end();
  await clock.advance(5_100);
  expect(running()).toEqual(["b", "c", "d", "e"]);
});

test("a run that ends while its place is lent gives nothing back twice", async () => {
  const { clock, start, of, running } = aRig(1);
  for (const name of ["hangs", "second", "third", "fourth"]) void start(name);
  await settled();
  of("hangs").onWait();
  await clock.advance(5_100);
  await of("hangs").end();
  expect(running()).toEqual(["second"]);
  await of("second").end();
  expect(running()).toEqual(["third"]);
});

test("one that leaves while it waits holds nobody up", async () => {
  const { start, of, running } = aRig(1);
  void start("first");
  const leaving = new AbortController();
  const left = start("leaves", leaving.signal);
  void start("third");
  await settled();
  leaving.abort(new Error("no more"));
  await expect(left).rejects.toThrow("no more");
  await of("first").end();
  expect(running()).toEqual(["third"]);
});

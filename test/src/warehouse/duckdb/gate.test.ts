// Order of access: shared work side by side, exclusive work alone, each in the order in which it came.
import { expect, test } from "vitest";
import { createFairLanes, createGate, createLanes, createQueue } from "../../../../src/warehouse/duckdb/gate.ts";

/** Work that notes its beginning and its end, and ends when it is told to. */
const notebook = () => {
  const notes: string[] = [];
  const ends = new Map<string, { end: () => void; fail: () => void }>();
  const work = (name: string) => () =>
    new Promise<string>((resolve, reject) => {
      notes.push(name);
      const done = (outcome: () => void) => () => {
        notes.push(`/${name}`);
        outcome();
      };
      ends.set(name, { end: done(() => resolve(name)), fail: done(() => reject(new Error(name))) });
    });
  /** All that may begin by now has begun. */
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  const end = async (name: string) => {
    ends.get(name)?.end();
    await settled();
  };
  const fail = async (name: string) => {
    ends.get(name)?.fail();
    await settled();
  };
  return { notes, work, settled, end, fail };
};

test("a queue runs one piece of work after another, also after a failure", async () => {
  const { notes, work, settled, end, fail } = notebook();
  const queue = createQueue();
  const first = queue(work("a"));
  const second = queue(work("b"));
  await settled();
  expect(notes).toEqual(["a"]);
  await Promise.all([expect(first).rejects.toThrow("a"), fail("a")]);
  expect(notes).toEqual(["a", "/a", "b"]);
  await end("b");
  expect(await second).toBe("b");
});

test("lanes run so many at once, in the order in which they came, also after a failure", async () => {
  const { notes, work, settled, end, fail } = notebook();
  const lanes = createLanes(2);
  const all = ["a", "b", "c", "d"].map((name) => lanes(work(name)));
  await settled();
  expect(notes).toEqual(["a", "b"]);
  await Promise.all([expect(all[1]).rejects.toThrow("b"), fail("b")]);
  expect(notes).toEqual(["a", "b", "/b", "c"]);
  await end("a");
  await end("c");
  await end("d");
  expect(notes.slice(4)).toEqual(["/a", "d", "/c", "/d"]);
  // A lane is free again.
  void lanes(work("e"));
  await settled();
  expect(notes.at(-1)).toBe("e");
});

test("one asker with a long queue leaves lanes to others, and they are next", async () => {
  const { notes, work, settled, end } = notebook();
  const lanes = createFairLanes(3, 2);
  for (const name of ["a1", "a2", "a3", "a4"]) void lanes("a", work(name));
  await settled();
  // A third lane is free, and not for `a`.
  expect(notes).toEqual(["a1", "a2"]);
  for (const name of ["b1", "b2"]) void lanes("b", work(name));
  void lanes("c", work("c1"));
  await settled();
  expect(notes.slice(2)).toEqual(["b1"]);
  await end("a1");
  // Nothing of `c` runs yet.
  expect(notes.slice(3)).toEqual(["/a1", "c1"]);
  await end("c1");
  await end("b1");
  expect(notes.slice(5)).toEqual(["/c1", "a3", "/b1", "b2"]);
});

test("exclusive work waits for shared work that runs, and holds back what comes after it", async () => {
  const { notes, work, settled, end } = notebook();
  const { shared, exclusive } = createGate();
  void shared(work("a"));
  void shared(work("b"));
  await settled();
  void exclusive(work("X"));
  void shared(work("c"));
  void exclusive(work("Y"));
  await settled();
  expect(notes).toEqual(["a", "b"]);
  await end("a");
  expect(notes).toEqual(["a", "b", "/a"]);
  await end("b");
  expect(notes.slice(3)).toEqual(["/b", "X"]);
  await end("X");
  // More exclusive work came while `c` waited.
  expect(notes.slice(5)).toEqual(["/X", "Y"]);
  await end("Y");
  expect(notes.slice(7)).toEqual(["/Y", "c"]);
});

test("a failure inside the gate leaves it open", async () => {
  const { work, settled, fail, end } = notebook();
  const { shared, exclusive } = createGate();
  const failing = exclusive(work("X"));
  await settled();
  await Promise.all([expect(failing).rejects.toThrow("X"), fail("X")]);
  const sharing = shared(work("a"));
  await settled();
  await Promise.all([expect(sharing).rejects.toThrow("a"), fail("a")]);
  const after = exclusive(work("Y"));
  await settled();
  await end("Y");
  expect(await after).toBe("Y");
});

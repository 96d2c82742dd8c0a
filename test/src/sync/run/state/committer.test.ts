// Committer: what is written at once, what waits for others, and how long.
import { expect, test } from "vitest";
import { unreadState } from "../../../../../src/sync/list/stored-state.ts";
import { createCommitter } from "../../../../../src/sync/run/state/committer.ts";
import { standingClock } from "../../../../support/standing-clock.ts";

const LATER = { loads: [], requests: [], states: [], bytes: 10, canWait: true } as const;
const NOW = { ...LATER, canWait: false } as const;

/** A committer over a warehouse that notes the size of each transaction, in arrivals; of these, the first may fail. */
const rig = (flush: () => Promise<void> = async () => undefined, failsFirst = false) => {
  const clock = standingClock(0);
  const written: number[] = [];
  let flushes = 0;
  let left = 1;
  const committer = createCommitter({
    clock,
    warehouse: {
      commit: async ({ scopes }) => {
        if (failsFirst && left-- === 1) throw new TypeError("no memory");
        written.push(scopes.length);
        return [];
      },
    },
    archive: {
      flush: () => {
        flushes += 1;
        return flush();
      },
    },
    runId: "r1",
    takeQuota: () => null,
  });
  let scope = 0;
  const commit = (arrival: typeof LATER | typeof NOW) =>
    committer.commit({ ...arrival, states: [unreadState("filings", `c${scope++}`, "r1")] });
  return { clock, committer, written, commit, flushes: () => flushes };
};

test("without a rate limit that decides the pace, everything is written at once", async () => {
  const { written, commit } = rig();
  await commit(LATER);
  await commit(LATER);
  expect(written).toEqual([1, 1]);
});

test("while a request waits for its turn, arrivals wait for each other, and one transaction takes them after a second", async () => {
  const { clock, committer, written, commit } = rig();
  committer.setPaced(true);
  const both = Promise.all([commit(LATER), commit(LATER)]);
  await clock.stands((ms) => ms === 1000);
  expect(written).toEqual([]);
  expect(committer.waiting()).toBe(2);
  clock.pass(1000);
  await both;
  expect(written).toEqual([2]);
  expect(committer.waitingBytes()).toBe(0);
});

test("an arrival from which a request follows is written at once, with those that wait", async () => {
  const { clock, committer, written, commit } = rig();
  committer.setPaced(true);
  const first = commit(LATER);
  await Promise.all([first, commit(NOW)]);
  expect(written).toEqual([2]);
  expect(clock.standing()).toEqual([]);
});

test("when no request waits for its turn any more, what waits is written", async () => {
  const { committer, written, commit } = rig();
  committer.setPaced(true);
  const waiting = commit(LATER);
  committer.setPaced(false);
  await waiting;
  expect(written).toEqual([1]);
});

test("a full transaction does not wait", async () => {
  const { committer, written, commit } = rig();
  committer.setPaced(true);
  await Promise.all(Array.from({ length: 256 }, () => commit(LATER)));
  expect(written).toEqual([256]);
});

test("arrivals after a wait get a second of their own", async () => {
  const { clock, committer, written, commit } = rig();
  committer.setPaced(true);
  const first = commit(LATER);
  clock.pass(1000);
  await first;
  const second = commit(LATER);
  await clock.stands((ms) => ms === 1000);
  clock.pass(999);
  expect(clock.standing()).toEqual([1000]);
  clock.pass(1);
  await second;
  expect(written).toEqual([1, 1]);
});

test("an arrival that waits is made durable in the archive before it waits, and a failure of that is its own", async () => {
  const { committer, written, commit, flushes } = rig(() => Promise.reject(new TypeError("no disk")));
  committer.setPaced(true);
  const waiting = commit(LATER);
  expect(flushes()).toBe(1);
  committer.setPaced(false);
  await expect(waiting).rejects.toThrow("no disk");
  expect(written).toEqual([]);
});

test("after a transaction that failed nothing is written, because a later cursor may have passed its rows", async () => {
  const { committer, written, commit } = rig(undefined, true);
  const [failed, behind] = [commit(NOW), commit(NOW)];
  await expect(failed).rejects.toThrow("no memory");
  await expect(behind).rejects.toThrow("no memory");
  await expect(commit(NOW)).rejects.toThrow("no memory");
  expect(written).toEqual([]);
  expect([committer.waiting(), committer.waitingBytes()]).toEqual([0, 0]);
});

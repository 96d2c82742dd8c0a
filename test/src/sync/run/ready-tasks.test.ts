// Which request of a run goes next.
import { expect, test } from "vitest";
import type { StreamName } from "../../../../src/catalog/streams.ts";
import { initialShape } from "../../../../src/sync/list/form.ts";
import { LIST_WORTH } from "../../../../src/sync/plan/worth.ts";
import { enoughReady, mostValuable } from "../../../../src/sync/run/ready-tasks.ts";
import type { ScopeTask } from "../../../../src/sync/task/scope-task.ts";
import { aTask, reading } from "./a-task.ts";

type Run = Parameters<typeof mostValuable>[0];
const settled = { ...initialShape(10), settled: true };

interface Known {
  /** Lists whose shapes are known. */
  readonly known?: readonly StreamName[];
  readonly failing?: readonly string[];
  readonly shut?: readonly string[];
  readonly spent?: readonly string[];
  readonly full?: readonly string[];
}

const aRun = (tasks: readonly ScopeTask[], given: Known = {}): Run => {
  const { known = ["accounts", "contacts", "signals"], failing = [], shut = [], spent = [], full = [] } = given;
  return {
    options: { largestPage: 10 },
    shapes: new Map(known.map((name) => [name, settled])),
    active: new Map(tasks.map((task, nth) => [String(nth), task])),
    budgets: {
      room: ({ stream }) => {
        if (spent.includes(stream)) return "spent";
        return full.includes(stream) ? "full" : "some";
      },
    },
    unusable: { isShut: ({ stream }) => shut.includes(stream) },
    fetcher: { isFailing: (stream) => failing.includes(stream) },
  };
};

test("the most valuable task with something to send goes first, the first of equals", () => {
  const worthOf = (worth: number) => reading(aTask({ worth }), 1);
  const [low, high, equal] = [worthOf(1), worthOf(2), worthOf(2)];
  expect(mostValuable(aRun([low, high, equal]))).toBe(high);
  const idle = reading(aTask({ worth: 9 }), 0, 1);
  idle.pages = 2;
  expect(mostValuable(aRun([idle, low]))).toBe(low);
  expect(mostValuable(aRun([]))).toBeNull();
});

test("a single record is asked for once", () => {
  const profile = aTask({ stream: "companies", scope: "c_1", mode: "on-change" });
  expect(mostValuable(aRun([profile]))).toBe(profile);
  profile.asked = true;
  expect(mostValuable(aRun([profile]))).toBeNull();
});

test("a stream whose latest requests failed comes last, whatever it is worth", () => {
  const failing = reading(aTask({ worth: 5 }), 1);
  const other = reading(aTask({ stream: "contacts", worth: 1 }), 1);
  for (const tasks of [
    [failing, other],
    [other, failing],
  ]) {
    expect(mostValuable(aRun(tasks, { failing: ["accounts"] }))).toBe(other);
  }
  expect(mostValuable(aRun([failing], { failing: ["accounts"] }))).toBe(failing);
});

test("a budget without room, and a stream whose answers cannot be used, send nothing", () => {
  const task = reading(aTask(), 1);
  for (const closed of [{ spent: ["accounts"] }, { full: ["accounts"] }, { shut: ["accounts"] }] as const) {
    expect(mostValuable(aRun([task], closed))).toBeNull();
  }
});

test("until the lists of the organization show their length, credits are kept for them", () => {
  const list = aTask({ worth: LIST_WORTH });
  list.ready = [];
  const filings = aTask({ stream: "companies", scope: "c_1", mode: "on-change", worth: LIST_WORTH - 1 });
  const run = aRun([list, filings]);
  expect(mostValuable(run)).toBeNull();
  list.pages = 1;
  expect(mostValuable(run)).toBeNull();
  reading(list, 0, 1);
  expect(mostValuable(run)).toBe(filings);
});

test("while a list's shape is unknown, one request of its stream is under way; while none is known, one in all", () => {
  const [first, second] = [reading(aTask({ worth: 2 }), 1, 1), reading(aTask({ worth: 1, scope: "x" }), 1)];
  const contacts = reading(aTask({ stream: "contacts" }), 1);
  expect(mostValuable(aRun([first, second, contacts], { known: ["signals"] }))).toBe(contacts);
  expect(mostValuable(aRun([first, second, contacts], { known: [] }))).toBeNull();
  expect(mostValuable(aRun([first], { known: ["accounts"] }))).toBe(first);
  expect(mostValuable(aRun([second, contacts], { known: [] }))).toBe(second);
});

test("four requests ready are enough, not counting those of failing streams", () => {
  const tasks = Array.from({ length: 4 }, (_, nth) => reading(aTask({ scope: `${nth}` }), 1));
  expect(enoughReady(aRun(tasks))).toBe(true);
  expect(enoughReady(aRun(tasks.slice(1)))).toBe(false);
  expect(enoughReady(aRun(tasks, { failing: ["accounts"] }))).toBe(false);
  expect(enoughReady(aRun(tasks, { spent: ["accounts"] }))).toBe(false);
});

// Which request of a run goes next.
import { expect, test } from "vitest";
import type { StreamName } from "../../../../src/catalog/streams.ts";
import { initialShape } from "../../../../src/sync/list/form.ts";
import { LIST_WORTH } from "../../../../src/sync/plan/worth.ts";
import { enoughReady, mostValuable } from "../../../../src/sync/run/ready-lists.ts";
import { Forms } from "../../../../src/sync/run/state/forms.ts";
import type { OpenList } from "../../../../src/sync/run/state/open-list.ts";
import { aList, reading } from "./a-list.ts";

type Run = Parameters<typeof mostValuable>[0];
const NO_OPTIONS = { largestPage: 10, rowScope: {}, remember: async () => undefined };
const settled = { ...initialShape(10), settled: true };

interface Known {
  /** Lists whose shapes are known. */
  readonly known?: readonly StreamName[];
  readonly failing?: readonly string[];
  readonly shut?: readonly string[];
  readonly spent?: readonly string[];
  readonly full?: readonly string[];
}

const aRun = (lists: readonly OpenList[], given: Known = {}): Run => {
  const { known = ["accounts", "contacts", "signals"], failing = [], shut = [], spent = [], full = [] } = given;
  return {
    forms: new Forms(new Map(known.map((name) => [name, settled])), NO_OPTIONS),
    work: { open: new Map(lists.map((list, nth) => [String(nth), list])) },
    budgets: {
      limits: true,
      room: ({ stream }) => {
        if (spent.includes(stream)) return "spent";
        return full.includes(stream) ? "full" : "some";
      },
    },
    unusable: { isShut: ({ stream }) => shut.includes(stream) },
    fetcher: { isFailing: (stream) => failing.includes(stream) },
  };
};

test("the most valuable list with something to send goes first, the first of equals", () => {
  const worthOf = (worth: number) => reading({ worth }, { unsent: 1 });
  const [low, high, equal] = [worthOf(1), worthOf(2), worthOf(2)];
  expect(mostValuable(aRun([low, high, equal]))).toBe(high);
  const idle = reading({ worth: 9 }, { sent: 1, pages: 2 });
  expect(mostValuable(aRun([idle, low]))).toBe(low);
  expect(mostValuable(aRun([]))).toBeNull();
});

test("a single record is asked for once", () => {
  const profile = aList({ stream: "companies", scope: "c_1", mode: "on-change" });
  expect(mostValuable(aRun([profile]))).toBe(profile);
  profile.tell({ kind: "sent", read: null });
  expect(mostValuable(aRun([profile]))).toBeNull();
});

test("a stream whose latest requests failed comes last, whatever it is worth", () => {
  const failing = reading({ worth: 5 }, { unsent: 1 });
  const other = reading({ stream: "contacts", worth: 1 }, { unsent: 1 });
  for (const lists of [
    [failing, other],
    [other, failing],
  ]) {
    expect(mostValuable(aRun(lists, { failing: ["accounts"] }))).toBe(other);
  }
  expect(mostValuable(aRun([failing], { failing: ["accounts"] }))).toBe(failing);
});

test("a budget without room, and a stream whose answers cannot be used, send nothing", () => {
  const list = reading({}, { unsent: 1 });
  for (const closed of [{ spent: ["accounts"] }, { full: ["accounts"] }, { shut: ["accounts"] }] as const) {
    expect(mostValuable(aRun([list], closed))).toBeNull();
  }
});

test("until the lists of the organization show their length, credits are kept for them", () => {
  const filings = aList({ stream: "companies", scope: "c_1", mode: "on-change", worth: LIST_WORTH - 1 });
  const beside = (state: { pages?: number; sent?: number }) =>
    mostValuable(aRun([reading({ worth: LIST_WORTH }, state), filings]));
  expect(beside({})).toBeNull();
  expect(beside({ pages: 1 })).toBeNull();
  expect(beside({ pages: 1, sent: 1 })).toBe(filings);
});

test("while a list's shape is unknown, one request of its stream is under way; while none is known, one in all", () => {
  const [first, second] = [
    reading({ worth: 2 }, { unsent: 1, sent: 1 }),
    reading({ worth: 1, scope: "x" }, { unsent: 1 }),
  ];
  const contacts = reading({ stream: "contacts" }, { unsent: 1 });
  expect(mostValuable(aRun([first, second, contacts], { known: ["signals"] }))).toBe(contacts);
  expect(mostValuable(aRun([first, second, contacts], { known: [] }))).toBeNull();
  expect(mostValuable(aRun([first], { known: ["accounts"] }))).toBe(first);
  expect(mostValuable(aRun([second, contacts], { known: [] }))).toBe(second);
});

test("four requests ready are enough, not counting those of failing streams", () => {
  const lists = Array.from({ length: 4 }, (_, nth) => reading({ scope: `${nth}` }, { unsent: 1 }));
  expect(enoughReady(aRun(lists))).toBe(true);
  expect(enoughReady(aRun(lists.slice(1)))).toBe(false);
  expect(enoughReady(aRun(lists, { failing: ["accounts"] }))).toBe(false);
  expect(enoughReady(aRun(lists, { spent: ["accounts"] }))).toBe(false);
});

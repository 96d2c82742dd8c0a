import { expect, test } from "vitest";
import { startCounting, takeAsked } from "../../../../../src/sync/list/parts/counting.ts";
import { DAY_MS } from "../../../../../src/sync/list/parts/days.ts";
import {
  afterCut,
  afterFailure,
  afterFound,
  countingMemory,
  filterOf,
  resumeCounting,
} from "../../../../../src/sync/list/parts/memory.ts";
import { seededRandom } from "../../../../support/chance.ts";
import { someRows, withGone } from "./a-counted-list.ts";

const EMPTY = countingMemory(undefined);

test("a filter that failed is tried again after a day, two, four, at most 64; success forgets it", () => {
  const waits: number[] = [];
  let memory = EMPTY;
  for (let failure = 1; failure <= 9; failure++) {
    memory = afterFailure(memory, "beforeDate", "ignored", 1000);
    waits.push((filterOf(memory, "beforeDate").notBefore - 1000) / DAY_MS);
  }
  expect(waits).toEqual([1, 2, 4, 8, 16, 32, 64, 64, 64]);
  expect(filterOf(afterFound(memory, "beforeDate", "whole-day"), "beforeDate")).toEqual({
    cut: "whole-day",
    failures: 0,
    because: null,
    notBefore: 0,
  });
});

test("stored text is read back; text that cannot be read is forgotten", () => {
  const memory = afterFailure(EMPTY, "beforeDate", "ignored", 0);
  expect(countingMemory(JSON.stringify(memory))).toEqual(memory);
  expect(["{", "3", '{"filters":1}'].map(countingMemory)).toEqual([EMPTY, EMPTY, EMPTY]);
});

test("a search that was cut goes on with its boundaries, also where rows came since; not where more are gone", () => {
  const random = seededRandom(5);
  const { service, mirror } = withGone(someRows(3_000, random), 1, "exclusive", random);
  const day = Math.floor((service.rows[1_500]?.time ?? 0) / DAY_MS) * DAY_MS;
  const asked = { day, page: 1 };
  const facts = mirror.facts(100);
  const begun = startCounting(2_999, facts, "exclusive");
  const state = takeAsked(begun, facts, asked, service.page(asked));
  const memory = countingMemory(JSON.stringify(afterCut(EMPTY, "beforeDate", state, facts)));
  expect(memory.open).toMatchObject({ gone: 1, credits: 7, boundaries: [{ day }] });
  mirror.set({ id: "new", time: Date.UTC(2024, 0, 1) });
  const later = mirror.facts(100);
  const resumed = resumeCounting(startCounting(3_000, later, "exclusive"), memory, "beforeDate", later);
  expect(resumed.boundaries).toEqual([{ day, count: (state.boundaries[0]?.count ?? 0) + 1, page: null }]);
  expect(resumeCounting(startCounting(2_999, later, "exclusive"), memory, "beforeDate", later).boundaries).toEqual([]);
});

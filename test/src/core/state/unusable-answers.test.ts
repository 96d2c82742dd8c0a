// When lists and records are asked for again whose answers were paid and could not be used. Shows P21.
import { expect, test } from "vitest";
import {
  isClosed,
  isGone,
  MANY_OF_STREAM,
  nextTryAt,
  splitWaiting,
  type Unusable,
  waitingJson,
  waitingNow,
  waitsDeep,
  withUnusable,
  withUsable,
} from "../../../../src/core/state/unusable-answers.ts";

const HOUR_MS = 3_600_000;
const FIRST_PAGE = { goneOn: false, deep: false, free: false };
const place = { stream: "filings", scope: "c_1" };
const failing = (times: number): readonly Unusable[] => {
  let known: readonly Unusable[] = [];
  for (let time = 1; time <= times; time++) known = withUnusable(known, place, 0, FIRST_PAGE);
  return known;
};
const manyOf = (stream: string): readonly Unusable[] =>
  Array.from({ length: MANY_OF_STREAM }, (_, n) => ({ stream, scope: `c_${n}`, times: 2, at: 0 }));

test("the next sync tries again; after that the wait doubles from an hour to a week", () => {
  const waits = [1, 2, 3, 4, 9, 10, 99].map((times) => Math.max(...failing(times).map(nextTryAt)) / HOUR_MS);
  expect(waits).toEqual([0, 1, 2, 4, 128, 168, 168]);
});

test("what is refused, which costs nothing, is asked for again after a day at most", () => {
  let known: readonly Unusable[] = [];
  const waits: number[] = [];
  for (let time = 1; time <= 8; time++) {
    known = withUnusable(known, place, 0, { ...FIRST_PAGE, free: true });
    waits.push(Math.max(...known.map(nextTryAt)) / HOUR_MS);
  }
  expect(waits).toEqual([0, 1, 2, 4, 8, 16, 24, 24]);
});

test("what a clock that was a day ahead noted holds nothing up", () => {
  const ahead = failing(5).map((entry) => ({ ...entry, at: 24 * HOUR_MS }));
  expect(splitWaiting([place], ahead, 0).due).toEqual([place]);
  expect(splitWaiting([place], ahead, 25 * HOUR_MS).due).toEqual([]);
});

test("a list that was read further, or to its end, begins anew", () => {
  expect(withUnusable(failing(5), place, 3, { ...FIRST_PAGE, goneOn: true })).toEqual([{ ...place, times: 1, at: 3 }]);
  expect(withUsable(failing(5), place)).toEqual([]);
  expect(withUsable(failing(5), { ...place, scope: "c_2" })).toEqual(failing(5));
});

test("a 404 of text is believed by the third sync in a row, the first a day ago; any other answer begins anew", () => {
  const doubtful = { ...FIRST_PAGE, free: true, doubtful: true } as const;
  const believedAt = (hours: readonly number[]) => {
    let known: readonly Unusable[] = [];
    const believed = hours.map((hour) => {
      known = withUnusable(known, place, hour * HOUR_MS, doubtful);
      return isGone(known, place, hour * HOUR_MS) && !isGone(known, { ...place, scope: "c_2" }, hour * HOUR_MS);
    });
    return believed.indexOf(true) + 1;
  };
  expect([believedAt([0, 1, 24]), believedAt([0, 24]), believedAt([0, 1, 2, 23.9, 30])]).toEqual([3, 0, 5]);
  const refused = withUnusable(withUnusable([], place, 0, doubtful), place, 0, { ...FIRST_PAGE, free: true });
  expect(isGone(withUnusable(refused, place, HOUR_MS, doubtful), place, 24 * HOUR_MS)).toBe(false);
});

test("what waits is left out and counted, with the time of the first of it", () => {
  const other = { stream: "filings", scope: "c_2" };
  const known = [...failing(3), { ...other, times: 2, at: 0 }];
  const all = [place, other, { stream: "filings", scope: "c_3" }];
  expect(splitWaiting(all, known, HOUR_MS - 1)).toEqual({
    due: [all[2]],
    waiting: [{ stream: "filings", places: 2, until: HOUR_MS }],
  });
  expect(splitWaiting(all, known, 2 * HOUR_MS)).toEqual({ due: all, waiting: [] });
});

test("a list waits for its deep page only while no earlier page fails", () => {
  const deep = withUnusable(failing(2), place, 0, { goneOn: false, deep: true, free: false });
  expect([waitsDeep(failing(2), place), waitsDeep(deep, place)]).toEqual([false, true]);
  expect(waitsDeep(withUnusable(deep, place, 0, FIRST_PAGE), place)).toBe(false);
});

test("all that waits is named with the time at which it is asked for again", () => {
  const known = [...failing(3), { stream: "contacts", scope: "", times: 1, at: 0 }];
  expect(waitingJson(waitingNow(known, 0))).toEqual([
    { stream: "filings", requests: 1, asked_again_at: "1970-01-01T02:00:00.000Z" },
  ]);
  expect(waitingNow(known, 2 * HOUR_MS)).toEqual([]);
});

test("where many lists of a stream cannot be used, one is tried for all of them", () => {
  const known = manyOf("filings");
  const all = ["c_1", "c_2", "c_99"].map((scope) => ({ stream: "filings", scope }));
  const elsewhere = { stream: "news_articles", scope: "c_1" };
  expect(splitWaiting([...all, elsewhere], known, 0).due).toEqual([elsewhere]);
  const probed = splitWaiting(all, known, HOUR_MS);
  expect([probed.due, probed.waiting[0]?.places]).toEqual([[all[0]], 2]);
  expect([isClosed(known, "filings"), isClosed(known.slice(1), "filings")]).toEqual([true, false]);
  expect(withUsable(known, { stream: "filings", scope: "c_99" })).toEqual([]);
});

test("the organization's own list waits only for itself", () => {
  const known = manyOf("signals").map((entry) => ({ ...entry, scope: `detail:${entry.scope}` }));
  const own = { stream: "signals", scope: "" };
  expect(splitWaiting([own, { stream: "signals", scope: "detail:99" }], known, 0).due).toEqual([own]);
});

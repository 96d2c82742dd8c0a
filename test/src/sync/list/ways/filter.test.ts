// Strategy filter, decision by decision: changes of a filtered list, and when a walk is needed.
import { expect, test } from "vitest";
import { acceptFilter, nextFilter, startFilter } from "../../../../../src/sync/list/ways/filter.ts";
import { cover, facts, page, resumed } from "./readings.ts";

const start = startFilter({ size: 5, since: 100 });

test("it reads the filtered list from the head, one page at a time", () => {
  expect(start).toMatchObject({ kind: "filter", since: 100, coverage: { size: 5, overlap: true } });
  expect(nextFilter(start, facts(), [])).toEqual({ kind: "read", reads: [cover(1)] });
  expect(nextFilter(start, facts(), [cover(1)])).toEqual({ kind: "wait" });
  const first = acceptFilter(start, page({ ids: ["a", "b", "c", "d", "e"], values: [3, 9, 4, 1, 2], total: 9 }));
  expect(nextFilter(first, facts(), [])).toMatchObject({ kind: "read", reads: [{ role: "cover" }] });
});

test("a record that the filter leaves out by days, or without a date, shows that it is ignored; an excerpt takes it", () => {
  const DAY = 86_400_000;
  const after = (value: number | null, only = false) => {
    const read = page({ ids: ["a", "b"], values: [30 * DAY, value], total: 2 });
    return nextFilter(acceptFilter(startFilter({ size: 5, since: 20 * DAY, only }), read), facts({ matching: 2 }), []);
  };
  expect([after(18 * DAY), after(18 * DAY - 1), after(null)].map(({ kind }) => kind)).toEqual([
    "done",
    "unfiltered",
    "unfiltered",
  ]);
  expect(after(null, true)).toMatchObject({ kind: "done" });
});

test("done when the counts agree, a walk when they do not or the list moved", () => {
  const whole = acceptFilter(start, page({ ids: ["a", "b"], values: [2, 1], total: 2 }));
  expect(nextFilter(whole, facts({ matching: 2 }), [cover(2)])).toEqual({ kind: "wait" });
  const done = { kind: "done", addsUp: false, whole: false };
  expect(nextFilter(whole, facts({ matching: 2 }), [])).toEqual(done);
  expect(nextFilter(whole, facts({ matching: null }), [])).toEqual(done);
  const uncounted = { ...whole, coverage: { ...whole.coverage, total: null } };
  expect(nextFilter(uncounted, facts({ matching: 7 }), [])).toEqual(done);
  expect(nextFilter(whole, facts({ matching: 3 }), [])).toEqual({
    kind: "walk",
    because: "the service counts 2 recent changes, the mirror 3",
  });
  const unproven = { ...whole, coverage: { ...whole.coverage, proven: false } };
  expect(nextFilter(unproven, facts({ matching: 2 }), [])).toEqual({
    kind: "walk",
    because: "the list moved while its changes were read",
  });
});

test("a list that is counted is counted first, and walked if the mirror's rows differ after its changes were read", () => {
  const counting = startFilter({ size: 5, since: 100, counted: true });
  expect(nextFilter(counting, facts(), [])).toEqual({ kind: "read", reads: [cover(1)] });
  // Its rows are those of the whole list, so their dates say nothing about the filter.
  const head = acceptFilter(counting, page({ ids: ["a", "b", "c", "d", "e"], values: [200, null, 1, 1, 1], total: 9 }));
  expect(nextFilter(head, facts({ rows: 8 }), [])).toEqual({ kind: "read", reads: [cover(1)] });
  const read = acceptFilter(head, page({ ids: ["f"], values: [300], total: 1 }));
  expect(read).toMatchObject({ total: 9, coverage: { total: 1, complete: true } });
  expect(nextFilter(read, facts({ rows: 9, matching: 1 }), [])).toMatchObject({ kind: "done" });
  expect(nextFilter(read, facts({ rows: 8, acceptedGap: 1, matching: 1 }), [])).toMatchObject({ kind: "done" });
  const differs = { kind: "walk", because: "the service counts 9 rows, the mirror 10" };
  expect(nextFilter(read, facts({ rows: 10, matching: 1 }), [])).toEqual(differs);
  expect(resumed(head)).toMatchObject({ counting: false, total: 9 });
});

// What it costs to find rows that are gone, simulated: the table of docs/PLANNING.md.
import { expect, test } from "vitest";
import { isWorthCounting, priceOfCounting, searchedList } from "../../../../../src/sync/list/parts/price.ts";
import { type Meaning, searchGone, seeded, someRows, withGone } from "./a-counted-list.ts";

type Rows = { byDay?: boolean; days?: number; seeds?: number };

const costsOf = (rows: number, gone: number, meaning: Meaning, more: Rows = {}): number[] => {
  let price = 0;
  const costs = Array.from({ length: more.seeds ?? 5 }, (_, at) => {
    const seed = at + 1;
    const random = seeded(seed * 1000 + rows + gone);
    const { mirror, service } = withGone(someRows(rows, random, more), gone, meaning, random);
    price = priceOfCounting(searchedList(mirror.facts(100).days, rows, 100), gone);
    const found = searchGone(service, mirror);
    expect([seed, found.end, found.wrong, mirror.rows.size]).toEqual([
      seed,
      { kind: "agrees" },
      0,
      service.rows.length,
    ]);
    return found.credits;
  });
  const what = `${gone} of ${rows}, ${meaning}${more.byDay === true ? ", by day" : ""}`;
  process.stdout.write(`${what}: ${costs.join(" ")} credits, price ${price}\n`);
  expect(Math.max(...costs)).toBeLessThanOrEqual(price + 2);
  return costs;
};

const dearest = (...of: Parameters<typeof costsOf>) => Math.max(...costsOf(...of));

for (const meaning of ["exclusive", "inclusive", "whole-day"] as const) {
  test.each([false, true])(`${meaning}, rows dated by day %s: gone rows are found for their price`, (byDay) => {
    expect(dearest(30_000, 1, meaning, { byDay })).toBeLessThanOrEqual(14);
    expect(dearest(30_000, 10, meaning, { byDay })).toBeLessThanOrEqual(80);
    expect(dearest(11_400, 1, meaning, { byDay })).toBeLessThanOrEqual(14);
  });
}

test("ten of 300,000 rows, 430 a day, cost less than 160 credits", () => {
  expect(dearest(300_000, 10, "exclusive", { seeds: 2 })).toBeLessThanOrEqual(160);
}, 60_000);

test("nothing costs more than reading the list, by more than two credits", () => {
  for (let seed = 1; seed <= 60; seed++) {
    const random = seeded(seed);
    const days = 1 + Math.floor(random() * 400);
    const rows = 1_000 + Math.floor(random() * 12_000);
    const gone = 1 + Math.floor(random() * random() * 60);
    const { mirror, service } = withGone(
      someRows(rows, random, { days, byDay: random() < 0.5 }),
      gone,
      "exclusive",
      random,
    );
    const list = searchedList(mirror.facts(100).days, rows, 100);
    if (!isWorthCounting(list, gone)) continue;
    const { end, credits, wrong } = searchGone(service, mirror);
    expect([seed, wrong]).toEqual([seed, 0]);
    const most = Math.min(list.pages, priceOfCounting(list, gone)) + 2;
    expect({ seed, rows, days, gone, end: end.kind, credits: Math.min(credits, most) }).toEqual({
      seed,
      rows,
      days,
      gone,
      end: "agrees",
      credits,
    });
  }
});

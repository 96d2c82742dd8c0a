// What it costs to find rows that are gone, simulated: the table of docs/PLANNING.md.
import { expect, test } from "vitest";
import { isWorthCounting, priceOfCounting } from "../../../../../src/sync/list/parts/counting-price.ts";
import type { Cut } from "../../../../../src/sync/list/parts/rows-per-day.ts";
import { seededRandom } from "../../../../support/chance.ts";
import { type Meaning, searchGone, someRows, withGone } from "./a-counted-list.ts";

type Rows = { byDay?: boolean; days?: number; seeds?: number };

const costsOf = (rows: number, gone: number, meaning: Meaning, more: Rows = {}): number[] => {
  let price = 0;
  const costs = Array.from({ length: more.seeds ?? 5 }, (_, at) => {
    const seed = at + 1;
    const random = seededRandom(seed * 1000 + rows + gone);
    const { mirror, service } = withGone(someRows(rows, random, more), gone, meaning, random);
    price = priceOfCounting(mirror.facts(100), gone);
    const found = searchGone(service, mirror);
    expect([seed, found.end, found.wrong, mirror.rows.size]).toEqual([
      seed,
      { kind: "agrees" },
      0,
      service.rows.length,
    ]);
    return found.credits;
  });
  expect(Math.max(...costs)).toBeLessThanOrEqual(price + 2);
  return costs;
};

const dearest = (...of: Parameters<typeof costsOf>) => Math.max(...costsOf(...of));

test.each([
  ["exclusive", false],
  ["inclusive", true],
  ["whole-day", true],
] as const)("%s, rows dated by day %s: gone rows are found for their price", (meaning, byDay) => {
  expect(dearest(30_000, 1, meaning, { byDay })).toBeLessThanOrEqual(14);
  expect(dearest(30_000, 10, meaning, { byDay })).toBeLessThanOrEqual(80);
  expect(dearest(11_400, 1, meaning, { byDay })).toBeLessThanOrEqual(14);
});

/** `COUNTING_HOURS=720`: a month. */
const HOURS = Number(process.env.COUNTING_HOURS ?? 2);

test(`hourly syncs of 300,000 rows, ten of which go in each hour: each finds all of them for at most 160 credits (${HOURS} syncs)`, () => {
  const random = seededRandom(20261128);
  const rows = someRows(300_000, random);
  const { mirror, service } = withGone(rows, 0, "exclusive", random);
  const newest = Math.max(...rows.slice(0, 1_000).map(({ time }) => time ?? 0), Date.UTC(2025, 11, 1));
  let cut: Cut | null = null;
  const costs = Array.from({ length: HOURS }, (_, hour) => {
    for (let at = 0; at < 10; at++) service.drop(random);
    // What came is on the page of changes that every sync reads.
    const come = Array.from({ length: 12 }, (_, at) => ({
      id: `h${hour}/${at}`,
      time: newest + hour * 3_600_000 + at,
    }));
    for (const row of come) service.add(row);
    for (const row of come) mirror.set(row);
    const { end, state, credits, wrong } = searchGone(service, mirror, { cut });
    cut = state.cut;
    expect([hour, end.kind, wrong, mirror.rows.size]).toEqual([hour, "agrees", 0, service.rows.length]);
    return 1 + credits;
  });
  expect(Math.max(...costs)).toBeLessThanOrEqual(160);
}, 600_000);

test("nothing costs more than reading the list, by more than two credits", () => {
  for (let seed = 1; seed <= 60; seed++) {
    const random = seededRandom(seed);
    const days = 1 + Math.floor(random() * 400);
    const rows = 1_000 + Math.floor(random() * 12_000);
    const gone = 1 + Math.floor(random() * random() * 60);
    const { mirror, service } = withGone(
      someRows(rows, random, { days, byDay: random() < 0.5 }),
      gone,
      "exclusive",
      random,
    );
    const facts = mirror.facts(100);
    if (!isWorthCounting(facts, gone)) continue;
    const { end, credits, wrong } = searchGone(service, mirror);
    expect([seed, wrong]).toEqual([seed, 0]);
    const most = Math.min(rows / 100, priceOfCounting(facts, gone)) + 2;
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

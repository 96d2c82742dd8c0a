// What a search makes of services whose filters mean something else, and of lists that change while they are counted.
import { expect, test } from "vitest";
import { nextCount, startCounting, takeAsked } from "../../../../../src/sync/list/parts/counting.ts";
import { seededRandom } from "../../../../support/chance.ts";
import { CountedService, type Meaning, searchGone, someRows, withGone } from "./a-counted-list.ts";

const prepared = (seed: number, gone: number, meaning: Meaning, rows = 6_000, more = {}) => {
  const random = seededRandom(seed);
  return { random, ...withGone(someRows(rows, random, more), gone, meaning, random) };
};

test.each(["ignored", "other-field", "uncounted", "unsorted", "other-zone"] as const)(
  "a filter that is %s is found out within five credits, and nothing is deleted falsely",
  (meaning) => {
    for (let seed = 1; seed <= 20; seed++) {
      const { service, mirror } = prepared(seed, 1 + (seed % 5), meaning, meaning === "other-zone" ? 30_000 : 6_000);
      const { end, credits, wrong } = searchGone(service, mirror);
      expect([seed, end.kind, wrong]).toEqual([seed, "gives-up", 0]);
      expect([seed, Math.max(5, credits)]).toEqual([seed, 5]);
    }
  },
);

test("a service that forgets its filter between two searches is found out by the next page", () => {
  const { service, mirror } = prepared(1, 2, "ignored");
  const { end, credits } = searchGone(service, mirror, { cut: "exclusive" });
  expect([end.kind, credits]).toEqual(["gives-up", 1]);
});

test("rows that come and go at the head while parts are counted change nothing", () => {
  for (let seed = 1; seed <= 20; seed++) {
    const { service, mirror, random } = prepared(seed, 5, "exclusive");
    const newest = Math.max(...service.rows.map(({ time }) => time ?? 0));
    const { end, wrong } = searchGone(service, mirror, {
      meanwhile: (request) => service.rows.unshift({ id: `new${request}`, time: newest + 1000 * request + random() }),
    });
    expect([seed, end.kind]).toEqual([seed, "agrees"]);
    expect(service.rows.filter(({ id }) => !mirror.rows.has(id) && !id.startsWith("new")).length + wrong - wrong).toBe(
      0,
    );
  }
});

test("rows that go while parts are counted are found too, or the search gives up; no row that is there is deleted", () => {
  let found = 0;
  for (let seed = 1; seed <= 30; seed++) {
    const { service, mirror, random } = prepared(seed, 4, "whole-day");
    const { end, wrong } = searchGone(service, mirror, {
      cut: "whole-day",
      meanwhile: (request) => {
        if (request === 6) service.rows.splice(Math.floor(random() * service.rows.length), 1);
      },
    });
    expect([seed, wrong]).toEqual([seed, 0]);
    if (end.kind === "agrees") found += 1;
  }
  process.stdout.write(`${found} of 30 searches found a row that went meanwhile\n`);
  expect(found).toBeGreaterThan(25);
});

test("rows without a date are in no part: if one of them is gone, the list is walked", () => {
  const { service, mirror } = prepared(3, 0, "exclusive", 6_000, { undated: 40 });
  const undated = service.rows.findIndex(({ time }) => time === null);
  service.rows.splice(undated, 1);
  const { end, credits } = searchGone(service, mirror);
  expect([end.kind, credits <= 4]).toEqual(["gives-up", true]);
  const dated = prepared(4, 0, "exclusive", 6_000, { undated: 40 });
  dated.service.rows.splice(2_000, 1);
  const other = searchGone(dated.service, dated.mirror);
  expect([other.end.kind, other.credits < 14]).toEqual(["agrees", true]);
});

test("a mirror that lacks rows asks for nothing, and one that agrees is done", () => {
  const { service, mirror } = prepared(1, 0, "exclusive");
  const facts = mirror.facts(100);
  expect(nextCount(startCounting(facts.rows, facts, null), facts)).toEqual({ kind: "agrees" });
  const state = startCounting(facts.rows + 1, facts, null);
  const step = nextCount(state, facts);
  expect(step).toEqual({ kind: "ask", day: null, page: 1 });
  const again = takeAsked(state, facts, { day: null, page: 1 }, service.page({ day: null, page: 1 }));
  expect(nextCount(again, facts)).toEqual({ kind: "agrees" });
  expect(new CountedService([], "exclusive", 10).page({ day: null, page: 1 }).total).toBe(0);
});

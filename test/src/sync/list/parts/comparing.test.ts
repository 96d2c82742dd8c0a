// A list compared with its mirror by counts of parts: what it finds, what it costs, and what it does not claim.
import { expect, test } from "vitest";
import {
  nextComparison,
  openParts,
  startComparing,
  takeCompared,
} from "../../../../../src/sync/list/parts/comparing.ts";
import { partsOf, takeAsked } from "../../../../../src/sync/list/parts/counting.ts";
import { type Cut, isBefore } from "../../../../../src/sync/list/parts/days.ts";
import { seededRandom } from "../../../../support/chance.ts";
import { CountedMirror, CountedService, type Meaning, someRows } from "./a-counted-list.ts";

const SIZE = 100;

/** Compares until the credits are spent; which of `missing` and `gone` it has found after how many. */
const compare = (service: CountedService, mirror: CountedMirror, limit: number, cut: Cut | null = null) => {
  const facts = mirror.facts(SIZE);
  const found = new Map<string, number>();
  let state = startComparing(facts, cut, limit);
  for (;;) {
    const step = nextComparison(state, facts);
    if (step.kind === "ends" || step.kind === "gives-up") return { step, state, facts, found };
    if (step.kind === "ask") {
      const answer = service.page(step);
      for (const id of answer.ids) if (!mirror.rows.has(id)) found.set(id, found.get(id) ?? service.credits);
      state = takeAsked(state, facts, step, answer);
      continue;
    }
    const { from, to } = step.part;
    const known = state.cut ?? "exclusive";
    for (const { id, time } of mirror.rows.values()) {
      const isIn =
        time !== null && (to === null || isBefore(known, to, time)) && !(from !== null && isBefore(known, from, time));
      if (isIn && !step.seen.includes(id)) found.set(id, found.get(id) ?? service.credits);
    }
    state = takeCompared(state, step.part);
  }
};

/** A list in which one row is gone and one came, anywhere, since it was mirrored. */
const exchanged = (seed: number, rows: number, meaning: Meaning = "exclusive") => {
  const random = seededRandom(seed);
  const all = someRows(rows + 1, random);
  const [added, gone] = [all[Math.floor(random() * rows)], all[rows]];
  const mirror = new CountedMirror(all.filter((row) => row !== added));
  const service = new CountedService(
    all.filter((row) => row !== gone),
    meaning,
    SIZE,
  );
  return { mirror, service, ids: [added?.id ?? "", gone?.id ?? ""] };
};

test("one row gone and one added among 30,000 are found for a tenth of what reading pages takes", () => {
  const credits = Array.from({ length: 20 }, (_, at) => {
    const { mirror, service, ids } = exchanged(at + 1, 30_000);
    const { found } = compare(service, mirror, 60);
    expect([...found.keys()].sort(), `seed ${at + 1}`).toEqual(ids.sort());
    return Math.max(...found.values());
  }).sort((a, b) => a - b);
  process.stdout.write(`credits until both rows are found: ${credits.join(" ")}\n`);
  expect(credits[10]).toBeLessThanOrEqual(24);
  expect(credits[19]).toBeLessThanOrEqual(60);
});

test.each<Meaning>(["exclusive", "whole-day"])(
  "an equal list has no part that differs, where a date filter is %s",
  (meaning) => {
    const rows = someRows(3_000, seededRandom(5));
    const { state, facts, found, step } = compare(new CountedService(rows, meaning, SIZE), new CountedMirror(rows), 10);
    expect(step).toEqual({ kind: "ends" });
    expect(partsOf(state, facts).every(({ difference }) => difference === 0)).toBe(true);
    expect([found.size, state.spent, state.cut]).toEqual([0, 10, meaning]);
  },
);

test("with credits for every page, every row is compared", () => {
  const { mirror, service, ids } = exchanged(7, 2_000);
  const { state, facts, found, step } = compare(service, mirror, 80);
  expect([step.kind, openParts(state, facts)]).toEqual(["ends", []]);
  expect([...found.keys()].sort()).toEqual(ids.sort());
});

test.each<Meaning>(["ignored", "other-zone", "uncounted", "unsorted"])(
  "a filter that is %s proves nothing",
  (meaning) => {
    const rows = someRows(3_000, seededRandom(5));
    const { step, found } = compare(new CountedService(rows, meaning, SIZE), new CountedMirror(rows), 10);
    expect(step).toEqual({ kind: "gives-up", because: expect.any(String) });
    expect(found.size).toBe(0);
  },
);

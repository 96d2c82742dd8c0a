// The cheap refreshes (watermark, filter, known) against a list that changed since the last walk: whatever they decide,
// following the decision leaves no change behind that the list shows.
import fc from "fast-check";
import { expect, test } from "vitest";
import type { MirrorFacts, PageRead, ReadRequest, Step } from "../../../../../src/sync/list/coverage/read-types.ts";
import { startWatermark } from "../../../../../src/sync/list/ways/changes.ts";
import { startFilter } from "../../../../../src/sync/list/ways/filter.ts";
import { acceptRead, nextStep, type Progress } from "../../../../../src/sync/list/ways/progress.ts";
import { startKnown } from "../../../../../src/sync/list/ways/walk.ts";

const SEED = 20261121;
/** Fewer where every line is mutated: a mutant that survives few cases is looked at by hand. */
const RUNS = Number(process.env.DUCKMIRROR_PROPERTY_RUNS ?? 2000);

interface Item {
  readonly id: string;
  /** When it last changed; null: it carries no date. */
  readonly at: number | null;
}

interface Source {
  /** Rows in the order of the list. */
  readonly items: readonly Item[];
  readonly since: number;
}

/** Reads until the strategy is through; the mirror starts with `mirror` and takes in every row read. */
const follow = (start: Progress, source: Source, mirror: Map<string, number | null>) => {
  let progress = start;
  let last: MirrorFacts["last"] = null;
  let reads = 0;
  let inFlight: ReadRequest[] = [];
  const seen = new Set<string>();
  for (;;) {
    const matching = [...mirror.values()].filter((at) => at !== null && at > source.since).length;
    const facts: MirrorFacts = { rows: mirror.size, matching, seen: seen.size, rejected: 0, last, acceptedGap: 0 };
    const next: { step: Step; progress: Progress } = nextStep(progress, facts, inFlight, 1, "updatedAt");
    progress = next.progress;
    if (next.step.kind !== "read" && next.step.kind !== "wait") return { step: next.step, reads, progress };
    if (next.step.kind === "read") inFlight = [...next.step.reads];
    const request = inFlight[0];
    if (request === undefined) throw new Error("the strategy waits for nothing");
    inFlight = [];
    const begin = (request.page - 1) * request.perPage;
    const chosen = source.items.slice(begin, begin + request.perPage);
    const counts = { inserted: 0, updated: 0, unchanged: 0 };
    for (const item of chosen) {
      seen.add(item.id);
      if (!mirror.has(item.id)) counts.inserted += 1;
      else if (mirror.get(item.id) === item.at) counts.unchanged += 1;
      else counts.updated += 1;
      mirror.set(item.id, item.at);
    }
    last = counts;
    const read: PageRead = {
      ...request,
      ids: chosen.map((item) => item.id),
      rows: chosen.length,
      values: chosen.map((item) => item.at),
      total: source.items.length,
    };
    progress = acceptRead(progress, read);
    reads += 1;
    if (reads > 1000) throw new Error("the strategy does not end");
  }
};

const WATERMARK = 1000;
/** A mirrored list and what became of it: some rows changed after the watermark, some came, some went. */
const change = fc.record({
  rows: fc.integer({ min: 0, max: 120 }),
  size: fc.integer({ min: 7, max: 40 }),
  changed: fc.array(fc.nat(119), { maxLength: 20 }),
  added: fc.integer({ min: 0, max: 15 }),
  removed: fc.array(fc.nat(119), { maxLength: 8 }),
});

const worldOf = (history: { rows: number; changed: number[]; added: number; removed: number[] }) => {
  const before: Item[] = Array.from({ length: history.rows }, (_, n) => ({ id: `r${n}`, at: (n * 37) % WATERMARK }));
  const mirror = new Map(before.map((item) => [item.id, item.at]));
  const after = before
    .filter((_, n) => !history.removed.includes(n))
    .map((item) => (history.changed.includes(Number(item.id.slice(1))) ? { ...item, at: WATERMARK + 5 } : item));
  const added = Array.from({ length: history.added }, (_, n) => ({ id: `n${n}`, at: WATERMARK + n }));
  return { mirror, items: [...after, ...added], removed: before.filter((_, n) => history.removed.includes(n)).length };
};
const newestFirst = (items: readonly Item[]) => [...items].sort((a, b) => (b.at ?? 0) - (a.at ?? 0));
const outdated = (items: readonly Item[], mirror: ReadonlyMap<string, number | null>) =>
  items.filter((item) => mirror.get(item.id) !== item.at).map((item) => item.id);

test(`watermark: done means every dated change is mirrored, and deletes ask for a walk (seed ${SEED})`, () => {
  fc.assert(
    fc.property(change, (history) => {
      const { mirror, items, removed } = worldOf(history);
      const { step } = follow(
        startWatermark({ size: history.size, since: WATERMARK }),
        { items: newestFirst(items), since: WATERMARK },
        mirror,
      );
      if (step.kind !== "done") return;
      expect(outdated(items, mirror)).toEqual([]);
      // Rows that are gone show in the count, unless one page held the whole list: then they may be deleted.
      if (removed > 0) expect(step.addsUp).toBe(true);
    }),
    { seed: SEED, numRuns: RUNS },
  );
});

test("watermark: an unchanged list costs one page, however long it is", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 120 }), fc.integer({ min: 7, max: 40 }), (rows, size) => {
      const { mirror, items } = worldOf({ rows, changed: [], added: 0, removed: [] });
      const { step, reads } = follow(
        startWatermark({ size, since: WATERMARK }),
        { items: newestFirst(items), since: WATERMARK },
        mirror,
      );
      expect(step.kind).toBe("done");
      expect(reads).toBe(1);
    }),
    { seed: SEED, numRuns: Math.min(200, RUNS) },
  );
});

test(`watermark: a service that does not sort is noticed, unless one page holds the whole list (seed ${SEED})`, () => {
  fc.assert(
    fc.property(change, (history) => {
      const { mirror, items } = worldOf(history);
      const { step } = follow(
        startWatermark({ size: history.size, since: WATERMARK }),
        { items, since: WATERMARK },
        mirror,
      );
      if (step.kind === "done") expect(outdated(items, mirror)).toEqual([]);
    }),
    { seed: SEED, numRuns: RUNS },
  );
});

test(`filter: done means every change the filter returns is mirrored; a count that disagrees walks (seed ${SEED})`, () => {
  fc.assert(
    fc.property(change, (history) => {
      const { mirror, items } = worldOf(history);
      const matching = items.filter((item) => item.at !== null && item.at > WATERMARK);
      const { step } = follow(
        startFilter({ size: history.size, since: WATERMARK }),
        { items: matching, since: WATERMARK },
        mirror,
      );
      if (step.kind === "done") expect(outdated(matching, mirror)).toEqual([]);
      expect(step.kind === "done" && step.addsUp).toBe(false);
    }),
    { seed: SEED, numRuns: RUNS },
  );
});

test(`known: done early means the counts agree and the last page held nothing new; else the whole list was read (seed ${SEED})`, () => {
  fc.assert(
    fc.property(change, (history) => {
      const { mirror, items, removed } = worldOf(history);
      const { step, reads } = follow(startKnown({ size: history.size }), { items, since: 0 }, mirror);
      if (step.kind !== "done") throw new Error("known never asks for another strategy");
      if (step.addsUp) expect(outdated(items, mirror)).toEqual([]);
      else expect(mirror.size).toBe(items.length);
      // Fewer upstream than mirrored: only the whole list shows which rows are gone.
      if (removed > 0 && history.added === 0) expect(step.addsUp).toBe(true);
      if (history.added === 0 && removed === 0 && history.changed.length === 0) expect(reads).toBe(1);
    }),
    { seed: SEED, numRuns: RUNS },
  );
});

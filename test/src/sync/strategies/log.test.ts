// Strategy log: the request history, newest first, which grows with every page that is read of it.
import { expect, test } from "vitest";
import { acceptLog, type LogState, nextLog, startLog } from "../../../../src/sync/strategies/log.ts";

/** Reads a history of `entries` entries by the strategy until it is done; the list grows by one with each request. */
const readHistory = (mirrored: Set<number>, entries: number, start: LogState, reads = Number.POSITIVE_INFINITY) => {
  let newest = entries;
  let state = start;
  let last: { inserted: number; updated: number; unchanged: number } | null = null;
  for (let read = 0; read < reads; read++) {
    const facts = { rows: mirrored.size, matching: null, seen: 0, rejected: 0, last, acceptedGap: 0 };
    const step = nextLog(state, facts, []);
    if (step.kind !== "read") return { state, newest, pages: read };
    const [request] = step.reads;
    if (request === undefined) throw new Error("nothing to read");
    newest += 1;
    const head = newest - (request.page - 1) * request.perPage;
    const ids = Array.from({ length: request.perPage }, (_, index) => head - index).filter((id) => id >= 1);
    const inserted = ids.filter((id) => !mirrored.has(id)).length;
    for (const id of ids) mirrored.add(id);
    last = { inserted, updated: 0, unchanged: ids.length - inserted };
    state = acceptLog(state, { ...request, ids: ids.map(String), rows: ids.length, values: [], total: newest });
  }
  return { state, newest, pages: reads };
};

const missing = (mirrored: ReadonlySet<number>, upTo: number) =>
  Array.from({ length: upTo }, (_, index) => index + 1).filter((id) => !mirrored.has(id));

test("the first log reads to the oldest entry, although its own requests shift the pages", () => {
  const mirrored = new Set<number>();
  const { pages } = readHistory(mirrored, 220, startLog({ size: 50, first: true }));
  expect(missing(mirrored, 220)).toEqual([]);
  expect(pages).toBe(5);
});

test("a first log that was interrupted goes on to the oldest entry, however many pages were added meanwhile", () => {
  const mirrored = new Set<number>();
  const broken = readHistory(mirrored, 300, startLog({ size: 50, first: true }), 2);
  readHistory(mirrored, broken.newest + 140, broken.state);
  expect(missing(mirrored, 300)).toEqual([]);
});

test("a later log reads everything new and stops at the first entry that was known before", () => {
  const mirrored = new Set(Array.from({ length: 300 }, (_, index) => index + 1));
  const { pages } = readHistory(mirrored, 420, startLog({ size: 50, first: false }));
  expect(missing(mirrored, 420)).toEqual([]);
  expect(pages).toBe(3);
});

// Strategy log: the request history, newest first, which grows with every page that is read of it.
import { describe, expect, test } from "vitest";
import { acceptLog, type LogState, nextLog, startLog } from "../../../../../src/sync/list/ways/log.ts";
import { cover, descending, facts, NOTHING_NEW, page } from "./readings.ts";

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

describe("each decision", () => {
  const start = startLog({ size: 5, first: false });
  const full = page({ ids: descending(30, 5), total: 30 });
  const oldestFirst = page({ ids: ["1", "2", "3", "4", "5"], total: 12 });

  test("it begins with the first page, whichever end is newest", () => {
    expect(start).toEqual({
      kind: "log",
      size: 5,
      first: false,
      total: null,
      newestOn: null,
      page: 1,
      ended: false,
      latest: [],
      repeated: 0,
      since: null,
      granted: 0,
    });
    expect(nextLog(start, facts(), [])).toEqual({ kind: "read", reads: [cover(1)] });
    expect(nextLog(start, facts(), [cover(1)])).toEqual({ kind: "wait" });
    expect(nextLog(start, facts({ last: NOTHING_NEW }), [])).toMatchObject({ kind: "read" });
  });

  test("newest first goes on with page 2, oldest first with the last page and back", () => {
    const forward = acceptLog(start, full);
    expect(forward).toMatchObject({ newestOn: "first", page: 2, ended: false, size: 5, total: 30 });
    const back = acceptLog(start, oldestFirst);
    expect(back).toMatchObject({ newestOn: "last", page: 3, ended: false });
    expect(acceptLog(back, page({ page: 3, ids: ["11", "12"], total: 12 }))).toMatchObject({ page: 2, ended: false });
    expect(acceptLog({ ...back, page: 2 }, page({ page: 2, ids: ["6"], total: 12 }))).toMatchObject({
      page: 1,
      ended: true,
    });
    expect(acceptLog(start, page({ ids: ["7"], total: 1 }))).toMatchObject({ newestOn: "first", ended: true });
    expect(acceptLog(start, page({ ids: ["1", "2"], total: null, granted: 3 }))).toMatchObject({
      newestOn: "last",
      page: 2,
      ended: true,
    });
    expect(acceptLog(start, { ...oldestFirst, total: null })).toMatchObject({
      newestOn: "last",
      page: 2,
      ended: false,
    });
  });

  test("without a count it is read forward to its end, wherever its new entries are", () => {
    const first = acceptLog(start, { ...oldestFirst, total: null });
    const second = acceptLog(first, page({ page: 2, ids: ["6", "7", "8", "9", "10"] }));
    expect(second).toMatchObject({ page: 3, ended: false });
    // Known entries say nothing about newer ones further back.
    expect(nextLog(second, facts({ last: { inserted: 0, updated: 0, unchanged: 5 } }), [])).toMatchObject({
      kind: "read",
      reads: [cover(3)],
    });
    expect(acceptLog(second, page({ page: 3, ids: ["11"] }))).toMatchObject({ ended: true });
    const clamped = acceptLog({ ...start, size: 100 }, page({ ids: ["1", "2", "3"], perPage: 100 }));
    expect(clamped).toMatchObject({ ended: false, size: 3, page: 2 });
    const single = acceptLog({ ...start, size: 100 }, page({ ids: ["9"], perPage: 100 }));
    expect(nextLog(single, facts(), [])).toMatchObject({ kind: "done", whole: false });
  });

  test("it ends with an empty page or the last one by the count", () => {
    const forward = acceptLog(start, full);
    const next = (number: number, ids: readonly string[], total: number | null = 30) =>
      acceptLog({ ...forward, page: number }, page({ page: number, ids, total }));
    expect(next(2, descending(25, 5))).toMatchObject({ page: 3, ended: false });
    expect(next(5, descending(10, 5)).ended).toBe(false);
    expect(next(6, descending(5, 5)).ended).toBe(true);
    expect(next(3, []).ended).toBe(true);
    const uncounted = { ...forward, total: null };
    expect(acceptLog(uncounted, page({ page: 6, ids: descending(5, 5), total: null })).ended).toBe(false);
  });

  test("a first page that is clamped silently shows the real size; a later short one does not", () => {
    expect(acceptLog({ ...start, size: 50 }, { ...full, perPage: 50 })).toMatchObject({ size: 5 });
    expect(acceptLog({ ...start, size: 50 }, { ...full, perPage: 50, total: 5 })).toMatchObject({
      size: 50,
      ended: true,
    });
    expect(acceptLog({ ...start, size: 50 }, { ...full, perPage: 50, ids: [], rows: 0 })).toMatchObject({ size: 50 });
    const forward = acceptLog(start, full);
    expect(acceptLog(forward, page({ page: 2, ids: ["25", "24"], total: 30 })).size).toBe(5);
  });

  test("known entries end it, but not those that its own requests pushed onto the next page", () => {
    const forward = acceptLog(start, full);
    const done = { kind: "done", addsUp: false, whole: false };
    expect(nextLog(forward, facts({ last: { inserted: 4, updated: 0, unchanged: 1 } }), [])).toEqual(done);
    expect(nextLog(forward, facts({ last: { inserted: 4, updated: 1, unchanged: 0 } }), [])).toEqual(done);
    expect(nextLog(forward, facts({ last: { inserted: 5, updated: 0, unchanged: 0 } }), [])).toEqual({
      kind: "read",
      reads: [cover(2)],
    });
    const shifted = acceptLog(forward, page({ page: 2, ids: ["26", "25", "24", "23", "22"], total: 31 }));
    expect(shifted.repeated).toBe(1);
    expect(nextLog(shifted, facts({ last: { inserted: 4, updated: 0, unchanged: 1 } }), [])).toMatchObject({
      kind: "read",
    });
    expect(nextLog(shifted, facts({ last: { inserted: 3, updated: 0, unchanged: 2 } }), [])).toMatchObject({
      kind: "done",
    });
    expect(nextLog({ ...forward, first: true }, facts({ last: NOTHING_NEW }), [])).toMatchObject({ kind: "read" });
    expect(nextLog({ ...forward, ended: true }, facts(), [])).toEqual({ ...done, whole: true });
  });

  test("read from its end, known entries on the first page say nothing about the last one", () => {
    const back = acceptLog(start, oldestFirst);
    expect(nextLog(back, facts({ last: NOTHING_NEW }), [])).toEqual({ kind: "read", reads: [cover(3)] });
    const second = acceptLog(back, page({ page: 3, ids: ["11", "12"], total: 12 }));
    expect(nextLog(second, facts({ last: { inserted: 1, updated: 0, unchanged: 1 } }), [])).toMatchObject({
      kind: "done",
    });
    expect(nextLog(second, facts({ last: { inserted: 2, updated: 0, unchanged: 0 } }), [])).toEqual({
      kind: "read",
      reads: [cover(2)],
    });
  });
});

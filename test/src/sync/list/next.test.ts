// The machine of one list (src/sync/list/SPEC.md): every state takes every event, and every reading ends.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DuckmirrorError } from "../../../../src/core/errors.ts";
import type { PageRead, ReadRequest } from "../../../../src/sync/list/coverage/read-types.ts";
import { isBelieved } from "../../../../src/sync/list/decide.ts";
import type { Effect, Facts, ListEvent } from "../../../../src/sync/list/events.ts";
import { initialForm } from "../../../../src/sync/list/form.ts";
import { next } from "../../../../src/sync/list/next.ts";
import {
  isActive,
  type ListState,
  liveOf,
  openList,
  type ReadingOrder,
  readingOf,
  requestsOf,
  type ScopeMode,
} from "../../../../src/sync/list/state.ts";
import { finishedState, walkingState } from "../../../../src/sync/list/stored-state.ts";
import { idleState } from "../plan/planning-input.ts";

const T0 = Date.UTC(2026, 10, 22);
const SIZE = 10;
const SHAPE = initialForm(SIZE);
const ERROR = new DuckmirrorError("REQUEST_FAILED", { endpoint: "GET /v1/signals", detail: "400" });

const opened = (mode: ScopeMode, { rows = 0, ...more }: Partial<ReadingOrder> & { rows?: number } = {}): ListState =>
  openList({
    order: { stream: "signals", scope: "", mode, overlap: false, ...more },
    before: rows === 0 ? undefined : idleState({ stream: "signals", scope: "", at: T0 }, { watermark: T0 }),
    shape: SHAPE,
    rows,
    runId: "r",
    now: T0,
  });

const facts = (more: Partial<Facts> = {}): Facts => ({
  ...{ runId: "r", now: T0, shape: SHAPE, room: 3, rows: null, filtered: false, seen: 0, matching: null },
  ...more,
});
const goOn = (more: Partial<Facts> = {}): ListEvent => ({ kind: "go-on", facts: facts(more) });

/** Tells the list events one after the other; the effects are those of the last. */
const told = (state: ListState, ...events: readonly ListEvent[]) => {
  let effects: readonly Effect[] = [];
  let now = state;
  for (const event of events) ({ state: now, effects } = next(now, event));
  return { state: now, effects, kinds: effects.map(({ kind }) => kind) };
};

/** The page of a list of `ids`, newest first. */
const pageOf = (read: ReadRequest, ids: readonly number[]): PageRead => {
  const start = (read.page - 1) * read.perPage;
  const rows = ids.slice(start, start + read.perPage);
  return { ...read, ids: rows.map(String), rows: rows.length, values: rows.map((id) => T0 + id), total: ids.length };
};
const counts = (inserted: number, unchanged = 0) => ({ inserted, updated: 0, unchanged, rejected: 0 });
const newestFirst = (rows: number) => Array.from({ length: rows }, (_, nth) => rows - nth);
/** The first page of a list of 95 rows is sent, and received. */
const FIRST: ReadRequest = { page: 1, perPage: SIZE, role: "cover" };
const FIRST_SENT: ListEvent = { kind: "sent", read: FIRST };
const FIRST_PAGE: ListEvent = { kind: "page", read: pageOf(FIRST, newestFirst(95)), receivedAt: T0 };

/** Reads a list to its end as a run does; `seen` counts distinct ids, like the mirror. */
const readThrough = (first: ListState, idsAt: (answer: number) => readonly number[], held: readonly number[] = []) => {
  let state = first;
  let answers = 0;
  const seen = new Set<string>();
  const mirrored = new Set(held.map(String));
  const tell = (event: ListEvent): readonly Effect[] => {
    const transition = next(state, event);
    state = transition.state;
    return transition.effects;
  };
  for (let step = 0; step < 400; step++) {
    const effects = tell(goOn({ seen: seen.size }));
    const last = effects.at(-1)?.kind;
    if (effects.length > 0 && last !== "go-on") return { state, effects, answers, seen };
    const [read] = requestsOf(state).unsent;
    if (read === undefined) continue;
    tell({ kind: "sent", read });
    const page = pageOf(read, idsAt(answers++));
    const fresh = page.ids.filter((id) => !mirrored.has(id)).length;
    tell({ kind: "page", read: page, receivedAt: T0 });
    for (const id of page.ids) {
      seen.add(id);
      mirrored.add(id);
    }
    tell({ kind: "loaded", counts: counts(fresh, page.rows - fresh), repeated: false });
  }
  return { state, effects: [], answers, seen };
};

describe("a walk", () => {
  test("of a list that stays as it is costs its pages and adds up", () => {
    const { effects, answers } = readThrough(opened("walk"), () => newestFirst(95));
    expect(answers).toBe(10);
    expect(effects).toContainEqual({ kind: "end", verdict: { whole: true, addsUp: true } });
  });

  test("that shows fewer ids than the mirror holds ends in deleting, behind the guards", () => {
    const { state, effects } = readThrough(opened("walk", { rows: 99 }), () => newestFirst(35));
    expect([state.kind, effects.map(({ kind }) => kind)]).toEqual(["deleting", ["content", "compared", "delete"]]);
  });

  test("that does not add up closes its gap; then only its changes are read, and they end it", () => {
    const walk = readThrough(opened("walk", { rows: 30 }), (answer) => newestFirst(answer < 2 ? 35 : 34));
    expect(walk.effects.map(({ kind }) => kind)).toEqual(["content", "close-gap"]);
    const closing = told(walk.state, { kind: "read-changes", shape: SHAPE });
    expect([closing.state.kind, closing.kinds]).toEqual(["closing", ["go-on"]]);
    const { effects } = readThrough(closing.state, () => newestFirst(34));
    expect(effects).toEqual([{ kind: "end-closing", agrees: expect.any(Boolean) }]);
  });

  test("asks for nothing from a refused row on, and fails once everything before it was read", () => {
    const loaded = { kind: "loaded", counts: counts(10), repeated: false } as const;
    const paged = told(opened("walk"), goOn(), FIRST_SENT, FIRST_PAGE, loaded, goOn());
    expect(requestsOf(paged.state).unsent.map(({ page }) => page)).toEqual([2, 3, 4]);
    const refused = told(paged.state, { kind: "page-refused", at: { row: 20, error: ERROR }, shape: SHAPE }, goOn());
    expect(requestsOf(refused.state).unsent.map(({ page }) => page)).toEqual([2]);
    const { effects } = readThrough(refused.state, () => newestFirst(95));
    expect(effects).toMatchObject([{ kind: "fail", resumable: true, error: { code: "LIST_TOO_DEEP" } }]);
  });
});

describe("a reading of changes", () => {
  test("ends where a page holds nothing new and the counts agree", () => {
    const loaded = { kind: "loaded", counts: counts(0, 10), repeated: false } as const;
    const first = opened("watermark", { rows: 95 });
    const { effects } = told(first, goOn(), FIRST_SENT, FIRST_PAGE, loaded, goOn());
    expect(effects).toContainEqual({ kind: "end", verdict: { whole: false, addsUp: false } });
  });

  test("whose counts differ looks for what is gone before the list is walked", () => {
    const { state, effects } = readThrough(opened("watermark", { rows: 200 }), () => newestFirst(95));
    expect(effects).toMatchObject([{ kind: "find-gone" }]);
    const because = "the service counts 95 rows, the mirror 200";
    const walk = told(state, { kind: "walk", because, shape: SHAPE, runId: "r", now: T0 });
    expect([readingOf(walk.state)?.progress.kind, walk.kinds]).toEqual(["walk", ["note", "mode", "go-on"]]);
  });
});

describe("a page that cannot be had", () => {
  const left = { kind: "left", at: { row: 20, error: ERROR }, shape: SHAPE, runId: "r", now: T0 } as const;

  test("is left: the changes show that the list still has it, so the list fails and keeps its cursor", () => {
    const detour = told(opened("walk", { rows: 95 }), left);
    expect([detour.state.kind, detour.kinds]).toEqual(["detour", ["mode", "go-on"]]);
    const { state, effects } = readThrough(detour.state, () => newestFirst(95));
    expect(effects).toMatchObject([{ kind: "fail", resumable: true }]);
    expect(walkingState(state, "r")).toMatchObject({ status: "idle", watermark: T0 + 95 });
  });

  test("or that it has become shorter, so it is walked from its head", () => {
    const { state, effects } = readThrough(
      told(opened("walk", { rows: 15 }), left).state,
      () => newestFirst(15),
      newestFirst(15),
    );
    expect(state.kind).toBe("reading");
    expect(effects).toContainEqual({ kind: "end", verdict: { whole: true, addsUp: true } });
  });
});

test("a record is asked for once, and again if the request was not sent", () => {
  const record = opened("detail", { scope: "detail:7" });
  expect(told(record, { kind: "sent", read: null }).state).toMatchObject({ kind: "single", asked: true });
  const again = told(record, { kind: "sent", read: null }, { kind: "unsent", read: null });
  expect(again.state).toMatchObject({ asked: false });
  expect(told(record, { kind: "absent" }).state).toMatchObject({ kind: "deleting", reading: null });
});

test("a company that is gone loses its rows; one that goes while its list is read fails", () => {
  const filings = opened("known", { stream: "filings", scope: "c_1", rows: 3 });
  expect(told(filings, { kind: "absent" }).kinds).toEqual(["content", "compared", "delete"]);
  expect(told(filings, FIRST_PAGE, { kind: "absent" }).effects).toMatchObject([{ kind: "fail", resumable: false }]);
});

test("pages that were under way are added to a list that failed, and its row keeps the failure", () => {
  const failure = { kind: "failed", error: ERROR, resumable: true } as const;
  const failed = told(opened("walk"), goOn(), FIRST_SENT, failure, FIRST_PAGE);
  expect(failed).toMatchObject({ state: { kind: "failed" }, effects: [] });
  expect(walkingState(failed.state, "r")).toMatchObject({ status: "walking", error: "REQUEST_FAILED" });
  expect(readingOf(failed.state)?.pages).toBe(1);
});

// Random events. The seed is printed by fast-check.
const reads = fc.record({
  page: fc.integer({ min: 1, max: 12 }),
  perPage: fc.constantFrom(5, SIZE),
  role: fc.constantFrom("cover" as const, "bridge" as const),
});
const rowCounts = fc.integer({ min: 0, max: 120 });
const begins = { shape: fc.constant(SHAPE), runId: fc.constant("r"), now: fc.constant(T0) };
const events: fc.Arbitrary<ListEvent> = fc.oneof(
  fc.record({
    kind: fc.constant("page" as const),
    read: fc.tuple(reads, rowCounts).map(([read, rows]) => pageOf(read, newestFirst(rows))),
    receivedAt: fc.constant(T0),
  }),
  fc.record({ kind: fc.constantFrom("lost" as const, "repeated" as const), read: reads }),
  fc.record({ kind: fc.constantFrom("sent" as const, "unsent" as const), read: fc.option(reads) }),
  fc.record({
    kind: fc.constant("loaded" as const),
    counts: fc.option(fc.integer({ min: 0, max: SIZE }).map((inserted) => counts(inserted))),
    repeated: fc.boolean(),
  }),
  fc.record({ kind: fc.constant("record" as const), version: fc.option(fc.constant(T0)) }),
  fc.record({ kind: fc.constant("form" as const), shape: fc.constantFrom(SHAPE, initialForm(5)) }),
  fc.record({
    kind: fc.constant("refused-form" as const),
    shape: fc.constant(SHAPE),
    remembers: fc.boolean(),
    later: fc.boolean(),
  }),
  fc.record({ kind: fc.constant("pages-of" as const), size: fc.constantFrom(3, SIZE), exactly: fc.boolean() }),
  fc.record({
    kind: fc.constant("page-refused" as const),
    at: rowCounts.map((row) => ({ row, error: ERROR })),
    shape: fc.constant(SHAPE),
  }),
  fc.record({ kind: fc.constant("left" as const), at: rowCounts.map((row) => ({ row, error: ERROR })), ...begins }),
  fc.record({ kind: fc.constant("rows" as const), by: fc.integer({ min: -3, max: 3 }) }),
  fc.record({
    kind: fc.constant("go-on" as const),
    facts: fc.record({ seen: rowCounts, matching: fc.option(rowCounts), rows: fc.option(rowCounts) }).map(facts),
  }),
  fc.record({ kind: fc.constant("walk" as const), because: fc.constant("x"), ...begins }),
  fc.record({ kind: fc.constant("read-changes" as const), shape: fc.constant(SHAPE) }),
  fc.record({ kind: fc.constantFrom("absent" as const, "believed-no-more" as const, "finished" as const) }),
  fc.record({ kind: fc.constant("counted" as const), total: rowCounts }),
  fc.record({ kind: fc.constant("failed" as const), error: fc.constant(ERROR), resumable: fc.boolean() }),
);
const starts = fc
  .tuple(fc.constantFrom<ScopeMode>("walk", "watermark", "filter", "known", "log", "detail"), fc.constantFrom(0, 40))
  .map(([mode, rows]) => opened(mode, { rows }));

describe("any events in any order", () => {
  test("every state takes every event, can be stored, and stays what it was before the event", () => {
    fc.assert(
      fc.property(starts, fc.array(events, { maxLength: 40 }), (first, all) => {
        let state = first;
        for (const event of all) {
          const before = JSON.stringify(walkingState(state, "r"));
          const { state: after } = next(state, event);
          expect(JSON.stringify(walkingState(state, "r"))).toBe(before);
          state = after;
          const row = finishedState(liveOf(state), { whole: true, addsUp: false, now: T0, runId: "r" });
          expect(row).toMatchObject({ status: "idle", cursor: null });
        }
      }),
      { numRuns: 400 },
    );
  });

  test("what has ended stays so; only a list that adds up deletes; a refused row is never asked for again", () => {
    fc.assert(
      fc.property(starts, fc.array(events, { maxLength: 40 }), (first, all) => {
        let state = first;
        for (const event of all) {
          const transition = next(state, event);
          const { state: after, effects } = transition;
          if (state.kind === "finished" || state.kind === "failed") {
            expect([after.kind, effects]).toEqual([state.kind, []]);
          }
          const deletes = effects.some(({ kind }) => kind === "delete");
          if (deletes && event.kind !== "absent") expect(effects.map(({ kind }) => kind)).toContain("compared");
          if (after.kind === "reading" && after.refused !== null && event.kind === "go-on") {
            const { refused, reading, requests } = after;
            const isWalk = reading.progress.kind === "walk";
            const rows = requests.unsent.map(({ page, perPage }) => (page - 1) * perPage);
            if (isWalk) expect(rows.filter((row) => row >= refused.row)).toEqual([]);
          }
          state = after;
        }
      }),
      { numRuns: 400 },
    );
  });

  test("a list that is read to its end ends, however it moves meanwhile", () => {
    fc.assert(
      fc.property(
        fc.constantFrom<ScopeMode>("walk", "watermark", "known"),
        fc.constantFrom(0, 40, 200),
        fc.array(fc.integer({ min: 60, max: 80 }), { minLength: 1, maxLength: 30 }),
        (mode, rows, lengths) => {
          const lengthAt = (answer: number) => lengths[Math.min(answer, lengths.length - 1)] ?? 70;
          const { effects, state } = readThrough(opened(mode, { rows }), (answer) => newestFirst(lengthAt(answer)));
          expect(isActive(state) && effects.length === 0).toBe(false);
        },
      ),
      { numRuns: 200 },
    );
  });
});

/** A first walk of 25 rows, `msAPage` between two pages; the counts agree at its end. */
const slowWalk = (msAPage: number) => {
  let state = opened("walk");
  const ids = newestFirst(25);
  for (const page of [1, 2, 3]) {
    const read: ReadRequest = { page, perPage: SIZE, role: "cover" };
    const received = { kind: "page", read: pageOf(read, ids), receivedAt: T0 + page * msAPage } as const;
    const loaded = { kind: "loaded", counts: counts(Math.min(SIZE, 25 - (page - 1) * SIZE)), repeated: false } as const;
    ({ state } = told(state, received, loaded));
  }
  return state;
};

test("a walk that adds up is complete if it was read in a moment; after a time its changes are read, and rows that came with them make it unproven", () => {
  expect(told(slowWalk(100), goOn({ seen: 25 })).kinds).toEqual(["content", "compared", "end"]);
  const slow = told(slowWalk(20_000), goOn({ seen: 25 }));
  expect(slow.kinds).toEqual(["content", "compared", "close-gap"]);
  const closing = told(slow.state, { kind: "read-changes", shape: SHAPE }).state;
  expect(closing).toMatchObject({ kind: "closing", still: 25, reading: { progress: { kind: "watermark" } } });
  if (!isActive(closing)) throw new TypeError("it is closing");
  expect(isBelieved(closing)).toBe(true);
  const came = told(closing, { kind: "loaded", counts: counts(1), repeated: false }).state;
  expect(isBelieved(liveOf(came))).toBe(false);
});

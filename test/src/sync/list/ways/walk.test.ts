// Strategies walk and known: what any reading of a moving list must show, then each decision by itself.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { overlappingPages } from "../../../../../src/sync/list/coverage/page-geometry.ts";
import type { PageRead, Proof, ReadRequest } from "../../../../../src/sync/list/coverage/read-types.ts";
import { acceptRead, nextStep } from "../../../../../src/sync/list/ways/progress.ts";
import {
  acceptWalk,
  nextWalk,
  secondPass,
  startKnown,
  startWalk,
  type WalkState,
  wantsSecondPass,
} from "../../../../../src/sync/list/ways/walk.ts";
import { type ListKind, type MovingList, movingList } from "../../../../support/moving-list.ts";
import { cover, descending, facts, NOTHING_NEW, page, resumed } from "./readings.ts";

const SEED = 20261121;
/**
 * `npm run test:long` draws 4,000. Fewest where every line is mutated: a mutant that survives few cases
 * is looked at by hand.
 */
const RUNS = Number(process.env.DUCKMIRROR_PROPERTY_RUNS ?? 400);

interface History {
  readonly kind: ListKind;
  readonly rows: number;
  readonly size: number;
  /** Rows the service really returns at most: smaller than `size` means a silent clamp. */
  readonly granted: number;
  readonly room: number;
  readonly overlap: boolean;
  /** Before each answer: inserts, deletes, and which read in flight is answered next. */
  readonly events: readonly { readonly inserts: number; readonly removes: readonly number[]; readonly pick: number }[];
  /** Answers after which the process dies and resumes from what it stored. */
  readonly crashes: readonly number[];
}

interface Walked {
  readonly seen: ReadonlySet<string>;
  readonly reads: number;
  readonly addsUp: boolean;
  readonly proven: boolean;
  readonly list: MovingList;
  readonly throughout: ReadonlySet<string>;
}

const walk = (history: History): Walked => {
  const list = movingList(history.kind, history.rows);
  const throughout = new Set(list.order());
  const seen = new Set<string>();
  const proof = history.kind === "numeric-desc" ? "descending" : "identity";
  let progress = startWalk({ size: history.size, overlap: history.overlap, proof }) as ReturnType<
    typeof nextStep
  >["progress"];
  let inFlight: ReadRequest[] = [];
  let reads = 0;
  for (;;) {
    const held = facts({ rows: seen.size, seen: seen.size });
    const next = nextStep(progress, held, inFlight, Math.max(0, history.room - inFlight.length), "id");
    progress = next.progress;
    if (next.step.kind === "done") {
      const proven = progress.kind === "walk" && progress.coverage.proven;
      return { seen, reads, addsUp: next.step.addsUp, proven, list, throughout };
    }
    if (next.step.kind === "read") inFlight = [...inFlight, ...next.step.reads];
    if (inFlight.length === 0) throw new Error("the walk waits for nothing");
    const event = history.events[reads];
    for (let n = 0; n < (event?.inserts ?? 0); n++) list.insert();
    for (const at of event?.removes ?? []) list.remove(at);
    for (const id of [...throughout]) if (!list.order().includes(id)) throughout.delete(id);
    const request = inFlight[(event?.pick ?? 0) % inFlight.length];
    if (request === undefined) throw new Error("no read in flight");
    inFlight = inFlight.filter((read) => read !== request);
    const page: PageRead = list.read(request, history.granted);
    for (const id of page.ids) seen.add(id);
    progress = acceptRead(progress, page);
    reads += 1;
    if (history.crashes.includes(reads)) {
      inFlight = [];
      const again = resumed(progress);
      if (again === undefined) throw new Error("stored progress is not readable");
      progress = again;
    }
    if (reads > 5000) throw new Error("the walk does not end");
  }
};

const event = fc.record({
  inserts: fc.integer({ min: 0, max: 3 }),
  removes: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 3 }),
  pick: fc.nat(20),
});
const histories = (moving: boolean): fc.Arbitrary<History> =>
  fc.record({
    kind: fc.constantFrom<ListKind>("numeric-desc", "opaque-desc", "newest-first", "newest-last"),
    rows: fc.integer({ min: 0, max: 300 }),
    size: fc.integer({ min: 7, max: 60 }),
    granted: fc.integer({ min: 7, max: 60 }),
    room: fc.integer({ min: 1, max: 8 }),
    overlap: fc.boolean(),
    events: moving
      ? fc.array(event, { maxLength: 60 })
      : fc.array(fc.record({ inserts: fc.constant(0), removes: fc.constant([]), pick: fc.nat(20) }), { maxLength: 60 }),
    crashes: fc.array(fc.integer({ min: 1, max: 30 }), { maxLength: 3 }),
  });

test(`a walk of an unchanged list sees every row, adds up and reads no page more than needed (seed ${SEED})`, () => {
  fc.assert(
    fc.property(histories(false), (history) => {
      const { seen, addsUp, list, reads } = walk(history);
      expect(addsUp).toBe(true);
      expect([...seen].sort()).toEqual([...list.order()].sort());
      const size = Math.min(history.size, history.granted);
      if (history.crashes.length > 0) return;
      // Pages share a row unless growing ids join them; one that is read anew may be short.
      if (history.kind !== "numeric-desc") expect(reads).toBe(overlappingPages(history.rows, size));
      else if (!history.overlap) expect(reads).toBe(Math.max(1, Math.ceil(history.rows / size)));
    }),
    { seed: SEED, numRuns: RUNS },
  );
});

test(`a walk that adds up, of a first mirror or not, has seen every row that was there throughout (seed ${SEED})`, () => {
  fc.assert(
    fc.property(histories(true), (history) => {
      const { seen, addsUp, throughout } = walk(history);
      if (addsUp) expect([...throughout].filter((id) => !seen.has(id))).toEqual([]);
    }),
    { seed: SEED, numRuns: RUNS },
  );
});

test("a row that moves up between two pages of a first mirror is read, although a new row below keeps the count", () => {
  const steady = { inserts: 0, removes: [], pick: 0 };
  const history: History = {
    kind: "newest-last",
    rows: 150,
    size: 100,
    granted: 100,
    room: 1,
    overlap: false,
    events: [steady, { inserts: 1, removes: [0], pick: 0 }],
    crashes: [],
  };
  const { seen, throughout, addsUp } = walk(history);
  expect([...throughout].filter((id) => !seen.has(id))).toEqual([]);
  // The deleted row is still held, and only a further walk or its id can show that it is gone.
  expect(addsUp).toBe(false);
  expect(walk({ ...history, events: [] }).reads).toBe(2);
});

test(`a proven walk with overlapping pages misses no row that was there throughout, adding up or not (seed ${SEED})`, () => {
  fc.assert(
    fc.property(histories(true), (history) => {
      const { seen, proven, throughout } = walk({ ...history, overlap: true });
      if (proven) expect([...throughout].filter((id) => !seen.has(id))).toEqual([]);
    }),
    { seed: SEED, numRuns: RUNS },
  );
});

test(`growing ids read one page at a time from the newest miss no row, although pages do not overlap (seed ${SEED})`, () => {
  fc.assert(
    fc.property(histories(true), (history) => {
      const { seen, proven, throughout } = walk({
        ...history,
        kind: "numeric-desc",
        room: 1,
        overlap: false,
        crashes: [],
      });
      if (proven) expect([...throughout].filter((id) => !seen.has(id))).toEqual([]);
    }),
    { seed: SEED, numRuns: RUNS },
  );
});

describe("each decision", () => {
  const start = startWalk({ size: 5, overlap: false, proof: "descending" });
  const whole = acceptWalk(start, page({ ids: descending(3, 3), total: 3 }));

  test("it starts at the head, alone", () => {
    expect(start).toMatchObject({ kind: "walk", ordered: true, pass: 1, headReads: 0, headJoined: false });
    expect(nextWalk(start, facts(), [], 4)).toEqual({ kind: "read", reads: [cover(1)] });
    expect(nextWalk(start, facts(), [cover(1)], 4)).toEqual({ kind: "wait" });
    expect(nextWalk(start, facts(), [], 0)).toEqual({ kind: "wait" });
  });

  test("a complete one waits for what is still in flight, then says whether it adds up", () => {
    expect(nextWalk(whole, facts({ seen: 3 }), [cover(2)], 4)).toEqual({ kind: "wait" });
    const done = { kind: "done", whole: true } as const;
    expect(nextWalk(whole, facts({ seen: 3 }), [], 4)).toEqual({ ...done, addsUp: true });
    expect(nextWalk(whole, facts({ seen: 2, rejected: 1 }), [], 4)).toMatchObject({ addsUp: true });
    expect(nextWalk(whole, facts({ seen: 2 }), [], 4)).toEqual({ ...done, addsUp: false });
    expect(nextWalk(whole, facts({ seen: 4 }), [], 4)).toMatchObject({ addsUp: false });
  });

  test("without a count, a list adds up that ends within a page, or whose rows cannot change places", () => {
    const short = page({ ids: descending(3, 3), perPage: 30 });
    const first = acceptWalk(startWalk({ size: 30, overlap: false, proof: "identity" }), short);
    expect(nextWalk(first, facts({ seen: 3 }), [], 4)).toEqual({ kind: "read", reads: [cover(2, 2)] });
    // The page after it holds its last row and no other.
    const asked = acceptWalk(first, page({ page: 2, ids: ["1"], perPage: 2 }));
    expect(nextWalk(asked, facts({ seen: 3 }), [], 4)).toMatchObject({ addsUp: false, whole: true });
    expect(nextWalk({ ...asked, proof: "descending" }, facts({ seen: 3 }), [], 4)).toMatchObject({ addsUp: true });
    const ordered: WalkState = { ...asked, proof: "descending" };
    expect(nextWalk(ordered, facts({ seen: 2, rejected: 1 }), [], 4)).toMatchObject({ addsUp: true });
    expect(nextWalk(ordered, facts({ seen: 2 }), [], 4)).toMatchObject({ addsUp: false });
    const small = acceptWalk(startWalk({ size: 30, overlap: false, proof: "identity" }), { ...short, granted: 4 });
    expect(nextWalk(small, facts({ seen: 3 }), [], 4)).toMatchObject({ addsUp: true });
    const full: WalkState = { ...small, coverage: { ...small.coverage, end: 30 } };
    expect(nextWalk(full, facts({ seen: 30 }), [], 4)).toEqual({ kind: "done", addsUp: false, whole: true });
  });

  test("rows that may change places must have stood still; ordered ones need not", () => {
    const moved: WalkState = { ...whole, coverage: { ...whole.coverage, moved: true } };
    expect(nextWalk(moved, facts({ seen: 3 }), [], 4)).toMatchObject({ addsUp: true });
    expect(nextWalk({ ...moved, ordered: false }, facts({ seen: 3 }), [], 4)).toMatchObject({ addsUp: false });
    expect(nextWalk({ ...whole, ordered: false }, facts({ seen: 3 }), [], 4)).toMatchObject({ addsUp: true });
    const unproven: WalkState = { ...whole, coverage: { ...whole.coverage, proven: false } };
    expect(nextWalk(unproven, facts({ seen: 3 }), [], 4)).toMatchObject({ addsUp: false });
  });

  test("a page out of order ends the reliance on ids, and on places", () => {
    expect(whole).toMatchObject({ proof: "descending", ordered: true });
    const text = acceptWalk(
      startWalk({ size: 5, overlap: false, proof: "identity" }),
      page({ ids: ["c", "b", "a"], total: 3 }),
    );
    expect(text).toMatchObject({ proof: "identity", ordered: true });
    const mixed = acceptWalk(start, page({ ids: ["1", "3", "2"], total: 3 }));
    expect(mixed).toMatchObject({ proof: "identity", ordered: false });
    expect(acceptWalk(mixed, page({ page: 2, ids: ["1"], total: 6 }))).toMatchObject({ ordered: false });
    expect(acceptWalk(start, page({ ids: [], total: 0 }))).toMatchObject({ proof: "descending", ordered: true });
  });

  test("a list of growing ids that moved and came up short is looked at from the head again, twice at most", () => {
    const short: WalkState = { ...whole, coverage: { ...whole.coverage, moved: true, total: 4 } };
    const head = (number: number) => ({ kind: "read", reads: [{ page: number, perPage: 5, role: "head" }] });
    expect(nextWalk(short, facts({ seen: 3 }), [], 4)).toEqual(head(1));
    // Decided and not sent, it is decided again.
    expect(nextWalk(short, facts({ seen: 3 }), [], 4)).toEqual(head(1));
    const once = acceptWalk(short, page({ perPage: 5, role: "head", ids: ["9", "8", "7", "6", "5"], total: 4 }));
    expect(once).toMatchObject({ headReads: 1, headJoined: false });
    expect(acceptWalk(short, page({ page: 2, ids: ["1"], total: 6 })).headReads).toBe(0);
    expect(nextWalk(once, facts({ seen: 3 }), [], 4)).toEqual(head(2));
    expect(nextWalk({ ...once, headReads: 2 }, facts({ seen: 3 }), [], 4)).toMatchObject({ kind: "done" });
    expect(nextWalk({ ...short, headJoined: true }, facts({ seen: 3 }), [], 4)).toMatchObject({ kind: "done" });
    expect(nextWalk({ ...short, proof: "identity" }, facts({ seen: 3 }), [], 4)).toMatchObject({ kind: "done" });
    expect(nextWalk(short, facts({ seen: 3, rejected: 1 }), [], 4)).toMatchObject({ kind: "done" });
    const still: WalkState = { ...short, coverage: { ...short.coverage, moved: false } };
    expect(nextWalk(still, facts({ seen: 3 }), [], 4)).toMatchObject({ kind: "done" });
  });

  test("a list of several pages is looked at from the head although it did not move, unless it ends before its count again", () => {
    const long: WalkState = { ...whole, coverage: { ...whole.coverage, end: 6, total: 7, endsEarly: true } };
    const held = { rows: 6, seen: 6 };
    expect(nextWalk(long, facts(held), [], 4)).toMatchObject({ kind: "read", reads: [{ role: "head" }] });
    expect(nextWalk(long, facts({ ...held, acceptedGap: 1 }), [], 4)).toMatchObject({ kind: "done" });
    const onePage: WalkState = { ...long, coverage: { ...long.coverage, end: 5 } };
    expect(nextWalk(onePage, facts(held), [], 4)).toMatchObject({ kind: "done" });
  });

  test("a look at the head joins where it meets a known id, and takes over count and head", () => {
    const joined = acceptWalk(whole, page({ role: "head", ids: ["5", "4", "3"], total: 5 }));
    expect(joined).toMatchObject({ headJoined: true, coverage: { total: 5, head: ["5", "4", "3"], end: 3 } });
    const apart = acceptWalk(whole, page({ role: "head", ids: descending(30, 10), total: null }));
    expect(apart).toMatchObject({ headJoined: false, coverage: { total: 3, head: descending(30, 8) } });
    expect(acceptWalk(joined, page({ role: "head", ids: ["9"], total: 5 })).headJoined).toBe(true);
    // Another first row shows that a list grew which seemed unchanged; of one that moved, it shows nothing new.
    const same = acceptWalk(whole, page({ role: "head", ids: ["3", "2"], total: 3 }));
    expect([same, joined, acceptWalk(joined, page({ role: "head", ids: ["5"], total: 5 }))]).toMatchObject([
      { grew: false, coverage: { moved: false } },
      { grew: true, coverage: { moved: true } },
      { grew: true, coverage: { moved: true } },
    ]);
    const moved: WalkState = { ...whole, coverage: { ...whole.coverage, moved: true } };
    expect(acceptWalk(moved, page({ role: "head", ids: ["5", "4"], total: 5 }))).toMatchObject({ grew: false });
  });

  test("a second pass is for a complete list that was not proven and came up short; it begins at the head, and its pages share rows", () => {
    const short: WalkState = { ...whole, coverage: { ...whole.coverage, total: 4, proven: false } };
    expect(wantsSecondPass(short, facts({ seen: 3 }))).toBe(true);
    expect(wantsSecondPass(short, facts({ seen: 3, rejected: 1 }))).toBe(false);
    expect(wantsSecondPass({ ...short, pass: 2 }, facts({ seen: 3 }))).toBe(false);
    const proven = { ...short, coverage: { ...short.coverage, proven: true } };
    expect(wantsSecondPass(proven, facts({ seen: 3 }))).toBe(false);
    // It ended as far before its count as the walk before, which met every mirrored row: another pass ends there again.
    const early: WalkState = { ...short, coverage: { ...short.coverage, endsEarly: true } };
    const again = { rows: 3, seen: 3, acceptedGap: 1 };
    expect(wantsSecondPass(early, facts(again))).toBe(false);
    expect(wantsSecondPass(short, facts(again))).toBe(true);
    expect(wantsSecondPass(early, facts({ ...again, acceptedGap: 2 }))).toBe(true);
    expect(wantsSecondPass(early, facts({ ...again, seen: 2 }))).toBe(true);
    expect(secondPass(short)).toMatchObject({
      pass: 2,
      proof: "descending",
      coverage: { size: 5, overlap: true, end: 0 },
    });
  });
});

const walkBy = (proof: Proof, overlap = false, size = 5) => startWalk({ size, overlap, proof });

describe("pages share a row", () => {
  test("from the start where only shared ids are proof, or rows may be deleted", () => {
    const overlaps = (proof: Proof, overlap: boolean) => walkBy(proof, overlap).coverage.overlap;
    expect([overlaps("identity", false), overlaps("descending", true), overlaps("descending", false)]).toEqual([
      true,
      true,
      false,
    ]);
  });

  test("and from the first page out of order on", () => {
    const overlapAfter = (state: WalkState, ids: readonly string[]) =>
      acceptWalk(state, page({ ids, total: 9 })).coverage.overlap;
    expect(overlapAfter(walkBy("descending"), ["5", "4", "3", "2", "1"])).toBe(false);
    expect(overlapAfter(walkBy("descending"), ["1", "5", "4", "3", "2"])).toBe(true);
    expect(overlapAfter(walkBy("descending", true), ["5", "4", "3", "2", "1"])).toBe(true);
  });
});

describe("the order of a list", () => {
  test.each([
    {
      rule: "rows of one page show it",
      read: page({ ids: descending(9, 5), total: 9 }),
      proof: "descending",
      ordered: true,
    },
    { rule: "an id twice is none", read: page({ ids: ["c", "c", "b"], total: 3 }), proof: "identity", ordered: false },
    {
      rule: "pages of one row look ordered and show none",
      read: page({ ids: ["9"], total: 3 }),
      proof: "identity",
      ordered: false,
    },
  ] satisfies { rule: string; read: PageRead; proof: Proof; ordered: boolean }[])(
    "$rule",
    ({ read, proof, ordered }) => {
      expect(acceptWalk(walkBy("descending"), read)).toMatchObject({ proof, ordered });
    },
  );

  test("nor does a page of one row where the service grants no more", () => {
    const one = acceptWalk(walkBy("descending", false, 1), page({ perPage: 1, ids: ["9"], total: 3 }));
    expect(one).toMatchObject({ proof: "identity", ordered: false });
  });
});

describe("known: a page of nothing new ends it if the counts agree", () => {
  const start = startKnown({ size: 5 });
  const first = acceptWalk(start, page({ ids: ["a", "b", "c", "d", "e"], total: 9 }));

  test("a page of nothing new with counts that agree suffices; anything else is read to the end", () => {
    expect(start).toMatchObject({ kind: "known", proof: "identity", coverage: { overlap: true, size: 5 } });
    expect(nextWalk(start, facts(), [], 4)).toEqual({ kind: "read", reads: [cover(1)] });
    expect(nextWalk(start, facts({ rows: 0, last: NOTHING_NEW }), [], 4)).toMatchObject({ kind: "read" });
    expect(nextWalk(first, facts({ rows: 9, last: NOTHING_NEW }), [cover(2)], 4)).toEqual({ kind: "wait" });
    expect(nextWalk(first, facts({ rows: 9, last: NOTHING_NEW }), [], 4)).toEqual({
      kind: "done",
      addsUp: false,
      whole: false,
    });
    expect(nextWalk(first, facts({ rows: 8, acceptedGap: 1, last: NOTHING_NEW }), [], 4)).toMatchObject({
      kind: "done",
    });
    for (const other of [
      facts({ rows: 9 }),
      facts({ rows: 8, last: NOTHING_NEW }),
      facts({ rows: 10, last: NOTHING_NEW }),
      facts({ rows: 9, last: { ...NOTHING_NEW, inserted: 1 } }),
      facts({ rows: 9, last: { ...NOTHING_NEW, updated: 1 } }),
    ]) {
      expect(nextWalk(first, other, [], 4)).toMatchObject({ kind: "read" });
    }
    const { coverage } = first;
    const uncounted = { ...first, coverage: { ...coverage, total: null } };
    expect(nextWalk(uncounted, facts({ rows: 0, last: NOTHING_NEW }), [], 4)).toMatchObject({ kind: "read" });
    const bridging = { ...first, coverage: { ...coverage, bridgeAt: 3 } };
    expect(nextWalk(bridging, facts({ rows: 9, last: NOTHING_NEW }), [], 4)).toMatchObject({
      kind: "read",
      reads: [{ role: "bridge" }],
    });
  });

  test("a whole list adds up, so that it may delete", () => {
    const whole = acceptWalk(start, page({ ids: ["a"], total: 1 }));
    expect(nextWalk(whole, facts({ rows: 2, seen: 1, last: NOTHING_NEW }), [], 4)).toMatchObject({
      kind: "done",
      addsUp: true,
      whole: true,
    });
    expect(nextWalk(whole, facts({ rows: 1, seen: 1, last: NOTHING_NEW }), [], 4)).toMatchObject({ addsUp: true });
  });
});

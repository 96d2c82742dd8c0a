// Every walk ends, whatever the service answers: tiny pages, wrong counts, the same pages again and again. And while
// a list stays as it is, every row is read. Shows P2.
import fc from "fast-check";
import { expect, test } from "vitest";
import type { PageRead, ReadRequest } from "../../../../../src/sync/list/coverage/read-types.ts";
import {
  acceptWalk,
  nextWalk,
  secondPass,
  startWalk,
  wantsSecondPass,
} from "../../../../../src/sync/list/ways/walk.ts";
import { facts } from "./readings.ts";

const SEED = 20_261_122;
const RUNS = Number(process.env.DUCKMIRROR_PROPERTY_RUNS ?? 1_000);

/** Reads during which the list changes: rows that go round for ever under a service that repeats its last page never end. */
const MOST_CHANGED = 300;

const world = fc.record({
  rows: fc.integer({ min: 0, max: 70 }),
  /** Largest page that the service grants. */
  cap: fc.integer({ min: 1, max: 13 }),
  /** How wrong `totalCount` is; null: there is none. */
  error: fc.option(fc.integer({ min: -3, max: 4 })),
  saysPages: fc.boolean(),
  saysGranted: fc.boolean(),
  beyond: fc.constantFrom("empty", "last", "around"),
  /** The service answers with the first pages only, however many the list has; null: with all. */
  pagesOnly: fc.constantFrom(null, null, null, 1, 2, 3),
  overlap: fc.boolean(),
  proof: fc.constantFrom("descending", "identity"),
  /** False: the service ignores the requested order. */
  sorted: fc.boolean(),
  concurrency: fc.integer({ min: 1, max: 6 }),
  /** After this number of answers rows come and go; 0: never. */
  changesEvery: fc.constantFrom(0, 0, 0, 2, 5),
  /** Where the order is not that of the ids, a row moves to the head instead. */
  moves: fc.boolean(),
  /** Rows of the mirror that the list does not hold any more. */
  gone: fc.integer({ min: 0, max: 2 }),
});
type World = typeof world extends fc.Arbitrary<infer T> ? T : never;

const walkThrough = (given: World) => {
  // 71 is a prime, so the other order holds each id once.
  let ids = Array.from({ length: given.rows }, (_, at) => String(1_000 - (given.sorted ? at : (at * 37) % 71)));
  const throughout = new Set(ids);
  const seen = new Set<string>();
  let born = 1_000;
  let reads = 0;
  const answer = (request: ReadRequest): PageRead => {
    reads += 1;
    if (given.changesEvery > 0 && reads <= MOST_CHANGED && reads % given.changesEvery === 0) {
      const at = (reads * 7) % (ids.length + 1);
      const [moved] = given.moves && given.proof === "identity" ? ids.slice(-1) : [];
      born += 1;
      ids = moved === undefined ? [String(born), ...ids.filter((_, row) => row !== at)] : [moved, ...ids.slice(0, -1)];
      for (const id of throughout) if (!ids.includes(id)) throughout.delete(id);
    }
    const granted = Math.min(request.perPage, given.cap);
    const pages = Math.ceil(ids.length / granted);
    const last = Math.max(1, Math.min(pages, given.pagesOnly ?? pages));
    const beyond = { empty: request.page, last, around: ((request.page - 1) % last) + 1 };
    const page = request.page > last ? beyond[given.pagesOnly === null ? given.beyond : "around"] : request.page;
    const chosen = ids.slice((page - 1) * granted, page * granted);
    for (const id of chosen) seen.add(id);
    const full = given.saysGranted && granted < request.perPage && chosen.length >= granted;
    const more = chosen.length > 0 && ((given.saysPages && pages > request.page && page === request.page) || full);
    const total = given.error === null ? null : Math.max(0, ids.length + given.error);
    return {
      ...request,
      ids: chosen,
      rows: chosen.length,
      values: [],
      total: total === 0 && chosen.length > 0 ? null : total,
      ...(more ? { more } : {}),
    };
  };
  let state = startWalk({ size: 1_000, overlap: given.overlap, proof: given.proof });
  let inFlight: ReadRequest[] = [];
  for (;;) {
    const held = facts({ rows: seen.size + given.gone, seen: seen.size });
    if (inFlight.length === 0 && wantsSecondPass(state, held)) state = secondPass(state);
    const step = nextWalk(state, held, inFlight, given.concurrency - inFlight.length);
    if (step.kind === "done") {
      const missed = ids.filter((id) => !seen.has(id)).length;
      return { step, reads, missed, lost: [...throughout].filter((id) => !seen.has(id)) };
    }
    if (step.kind === "read") inFlight = [...inFlight, ...step.reads];
    const request = inFlight.shift();
    if (request === undefined) throw new Error("the walk waits for nothing");
    state = acceptWalk(state, answer(request));
    if (reads > 5_000) throw new Error("the walk does not end");
  }
};

test(`a walk ends after a bounded number of reads (seed ${SEED})`, () => {
  fc.assert(
    fc.property(world, (given) => {
      const { step, reads } = walkThrough(given);
      expect(step.kind).toBe("done");
      const settles = given.changesEvery === 0 && given.pagesOnly === null && given.beyond !== "around";
      // Two passes of a list that grows by a row a read, or goes round, with the bridges of each link and of the whole walk.
      const pages = Math.ceil((given.rows + 60) / Math.max(1, Math.ceil(given.cap / 2)));
      expect(reads).toBeLessThan(settles ? 3 * pages + 100 : 12 * pages + 800);
    }),
    { seed: SEED, numRuns: RUNS },
  );
});

test(`every row of a list that stays as it is was read, unless the service says that there are fewer (seed ${SEED})`, () => {
  fc.assert(
    fc.property(world, (given) => {
      fc.pre(given.changesEvery === 0 && (given.error === null || given.error >= 0) && given.pagesOnly === null);
      expect(walkThrough(given).missed).toBe(0);
    }),
    { seed: SEED, numRuns: RUNS },
  );
});

test(`a list without a count that adds up lacks no row that was there throughout, so that none is deleted (seed ${SEED})`, () => {
  fc.assert(
    fc.property(world, (given) => {
      const { step, lost } = walkThrough({ ...given, error: null });
      if (step.kind === "done" && step.addsUp) expect(lost).toEqual([]);
    }),
    { seed: SEED, numRuns: RUNS },
  );
});

test(`a count that is too high never adds up (seed ${SEED})`, () => {
  fc.assert(
    fc.property(world, (given) => {
      fc.pre(given.error !== null && given.error > 0);
      const { step } = walkThrough(given);
      if (given.changesEvery === 0) expect(step.kind === "done" && step.addsUp).toBe(false);
    }),
    { seed: SEED, numRuns: RUNS },
  );
});

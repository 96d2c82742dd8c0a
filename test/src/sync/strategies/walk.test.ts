import fc from "fast-check";
import { expect, test } from "vitest";
import type { MirrorFacts, PageRead, ReadRequest } from "../../../../src/sync/strategies/contract.ts";
import { overlappingPages } from "../../../../src/sync/strategies/page-geometry.ts";
import { acceptRead, nextStep, resumeProgress, serialiseProgress } from "../../../../src/sync/strategies/progress.ts";
import { startWalk } from "../../../../src/sync/strategies/walk.ts";
import { type ListKind, type MovingList, movingList } from "../../../support/moving-list.ts";

const SEED = 20261121;
/**
 * `npm run test:long` draws 4,000. Fewest where every line is mutated (docs/MUTATION.md): a mutant that survives few cases
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
  const facts = (): MirrorFacts => ({
    rows: seen.size,
    matching: null,
    seen: seen.size,
    rejected: 0,
    last: null,
    acceptedGap: 0,
  });
  for (;;) {
    const next = nextStep(progress, facts(), inFlight, Math.max(0, history.room - inFlight.length), "id");
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
      const resumed = resumeProgress(serialiseProgress(progress));
      if (resumed === null) throw new Error("stored progress is not readable");
      progress = resumed;
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

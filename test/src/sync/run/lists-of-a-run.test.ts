// The lists of a run: which one starts next, which one's request goes next, in which form it is asked for, whose records may come
// along with insights, and how many pages it is expected to have. A list decides about one event at a time.
import { describe, expect, test } from "vitest";
import { ORGANIZATION_LISTS, type StreamName } from "../../../../src/catalog/streams.ts";
import { initialForm } from "../../../../src/sync/list/form.ts";
import { isActive, type ListState, openList } from "../../../../src/sync/list/state.ts";
import { type Candidate, stateKey } from "../../../../src/sync/plan/candidate.ts";
import { QUOTA_SCOPE } from "../../../../src/sync/plan/usage-scopes.ts";
import { LIST_WORTH } from "../../../../src/sync/plan/worth.ts";
import { enoughReady, mostValuable, nextCandidate } from "../../../../src/sync/run/backlog.ts";
import { pagesTotal } from "../../../../src/sync/run/dispatcher.ts";
import { Forms, isOneOfMany } from "../../../../src/sync/run/state/forms.ts";
import { type Deciding, OpenList } from "../../../../src/sync/run/state/open-list.ts";
import { Work } from "../../../../src/sync/run/state/work.ts";
import type { ScopeState } from "../../../../src/warehouse/record/checkpoint.ts";
import { due, idleState } from "../plan/planning-input.ts";

const aCandidate = ({ stream = "accounts", mode = "walk", ...more }: Partial<Candidate> = {}): Candidate =>
  due(stream, mode, { requests: null, ...more });
const firstOf = (order: Candidate): ListState =>
  openList({ order, before: undefined, shape: initialForm(10), rows: 0, runId: "r", now: 0 });
/** A list of a run that has sent nothing yet. */
const aList = (more: Partial<Candidate> = {}): OpenList => new OpenList(aCandidate(more), firstOf(aCandidate(more)));

/** A list with pages to send, and pages under way, after `pages` that were received. */
const reading = (more: Partial<Candidate>, { unsent = 0, sent = 0, pages = 0 }): OpenList => {
  const state = firstOf(aCandidate(more));
  if (!isActive(state)) throw new TypeError("no list");
  const wanted = Array.from({ length: unsent + sent }, (_, nth) => ({
    ...{ page: nth + 1, perPage: 10, role: "cover" as const },
  }));
  return new OpenList(aCandidate(more), {
    ...state,
    reading: { ...state.reading, pages },
    requests: { wanted, unsent: wanted.slice(sent), uncommitted: 0 },
  });
};

describe("the next candidate of a plan", () => {
  const [accounts, contacts] = [aCandidate(), aCandidate({ stream: "contacts" })];
  const history = aCandidate({ stream: "usage", scope: "requests", mode: "log" });
  const quota = aCandidate({ stream: "usage", scope: QUOTA_SCOPE, mode: "capture" });
  const forbidden = aCandidate({ stream: "filings", scope: "7", mode: "known", forbidden: true });
  const next = (pending: readonly Candidate[], running: readonly Candidate[] = [], failing: readonly string[] = []) =>
    nextCandidate(pending, {
      work: { open: new Map(running.map((candidate, nth) => [String(nth), aList(candidate)])) },
      fetcher: { isFailing: (stream) => failing.includes(stream) },
    });

  test("is the first of the plan, one of a failing stream only if there is no other", () => {
    expect(next([accounts, contacts])).toBe(accounts);
    expect(next([accounts, contacts], [], ["accounts"])).toBe(contacts);
    expect(next([accounts], [], ["accounts"])).toBe(accounts);
    expect(next([])).toBeUndefined();
    // A failing stream does not bring a later turn forward.
    expect(next([accounts, history], [], ["accounts"])).toBe(accounts);
  });

  test("what reports on the run's requests comes after them, the quota after that, a forbidden company last; each waits until nothing of an earlier turn runs", () => {
    const inOrder = [accounts, history, quota, forbidden];
    for (const [turn, candidate] of inOrder.entries()) {
      expect(next(inOrder.slice(turn).toReversed())).toBe(candidate);
      if (turn > 0) expect(next([candidate], inOrder.slice(turn - 1, turn))).toBeUndefined();
    }
    expect(next([contacts], [accounts])).toBe(contacts);
    expect(next([quota], [forbidden])).toBe(quota);
  });
});

type Run = Parameters<typeof mostValuable>[0];
const FORMS = { largestPage: 1000, rowScope: {}, remember: async () => undefined };
const settled = { ...initialForm(10), settled: true };

/** Streams by what is known of them; `known`: the shape of their lists. */
type Known = Partial<Record<"failing" | "shut" | "spent" | "full", readonly string[]>> & {
  known?: readonly StreamName[];
};

const aRun = (
  lists: readonly OpenList[],
  { known = ["accounts", "contacts", "signals"], ...given }: Known = {},
): Run => {
  const is = (what: Exclude<keyof Known, "known">, stream: string) => given[what]?.includes(stream) === true;
  return {
    forms: new Forms(new Map(known.map((name) => [name, settled])), FORMS),
    work: { open: new Map(lists.map((list, nth) => [String(nth), list])) },
    budgets: {
      limits: true,
      room: ({ stream }) => (is("spent", stream) ? "spent" : is("full", stream) ? "full" : "some"),
    },
    unusable: { isShut: ({ stream }) => is("shut", stream) },
    fetcher: { isFailing: (stream) => is("failing", stream) },
  };
};

test("the most valuable list with something to send goes first, the first of equals", () => {
  const worthOf = (worth: number) => reading({ worth }, { unsent: 1 });
  const [low, high, equal] = [worthOf(1), worthOf(2), worthOf(2)];
  expect(mostValuable(aRun([low, high, equal]))).toBe(high);
  const idle = reading({ worth: 9 }, { sent: 1, pages: 2 });
  expect(mostValuable(aRun([idle, low]))).toBe(low);
  expect(mostValuable(aRun([]))).toBeNull();
});

test("a single record is asked for once", () => {
  const profile = aList({ stream: "companies", scope: "c_1", mode: "on-change" });
  expect(mostValuable(aRun([profile]))).toBe(profile);
  profile.transition({ kind: "sent", read: null });
  expect(mostValuable(aRun([profile]))).toBeNull();
});

test("a stream whose latest requests failed comes last, whatever it is worth", () => {
  const failing = reading({ worth: 5 }, { unsent: 1 });
  const other = reading({ stream: "contacts", worth: 1 }, { unsent: 1 });
  for (const lists of [
    [failing, other],
    [other, failing],
  ]) {
    expect(mostValuable(aRun(lists, { failing: ["accounts"] }))).toBe(other);
  }
  expect(mostValuable(aRun([failing], { failing: ["accounts"] }))).toBe(failing);
});

test("a budget without room, and a stream whose answers cannot be used, send nothing", () => {
  const list = reading({}, { unsent: 1 });
  for (const closed of [{ spent: ["accounts"] }, { full: ["accounts"] }, { shut: ["accounts"] }] as const) {
    expect(mostValuable(aRun([list], closed))).toBeNull();
  }
});

test("until the lists of the organization show their length, credits are kept for them", () => {
  const filings = aList({ stream: "companies", scope: "c_1", mode: "on-change", worth: LIST_WORTH - 1 });
  const beside = (state: { pages?: number; sent?: number }) =>
    mostValuable(aRun([reading({ worth: LIST_WORTH }, state), filings]));
  expect(beside({})).toBeNull();
  expect(beside({ pages: 1 })).toBeNull();
  expect(beside({ pages: 1, sent: 1 })).toBe(filings);
});

test("while a list's shape is unknown, one request of its stream is under way; while none is known, one in all", () => {
  const [first, second] = [
    reading({ worth: 2 }, { unsent: 1, sent: 1 }),
    reading({ worth: 1, scope: "x" }, { unsent: 1 }),
  ];
  const contacts = reading({ stream: "contacts" }, { unsent: 1 });
  expect(mostValuable(aRun([first, second, contacts], { known: ["signals"] }))).toBe(contacts);
  expect(mostValuable(aRun([first, second, contacts], { known: [] }))).toBeNull();
  expect(mostValuable(aRun([first], { known: ["accounts"] }))).toBe(first);
  expect(mostValuable(aRun([second, contacts], { known: [] }))).toBe(second);
});

test("four requests ready are enough, not counting those of failing streams", () => {
  const lists = Array.from({ length: 4 }, (_, nth) => reading({ scope: `${nth}` }, { unsent: 1 }));
  expect(enoughReady(aRun(lists))).toBe(true);
  expect(enoughReady(aRun(lists.slice(1)))).toBe(false);
  expect(enoughReady(aRun(lists, { failing: ["accounts"] }))).toBe(false);
  expect(enoughReady(aRun(lists, { spent: ["accounts"] }))).toBe(false);
});

describe("pages that a stream is expected to have", () => {
  const stats = { planned: 3, pages: 1 };

  test("of a list per company are the planned ones, or as many as came; of an incremental read nobody knows", () => {
    const filings = aList({ stream: "filings", scope: "7", mode: "known" });
    expect([pagesTotal(filings, stats), pagesTotal(filings, { planned: 3, pages: 5 })]).toEqual([3, 5]);
    expect(pagesTotal(aList({ mode: "watermark" }), stats)).toBeNull();
  });

  test("of a list of the organization are those of its length, once the service has said it", () => {
    const walk = aList();
    expect(pagesTotal(walk, stats)).toBeNull();
    const ids = Array.from({ length: 10 }, (_, nth) => String(99 - nth));
    const values = ids.map(() => null);
    const read = { page: 1, perPage: 10, role: "cover", ids, rows: 10, values, total: 41 } as const;
    walk.transition({ kind: "page", read, receivedAt: 0 });
    expect([pagesTotal(walk, stats), pagesTotal(walk, { planned: 3, pages: 8 })]).toEqual([5, 8]);
  });
});

// Whose form it is that a list was returned in after refusals.

const listOf = (stream: "signals" | "filings", mode: "walk" | "detail" = "walk") =>
  aList({ stream, scope: stream === "filings" ? "c_1" : "", mode });
const small = initialForm(50);
const noForms = () => new Forms(new Map(), FORMS);

test("a list of the organization is the only one of its kind; records and lists of companies are some of many", () => {
  expect(isOneOfMany(listOf("signals"))).toBe(false);
  expect(isOneOfMany(listOf("signals", "detail"))).toBe(true);
  expect(isOneOfMany(listOf("filings"))).toBe(true);
});

test("the first form that is returned is the stream's, and later ones are each list's own", () => {
  const forms = noForms();
  const [first, second, third] = [listOf("filings"), listOf("filings"), listOf("filings")];
  forms.try(first, small);
  expect(forms.of(first)).toBe(small);
  expect(forms.returned(first, small)).toBe("stream");
  expect(forms.hasOwn(first)).toBe(false);
  forms.try(second, small);
  expect(forms.returned(second, small)).toBe("own");
  expect(forms.of(second)).toBe(small);
  expect(forms.returned(third, initialForm(1000))).toBe("stream");
});

test("a record says nothing of the lists of its stream", () => {
  const forms = noForms();
  forms.returned(listOf("signals", "detail"), small);
  const list = listOf("signals");
  forms.try(list, small);
  expect(forms.returned(list, small)).toBe("stream");
});

test("other forms are tried for three lists in vain, for one once another was returned; who has begun may go on", () => {
  const forms = noForms();
  for (const list of [1, 2, 3].map(() => listOf("filings"))) {
    expect(forms.mayTry(list)).toBe(true);
    forms.try(list, small);
    forms.giveUp(list);
  }
  expect(forms.mayTry(listOf("filings"))).toBe(false);

  const others = noForms();
  const [begun, failed] = [listOf("filings"), listOf("filings")];
  others.returned(listOf("filings"), small);
  others.try(failed, small);
  others.try(begun, small);
  others.giveUp(failed);
  expect([others.mayTry(begun), others.mayTry(listOf("filings"))]).toEqual([true, false]);
});

describe("records may come along with insights of", () => {
  type Choice = ConstructorParameters<typeof Work>[1];
  const workOf = (signals: Partial<ScopeState>, more: Partial<Choice> = {}) => {
    const states = ORGANIZATION_LISTS.map((stream) =>
      idleState({ stream, scope: "", at: 1 }, stream === "signals" ? signals : { walkedAt: null }),
    );
    const known = new Map(states.map((state) => [stateKey(state.stream, state.scope), state]));
    return new Work({ rows: new Map(), states: known }, { configured: ORGANIZATION_LISTS, rowScope: {}, ...more });
  };

  test.each<[string, Partial<ScopeState>, Partial<Choice>, boolean]>([
    ["a list that was read to its end", {}, {}, true],
    ["not one that was never", { walkedAt: null }, {}, false],
    ["nor one whose walk was interrupted", { status: "walking" }, {}, false],
    ["nor one that is not mirrored", {}, { configured: ["accounts"] }, false],
    ["nor one of which only a part is", {}, { rowScope: { signals: { type: ["funding"] } } }, false],
  ])("%s", (_, signals, choice, comes) => {
    expect([...workOf(signals, choice).embeddable]).toEqual(comes ? ["signals"] : []);
  });

  test("nor one that is being read, until it is finished", () => {
    const [work, list] = [workOf({}), aList({ stream: "signals" })];
    work.begin(list);
    expect([...work.embeddable]).toEqual([]);
    work.finish(list);
    expect([...work.embeddable]).toEqual(["signals"]);
  });
});

const absent: Deciding = { kind: "absent" };
const goOn: Deciding = { kind: "go-on" };

test("an event that comes while another is decided waits for its turn, and whoever brings it need not wait", async () => {
  const list = aList();
  const order: string[] = [];
  let release: () => void = () => undefined;
  const first = new Promise<void>((resolve) => {
    release = resolve;
  });
  list.enqueue(absent);
  const draining = list.drain(async ({ kind }) => {
    order.push(`${kind} begins`);
    if (kind === "absent") await first;
    order.push(`${kind} ends`);
  });
  list.enqueue(goOn);
  await list.drain(async () => void order.push("twice at once"));
  expect([list.deciding, order]).toEqual([true, ["absent begins"]]);
  release();
  await draining;
  expect([list.deciding, order]).toEqual([false, ["absent begins", "absent ends", "go-on begins", "go-on ends"]]);
});

test("a decision that fails leaves the list free to decide", async () => {
  const list = aList();
  list.enqueue(goOn);
  const failed = list.drain(() => Promise.reject(new Error("disk full")));
  await expect(failed).rejects.toThrow("disk full");
  expect(list.deciding).toBe(false);
});

test("an event replaces the state, and an old one stays as it was", () => {
  const list = aList();
  const before = list.state;
  list.transition({ kind: "rows", by: 3 });
  expect([before, list.state]).toMatchObject([{ rows: 0 }, { rows: 3 }]);
});

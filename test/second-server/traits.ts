// What API.md does not show, drawn for one service. One object of traits is one service; the same seed, the same one.
import { chanceOf } from "./random.ts";
import { strangersOf } from "./strangers.ts";
import type { TimeForm } from "./times.ts";

/** How the service says what rate it allows. */
const DIALECTS = [
  "draft-8",
  "draft-7",
  "draft-6",
  "draft-6-window",
  "x-delta",
  "x-epoch-seconds",
  "x-epoch-ms",
  "x-http-date",
  "x-without-reset",
  "retry-after-only",
  "none",
] as const;

const ORDERS = ["oldest-first", "newest-first", "hidden", "reshuffled"] as const;
export type Order = (typeof ORDERS)[number];
const BODIES = ["nested", "flat", "list", "problem", "html", "text", "empty"] as const;
export type ErrorBody = (typeof BODIES)[number];
/** Shape of `included`; `map-bare`: by id, and the records themselves carry none. */
export type IncludedShape =
  | "single-list"
  | "plural-list"
  | "plural-map"
  | "map-bare"
  | "per-row"
  | "absent"
  | "refused";

/** Whether lists count their rows (`totalCount`, `totalPages`), and how they clamp where they do not. */
const countsOf = (seed: string) => {
  const chance = chanceOf(`${seed}/counts`);
  if (!chance.often(0.2)) return { counts: true };
  if (!chance.often(0.6)) return { counts: false };
  const size = () => chance.pick([1, 2, 3, 4, 5, 7, 12, 19, 50]);
  const most = { largest: size(), largestOfCompany: chance.often(0.5) ? size() : null };
  return { counts: false, tooLarge: "clamped-unsaid" as const, ...most };
};

/**
 * Whether lists take pages of some sizes only, and what they do with others; null: of all sizes. Where nothing is counted,
 * or a page has another size than it says, such pages cannot be joined.
 */
const sizesOf = (seed: string, joins: boolean) => {
  const chance = chanceOf(`${seed}/sizes`);
  if (!joins || !chance.often(0.1)) return { sizes: null };
  return { sizes: chance.pick(["others-refused", "others-in-default"] as const) };
};

const pagesOf = (seed: string) => {
  const chance = chanceOf(`${seed}/pages`);
  const pages = {
    /** Largest page: 10 to 1,000; small ones are usual, since the lists here are short. */
    largest: chance.weigh([3, 10], [3, 20], [2, 25], [2, 50], [2, 100], [1, 137], [1, 250], [1, 1000]),
    /** Lists of companies have a maximum of their own. */
    largestOfCompany: chance.weigh([3, null], [1, 10], [1, 100]),
    tooLarge: chance.pick(["refused", "refused-unprocessable", "clamped", "clamped-unsaid"]),
    namesMaximum: chance.often(0.5),
    beyondEnd: chance.weigh([4, "empty"], [1, "refused"]),
    pagesOfNothing: chance.pick([0, 1]),
    ...countsOf(seed),
  };
  return { ...pages, ...sizesOf(seed, pages.counts && pages.tooLarge !== "clamped-unsaid") };
};

const ordersOf = (seed: string) => {
  const chance = chanceOf(`${seed}/orders`);
  return {
    unsorted: chance.pick(ORDERS),
    ties: chance.pick(ORDERS),
    /** Fields the list routes do not sort by. */
    unsortable: chance.weigh<readonly string[]>([6, []], [1, ["id"]], [2, ["updatedAt"]], [1, ["id", "updatedAt"]]),
    unsortableAnswer: chance.pick(["refused", "ignored"]),
    nullsFirst: chance.often(0.5),
    filtersInclude: chance.often(0.5),
    filtersByDay: chance.often(0.2),
  };
};

const rateOf = (seed: string) => {
  const chance = chanceOf(`${seed}/rate`);
  // Plans of API.md and windows that an enterprise contract may have.
  const [limit, windowMs] = chance.weigh<readonly [number, number]>(
    [2, [300, 60_000]],
    [2, [120, 60_000]],
    [1, [60, 60_000]],
    [2, [3000, 60_000]],
    [2, [40, 1_000]],
    [1, [5, 1_000]],
    [2, [60, 6_000]],
    [1, [100, 10_000]],
    [2, [20_000, 3_600_000]],
    [1, [2_000, 3_600_000]],
  );
  return {
    limit,
    windowMs,
    kind: chance.pick(["sliding", "fixed", "fixed-from-first"]),
    dialect: chance.pick(DIALECTS),
    /** Form of Retry-After beside a 429. */
    retryAfter: chance.pick(["seconds", "date", "absent"]),
    refusedCount: chance.often(0.15),
  };
};

const creditsOf = (seed: string) => {
  const chance = chanceOf(`${seed}/credits`);
  return {
    refusal: chance.pick(["402", "402-html", "429-usage", "429-long-wait", "429-words", "429-bare", "403-words"]),
    waitSeconds: chance.pick([3_700, 10_800, 86_400, 14 * 86_400]),
    usageBlock: chance.weigh([6, "present"], [2, "missing"], [1, "stale"]),
    usageOnContacts: chance.often(0.5),
    usageOnRefusal: chance.often(0.5),
    limitsShape: chance.pick(["named", "list", "nested"]),
    grows: chance.often(0.3),
    historyHasRefused: chance.often(0.5),
    oldHistory: chance.int(0, 30),
    periodDays: chance.pick([1, 3, 30]),
  };
};

const timesOf = (seed: string) => {
  const chance = chanceOf(`${seed}/times`);
  const forms = [
    [4, "z-ms"],
    [2, "z-s"],
    [1, "z-us"],
    [1, "z-ns"],
    [1, "bare-ms"],
    [1, "bare-s"],
    [1, "+05:30"],
    [1, "-08:00"],
    [1, "+0000"],
  ] as const satisfies readonly (readonly [number, TimeForm])[];
  return {
    moment: chance.often(0.06) ? ("date" as const) : chance.weigh<TimeForm>(...forms),
    day: chance.often(0.5) ? ("date" as const) : chance.weigh<TimeForm>(...forms),
    /** One record in so many is written in another form. */
    mixed: chance.weigh([4, 0], [1, 0.1]),
    skewMs: chance.weigh([5, 0], [1, 45_000], [1, -45_000], [1, 7_200_000]),
  };
};

const recordsOf = (seed: string) => {
  const chance = chanceOf(`${seed}/records`);
  return {
    absent: chance.pick(["omitted", "null", "mixed"]),
    idsGrow: chance.often(0.7),
    bigIds: chance.often(0.2),
    oddIds: chance.often(0.4),
    /** Ids of calls and filings begin anew in every company. */
    idsPerCompany: chance.often(0.3),
    numbersAsText: chance.weigh([3, 0], [1, 0.05]),
    unknownFields: chance.often(0.3),
    companyIdOnItems: chance.often(0.6),
    withoutCompany: chance.pick([0, 0.3, 0.6]),
    missingCompanies: chance.pick([0, 0, 0.15]),
    sharedCompanies: chance.pick([0, 0.2]),
    insightsMissing: chance.pick([0, 0, 0.15]),
    signalSources: chance.pick(["always", "named", "detail"]),
    signalContent: chance.pick(["always", "named", "detail"]),
    contactDataUrl: chance.often(0.5),
    onlyFieldsKeepsId: chance.often(0.5),
    // Few, since each brings requests of its own; their lists are still longer than a page of 10 or 20.
    accounts: chance.weigh(
      // Never none: an organization whose account list is empty counts as one without Full Access
      // (docs/decisions/configuration.md).
      [1, [1, 1]],
      [8, [1, 4]],
      [1, [6, 16]],
    ),
  };
};

const INCLUDED = [
  [3, "plural-list"],
  [2, "single-list"],
  [2, "plural-map"],
  [1, "map-bare"],
  [1, "per-row"],
  [1, "absent"],
  [1, "refused"],
] as const satisfies readonly (readonly [number, IncludedShape])[];

const wireOf = (seed: string) => {
  const chance = chanceOf(`${seed}/wire`);
  return {
    errors: chance.pick(BODIES),
    encoding: chance.pick(["gzip", "br", "none"]),
    chunked: chance.often(0.3),
    contentType: chance.pick(["application/json", "application/json; charset=utf-8", "text/plain"]),
    prefix: chance.often(0.2) ? "/gate/way" : "",
    latency: chance.pick(["none", "even", "spread", "long-tail"]),
    latencyMs: chance.pick([5, 40, 400]),
    /** Share of requests that meet a fault, and the kinds. */
    faults: chance.weigh([5, 0], [1, 0.02], [1, 0.06]),
    trickle: chance.often(0.1),
    closes: chance.often(0.1),
  };
};

export const drawTraits = (seed: number) => {
  const text = String(seed);
  const pages = pagesOf(text);
  const drawn = strangersOf(text);
  // What is about counts needs counts.
  const strangers = pages.counts ? drawn : { ...drawn, window: null, estimates: false };
  const records = recordsOf(text);
  return {
    seed,
    pages,
    orders: ordersOf(text),
    rate: rateOf(text),
    credits: creditsOf(text),
    times: timesOf(text),
    records: {
      ...records,
      ...(strangers.window === null ? {} : { accounts: [6, 16] as const }),
      ...(strangers.lateMs === 0 ? {} : { signalContent: "detail" as const }),
    },
    included: chanceOf(`${text}/included`).weigh<IncludedShape>(...INCLUDED),
    wire: wireOf(text),
    strangers,
  };
};
export type Traits = ReturnType<typeof drawTraits>;

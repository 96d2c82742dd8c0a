// Plans the checks of `verify`: chooses the requests that compare most of the mirror per credit. Every list is checked by one random page,
// which shows its count and hundreds of records; single records come last. Pure: takes facts about the mirror and random numbers;
// make-checks.ts carries the plan out.
import { ORGANIZATION_LISTS, type StreamName, streamSpec } from "../../catalog/streams.ts";
import { isScopedTable, type ScopedTable } from "../../catalog/tables.ts";
import type { TierAccess } from "../../core/state/tier.ts";

type RecordStream = "contacts" | "signals";

/** One request: one credit. */
export type Check =
  /** A page of a list: `totalCount` and records. `scope`: the company, or empty. */
  | { readonly kind: "page"; readonly stream: StreamName; readonly scope: string; readonly page: number }
  /** Counts of parts of a list; several requests: this share of the credits that are left. */
  | { readonly kind: "parts"; readonly stream: ScopedTable; readonly share: number }
  | { readonly kind: "signal-counts"; readonly stream: "signals" }
  | { readonly kind: "detail"; readonly stream: RecordStream; readonly id: string }
  | { readonly kind: "company"; readonly stream: "companies"; readonly id: string }
  | { readonly kind: "insight"; readonly stream: "account_insights"; readonly id: string };

export interface VerifyFacts {
  /** Lists read so far: mirrored rows by stream and scope. */
  readonly lists: readonly { readonly stream: StreamName; readonly scope: string; readonly rows: number }[];
  readonly pageSize: (stream: StreamName) => number;
  readonly contacts: readonly string[];
  readonly signals: readonly string[];
  readonly companies: readonly string[];
  readonly insights: readonly string[];
}

interface VerifyPlanOptions {
  readonly streams: readonly StreamName[];
  /** Number of records to compare per stream. */
  readonly sample: number;
  /** Compare counts of the organization's lists and of their parts, and nothing else. */
  readonly counts?: boolean;
  /** In [0, 1). */
  readonly random: () => number;
}

const shuffled = <T>(items: readonly T[], random: () => number): readonly T[] => {
  const drawn = items.map((item) => ({ item, lot: random() }));
  drawn.sort((a, b) => a.lot - b.lot);
  return drawn.map(({ item }) => item);
};

/** Takes one check of each group in turn, so that a small budget covers all groups. */
const inTurn = (groups: readonly (readonly Check[])[]): readonly Check[] => {
  const longest = Math.max(0, ...groups.map((group) => group.length));
  return Array.from({ length: longest }, (_, turn) => groups.flatMap((group) => group[turn] ?? [])).flat();
};

const isOrganization = (stream: StreamName) => ORGANIZATION_LISTS.includes(stream);

/** Streams to compare. Without Full Access its routes answer with nothing, which proves nothing and costs credits. */
export const comparable = (streams: readonly StreamName[], access: TierAccess): readonly StreamName[] =>
  access === "closed" || access === "probe" ? streams.filter((name) => streamSpec(name).tier === "public") : streams;

/** Lists that a documented filter cuts into parts. */
export const hasParts = (stream: StreamName): stream is ScopedTable =>
  isScopedTable(stream) && streamSpec(stream).parts !== undefined;

/** The checks of counts: signals by type, whole lists that no filter cuts, and parts of the others. */
const countChecks = (own: VerifyFacts["lists"], counts: readonly Check[]): readonly Check[] => {
  const parts = own.map(({ stream }) => stream).filter(hasParts);
  return [
    ...counts,
    ...own
      .filter(({ stream }) => !hasParts(stream))
      .map(({ stream, scope }): Check => ({ kind: "page", stream, scope, page: 1 })),
    ...parts.map((stream, at): Check => ({ kind: "parts", stream, share: 1 / (parts.length - at) })),
  ];
};

/** All checks in order; the credits decide how many are made. */
export const planChecks = (facts: VerifyFacts, options: VerifyPlanOptions): readonly Check[] => {
  const { streams, sample, random } = options;
  const lists = facts.lists.filter(({ stream }) => streams.includes(stream));
  const own = lists.filter(({ stream }) => isOrganization(stream));
  const pagesOf = ({ stream, rows }: VerifyFacts["lists"][number]) =>
    Math.max(1, Math.ceil(rows / facts.pageSize(stream)));

  const drawnPages = own.map((list) => {
    const wanted = Math.max(1, Math.ceil(Math.min(sample, list.rows) / facts.pageSize(list.stream)));
    const pages = shuffled(
      Array.from({ length: pagesOf(list) }, (_, index) => index + 1),
      random,
    );
    return pages
      .slice(0, wanted)
      .map((page): Check => ({ kind: "page", stream: list.stream, scope: list.scope, page }));
  });
  /** True when a list needs several pages. One page compares a shorter list completely. */
  const long = (stream: StreamName) => own.some((list) => list.stream === stream && pagesOf(list) > 1);
  // The service counts signals alone, so one request compares both streams, if there are signals to compare it with.
  const isCounted = streams.includes("signals") || streams.includes("signal_counts");
  const counts: readonly Check[] =
    isCounted && facts.lists.some(({ stream }) => stream === "signals")
      ? [{ kind: "signal-counts", stream: "signals" }]
      : [];
  if (options.counts === true) return countChecks(own, counts);
  const companyLists = shuffled(
    lists.filter(({ stream }) => !isOrganization(stream)),
    random,
  ).map((list): Check => {
    const page = 1 + Math.floor(random() * pagesOf(list));
    return { kind: "page", stream: list.stream, scope: list.scope, page };
  });
  const details = (stream: RecordStream, ids: readonly string[]): readonly Check[] =>
    long(stream) ? ids.map((id): Check => ({ kind: "detail", stream, id })) : [];
  return [
    ...inTurn(drawnPages.map((pages) => pages.slice(0, 1))),
    ...counts,
    ...inTurn([
      companyLists,
      ...drawnPages.map((pages) => pages.slice(1)),
      streams.includes("account_insights")
        ? facts.insights.map((id): Check => ({ kind: "insight", stream: "account_insights", id }))
        : [],
      streams.includes("companies")
        ? facts.companies.map((id): Check => ({ kind: "company", stream: "companies", id }))
        : [],
      details("contacts", facts.contacts),
      details("signals", facts.signals),
    ]),
  ];
};

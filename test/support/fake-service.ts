// A service to be nasty with: API.md's routes over plain arrays, with every freedom the document leaves open to choose.
// Shares nothing with src/sandbox, so that both being wrong in the same way is unlikely.

export type Row = Record<string, unknown> & { id: string | number };

export interface FakeOptions {
  /** Largest page granted. */
  readonly maxPerPage?: number;
  /**
   * `refuse`: 400 above the maximum. `clamp`: fewer rows, but `meta.perPage` and offsets as asked. `honest`: clamped
   * and said so.
   */
  readonly overPage?: "refuse" | "clamp" | "honest";
  readonly sort?: "obey" | "ignore" | "refuse";
  /** Shape of `included`. */
  readonly included?: "plural" | "singular-array" | "object-map" | "single" | "none" | "refuse";
  /** A contact as an insight brings it along; by default, whole. */
  readonly embedded?: (contact: Row) => Record<string, unknown>;
  /** `ignore`: lists take no notice of `ids`, `type`, `changeType` and, of contacts, `lastChangeDetectedAfter`. `refuse`: they answer with 400. */
  readonly filters?: "obey" | "ignore" | "refuse";
  /** What lists return before a date: rows of earlier times (by default), of its midnight, or of its whole day too. */
  readonly beforeDates?: "exclusive" | "inclusive" | "whole-day";
  readonly credits?: number;
  /** The `usage` block and the quota of GET /v1/usage, as they are; unset: those of `credits`. */
  readonly usage?: Readonly<Record<string, unknown>>;
  readonly totals?: boolean;
  /** When an answer holds a field: by default, when it is named, or never. Details of signals hold all of theirs. */
  readonly fields?: Readonly<Record<string, "default" | "named" | "never">>;
  /** Called before a request is answered: change data, or answer instead. */
  readonly before?: (request: FakeRequest) => FakeAnswer | undefined;
  /** Keeps a request waiting before it is answered. */
  readonly hold?: () => Promise<void>;
}

export interface FakeRequest {
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** 1-based. */
  readonly number: number;
}

export interface FakeAnswer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface FakeData {
  accounts: Row[];
  contacts: Row[];
  signals: Row[];
  companies: Row[];
  owners: Row[];
  /** Company id → list name → rows. */
  lists: Record<string, Partial<Record<ListName, Row[]>>>;
  insights: Record<string, Record<string, unknown>>;
}

type ListName = "news-articles" | "job-openings" | "earnings-calls" | "filings";

const LIST_NAMES: readonly ListName[] = ["news-articles", "job-openings", "earnings-calls", "filings"];
const OPT_IN = ["articleBody", "jobDescription", "fullTranscript", "generatedAnalysis", "insights"];
const DETAILED = ["fullContent", "sources"];

/** A date without a time is midnight UTC. */
const DAY_MS = 86_400_000;
const written = (at: number): string => new Date(at).toISOString();
const instant = (text: unknown): number => Date.parse(String(text));

/** Filters for rows before a date, and the fields that hold theirs. */
const BEFORE = {
  beforeDate: "date",
  isInCurrentRoleBeforeDate: "inCurrentRoleSince",
  lastChangeDetectedBefore: "lastChangeDetectedOn",
} as const;

const FILTERS = [
  ...["ids", "type", "changeType", "priority", "ownerId", "afterDate", "hasSignalsOfType"],
  ...Object.keys(BEFORE),
];

const isEarlier = (value: unknown, date: string, meaning: FakeOptions["beforeDates"]): boolean => {
  const [at, bound] = [instant(value), instant(date)];
  return meaning === "whole-day" ? at < bound + 86_400_000 : at < bound || (meaning === "inclusive" && at === bound);
};

const compare = (a: unknown, b: unknown): number => {
  if (a === b) return 0;
  if (a === undefined || a === null) return -1;
  if (b === undefined || b === null) return 1;
  return a < b ? -1 : 1;
};

export interface FakeService {
  readonly data: FakeData;
  options: FakeOptions;
  /** Every request, in order of arrival. */
  readonly log: (FakeRequest & { readonly status: number })[];
  /** Credits spent: answers with 200. */
  spent(): number;
  /** Its periods of credits end by this clock; unset: the machine's. */
  useClock(clock: { now(): number }): void;
  answer(path: string, query: Readonly<Record<string, string>>): FakeAnswer;
  /** From now on answers as `before` says where it says something; null: as ever. */
  answerInstead(before: FakeOptions["before"] | null): void;
  /** From now on gives this answer, or this status and an empty object, to requests for this path, or to such requests. */
  answerWhere(where: string | RegExp | ((request: FakeRequest) => boolean), answer: FakeAnswer | number): void;
}

/** Credits that these requests cost. */
export const paidOf = (log: FakeService["log"]): number => log.filter(({ status }) => status === 200).length;
/** Ids of rows, sorted as texts. */
export const idsOf = (rows: readonly Readonly<Record<string, unknown>>[]): string[] =>
  rows.map(({ id }) => String(id)).sort();

export const emptyData = (): FakeData => ({
  accounts: [],
  contacts: [],
  signals: [],
  companies: [],
  owners: [],
  lists: {},
  insights: {},
});

/** The service with what `change` makes of its answers. */
export const changing = (
  service: FakeService,
  change: (path: string, answer: FakeAnswer) => FakeAnswer,
): FakeService => ({
  ...service,
  answer: (path, query) => change(path, service.answer(path, query)),
});

/** The service, but its lists, other than those of its usage, name the counts that `countOf` makes of the true ones. */
export const counting = (service: FakeService, countOf: (count: number, path: string) => number): FakeService =>
  changing(service, (path, answer) => {
    const { meta, ...body } = answer.body as { meta?: { totalCount?: number } };
    if (meta?.totalCount === undefined || path.startsWith("/v1/usage")) return answer;
    return { ...answer, body: { ...body, meta: { ...meta, totalCount: countOf(meta.totalCount, path) } } };
  });

/** `answered`: requests that it answered before, which count as its own. */
export const createFakeService = (
  data: FakeData,
  initial: FakeOptions = {},
  answered: FakeService["log"] = [],
): FakeService => {
  let options = initial;
  const log: (FakeRequest & { status: number })[] = [...answered];
  let requests = answered.length;
  let now: () => number = Date.now;
  let end = 0;
  /** End of the period of its credits: ten days after its first answer, by day; later ones are thirty days long. */
  const periodEnd = (): number => {
    if (end === 0) end = Math.floor(now() / DAY_MS + 10) * DAY_MS;
    while (end <= now()) end += 30 * DAY_MS;
    return end;
  };

  const usage = (): { usage?: Readonly<Record<string, unknown>> } => {
    if (options.usage !== undefined) return { usage: options.usage };
    if (options.credits === undefined) return {};
    const used = paidOf(log) + 1;
    const remaining = Math.max(0, options.credits - used);
    return { usage: { limit: options.credits, used, remaining, resetsAt: written(periodEnd()) } };
  };
  const ok = (body: Record<string, unknown>, meta: Record<string, unknown> = {}): FakeAnswer => ({
    status: 200,
    body: {
      ...body,
      meta: { requestId: `r${requests}`, apiVersion: "1.0.0", timestamp: "2026-11-21T10:00:00.000Z", ...meta },
      ...usage(),
    },
  });
  const refuse = (status: number, message: string): FakeAnswer => ({ status, body: { error: { message } } });

  const project = (row: Row, query: Readonly<Record<string, string>>, detail: boolean): Record<string, unknown> => {
    const only = query.onlyWithFields?.split(",");
    const held = (name: string) => {
      if (detail && DETAILED.includes(name)) return "default";
      return options.fields?.[name] ?? (OPT_IN.includes(name) ? "named" : name === "fullContent" ? "never" : "default");
    };
    return Object.fromEntries(
      Object.entries(row).filter(([name]) =>
        only === undefined ? held(name) === "default" : only.includes(name) && held(name) !== "never",
      ),
    );
  };

  const sorted = (rows: readonly Row[], query: Readonly<Record<string, string>>): readonly Row[] => {
    const by = options.sort === "ignore" ? undefined : query.sortBy;
    if (by === undefined) return rows;
    const sign = query.sortOrder === "asc" ? 1 : -1;
    return [...rows].sort((a, b) => sign * compare(a[by], b[by]) || compare(a.id, b.id));
  };

  const pack = (name: string, plural: string, found: readonly Record<string, unknown>[]): Record<string, unknown> => {
    switch (options.included ?? "plural") {
      case "singular-array":
        return { [name]: found };
      case "object-map":
        return { [plural]: Object.fromEntries(found.map((row) => [row.id, row])) };
      case "single":
        return found[0] === undefined ? {} : { [name]: found[0] };
      default:
        return { [plural]: found };
    }
  };

  const include = (rows: readonly Row[], query: Readonly<Record<string, string>>): Record<string, unknown> => {
    const wanted = query.include?.split(",") ?? [];
    if (wanted.length === 0 || options.included === "none") return {};
    const companies = data.companies.filter((company) => rows.some((row) => row.companyId === company.id));
    const owners = data.owners.filter((owner) => rows.some((row) => row.ownerId === owner.id));
    return {
      included: {
        ...(wanted.includes("company") ? pack("company", "companies", companies) : {}),
        ...(wanted.includes("owner") ? pack("owner", "owners", owners) : {}),
      },
    };
  };

  /** What an insight brings along. */
  const along = (accountId: string, query: Readonly<Record<string, string>>): Record<string, unknown> => {
    const wanted = query.include?.split(",") ?? [];
    if (wanted.length === 0 || options.included === "none") return {};
    const of = (rows: readonly Row[], most: number) =>
      rows.filter((row) => String(row.accountId) === accountId).slice(0, most);
    const contacts = of(data.contacts, Number(query.contactsLimit ?? 10)).map((row) => options.embedded?.(row) ?? row);
    const signals = of(data.signals, Number(query.signalsLimit ?? 20)).map((row) => project(row, {}, false));
    return {
      included: {
        ...(wanted.includes("contacts") ? pack("contact", "contacts", contacts) : {}),
        ...(wanted.includes("signals") ? pack("signal", "signals", signals) : {}),
      },
    };
  };

  const earlier = (rows: readonly Row[], query: Readonly<Record<string, string>>): readonly Row[] =>
    options.filters === "ignore"
      ? rows
      : rows.filter((row) =>
          Object.entries(BEFORE).every(([param, field]) => {
            const date = query[param];
            return date === undefined || isEarlier(row[field], date, options.beforeDates);
          }),
        );

  const list = (all: readonly Row[], query: Readonly<Record<string, string>>): FakeAnswer => {
    const rows = earlier(all, query);
    const asked = Number(query.perPage ?? 20);
    const page = Number(query.page ?? 1);
    const most = options.maxPerPage ?? 1000;
    if (asked > most && (options.overPage ?? "refuse") === "refuse") return refuse(400, "Bad request");
    if (options.filters === "refuse" && FILTERS.some((name) => query[name] !== undefined))
      return refuse(400, "Bad request");
    if (query.sortBy !== undefined && options.sort === "refuse") return refuse(400, "unknown parameter sortBy");
    if (query.include !== undefined && options.included === "refuse") return refuse(400, "unknown parameter include");
    const size = Math.min(asked, most);
    const start = (page - 1) * (options.overPage === "clamp" ? asked : size);
    const chosen = sorted(rows, query).slice(start, start + size);
    return ok(
      { data: chosen.map((row) => project(row, query, false)), ...include(chosen, query) },
      {
        page,
        perPage: options.overPage === "honest" ? size : asked,
        ...(options.totals === false ? {} : { totalCount: rows.length, totalPages: Math.ceil(rows.length / size) }),
      },
    );
  };

  const one = (row: Row | undefined, query: Readonly<Record<string, string>>): FakeAnswer =>
    row === undefined ? refuse(404, "not found") : ok({ data: project(row, query, true) });

  /** The usage routes carry no `usage` block (API.md). */
  const withoutUsage = (answer: FakeAnswer): FakeAnswer => {
    const { body } = answer;
    if (typeof body !== "object" || body === null) return answer;
    return { ...answer, body: Object.fromEntries(Object.entries(body).filter(([name]) => name !== "usage")) };
  };

  const route = (path: string, query: Readonly<Record<string, string>>): FakeAnswer => {
    const parts = path.split("/").slice(2).map(decodeURIComponent);
    const [first, second, third] = parts;
    const byId = (rows: readonly Row[], id: string | undefined) => rows.find((row) => String(row.id) === id);
    const named = (rows: readonly Row[], names: readonly string[]) =>
      options.filters === "ignore"
        ? rows
        : rows.filter((row) => names.every((name) => query[name]?.split(",").includes(String(row[name])) !== false));
    const where = (rows: readonly Row[], param: string, test: (row: Row, value: string) => boolean) => {
      const value = query[param];
      return value === undefined || options.filters === "ignore" ? rows : rows.filter((row) => test(row, value));
    };
    if (first === "accounts") {
      const ids = options.filters === "ignore" ? undefined : query.ids?.split(",");
      const chosen = data.accounts.filter((row) => ids === undefined || ids.includes(String(row.id)));
      const rows = where(
        where(named(chosen, ["type", "priority", "ownerId"]), "textQuery", ({ name }, text) =>
          String(name).includes(text),
        ),
        "hasSignalsOfType",
        ({ id }, types) =>
          data.signals.some(
            ({ accountId, type, date }) =>
              accountId === id &&
              types.split(",").includes(String(type)) &&
              instant(date) > instant(query.hasSignalsAfterDate),
          ),
      );
      return second === undefined ? list(rows, query) : one(byId(data.accounts, second), query);
    }
    if (first === "contacts") {
      const after = query.lastChangeDetectedAfter;
      const isWanted = (row: Row) => compare(row.lastChangeDetectedOn, after) > 0;
      const rows = after === undefined || options.filters === "ignore" ? data.contacts : data.contacts.filter(isWanted);
      return second === undefined
        ? list(named(rows, ["type", "changeType"]), query)
        : one(byId(data.contacts, second), query);
    }
    if (first === "signals" && second === "counts") {
      const counts: Record<string, number> = { all: data.signals.length };
      for (const row of data.signals) counts[String(row.type)] = (counts[String(row.type)] ?? 0) + 1;
      return ok({ data: counts });
    }
    if (first === "signals") {
      const rows = where(
        named(data.signals, ["type"]),
        "afterDate",
        ({ date }, after) => instant(date) > instant(after),
      );
      return second === undefined ? list(rows, query) : one(byId(data.signals, second), query);
    }
    if (first === "companies" && second === "by-input") {
      return one(
        data.companies.find((row) => row.id === third || row.domain === third),
        query,
      );
    }
    if (first === "companies") {
      const company = byId(data.companies, second);
      if (third === undefined || company === undefined) return one(company, query);
      const name = LIST_NAMES.find((candidate) => candidate === third);
      return name === undefined ? refuse(404, "no route") : list(data.lists[String(company.id)]?.[name] ?? [], query);
    }
    if (first === "account-insights") {
      if (["accountId", "domain", "query"].every((name) => query[name] === undefined)) return refuse(400, "Name one");
      const accountId = query.accountId ?? "";
      const insight = data.insights[accountId];
      if (query.include !== undefined && options.included === "refuse") return refuse(400, "Bad request");
      return insight === undefined
        ? ok({ status: "not_found" })
        : ok({
            status: "found",
            data: { profile: { accountId: Number(accountId) }, ...insight },
            ...along(accountId, query),
          });
    }
    if (first === "usage" && second === "requests") {
      const rows = log.map((entry) => ({
        id: entry.number,
        occurredAt: "2026-11-21T10:00:00.000Z",
        endpoint: entry.path,
        successful: entry.status === 200,
      }));
      return list(rows.reverse(), query);
    }
    if (first === "usage" && second === "limits") return ok({ data: { monthly: options.credits ?? 1000 } });
    if (first === "usage") {
      return ok({
        data: {
          window: "monthly",
          from: written(periodEnd() - 30 * DAY_MS),
          to: written(periodEnd()),
          totals: { requests, successful: 1, failed: 0 },
          quota: usage().usage ?? { limit: 1000, used: 1, remaining: 999, resetsAt: written(periodEnd()) },
          breakdown: [{ key: "/v1/accounts", requests: 1, successful: 1, failed: 0 }],
        },
      });
    }
    return refuse(404, "no route");
  };

  return {
    data,
    log,
    get options() {
      return options;
    },
    set options(next) {
      options = next;
    },
    useClock: (clock) => {
      now = () => clock.now();
    },
    answerInstead: (before) => {
      options = { ...options, before: before ?? (() => undefined) };
    },
    answerWhere: (where, answer) => {
      const isIt = (request: FakeRequest) =>
        typeof where === "function"
          ? where(request)
          : typeof where === "string"
            ? request.path === where
            : where.test(request.path);
      const given = typeof answer === "number" ? { status: answer, body: {} } : answer;
      options = { ...options, before: (request) => (isIt(request) ? given : undefined) };
    },
    spent: () => paidOf(log),
    answer: (path, query) => {
      requests += 1;
      const request = { path, query, number: requests };
      const spent = paidOf(log);
      const answer =
        options.before?.(request) ??
        (options.credits !== undefined && spent >= options.credits
          ? refuse(402, "no credits left")
          : path.startsWith("/v1/usage")
            ? withoutUsage(route(path, query))
            : route(path, query));
      log.push({ ...request, status: answer.status });
      return answer;
    },
  };
};

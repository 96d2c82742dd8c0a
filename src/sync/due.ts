// Due: which scopes a sync should look at, why, and what a credit spent there is worth.
// Pure: state of the mirror in, candidates out, most valuable first. Reads no clock and sends nothing.
import { type StreamName, type StreamSpec, streamSpec, wantedContent } from "../catalog/streams.ts";
import type { ScopeState } from "../warehouse/checkpoint.ts";
import type { ListShape } from "./list-shape.ts";
import { DETAIL_SCOPE, INPUT_SCOPE } from "./loads.ts";

/** How a scope is going to be read. */
export type ScopeMode =
  | "walk"
  | "watermark"
  | "filter"
  | "known"
  | "log"
  | "on-change"
  | "resolve"
  | "detail"
  | "capture";

export interface Candidate {
  readonly stream: StreamName;
  readonly scope: string;
  readonly mode: ScopeMode;
  /** Pages share rows: the scheduled reconciling walk. */
  readonly overlap: boolean;
  readonly because: string;
  /** Requests this will take; null while nothing is known about the list's length. */
  readonly requests: number | null;
  readonly value: number;
  /** Version of the record whose detail is fetched, ms since the epoch. */
  readonly version?: number | null;
}

export interface AccountFact {
  readonly id: string;
  readonly companyId: string | null;
  readonly priority: number | null;
  readonly score: number | null;
  /** When this version of the account was mirrored, ms since the epoch. */
  readonly changedAt: number;
}

/** What the mirror knows, as far as planning needs it. */
export interface MirrorView {
  /** ms since the epoch. */
  readonly now: number;
  readonly states: ReadonlyMap<string, ScopeState>;
  readonly accounts: readonly AccountFact[];
  /** Ids of mirrored companies. */
  readonly companies: ReadonlySet<string>;
  readonly inputs: readonly {
    readonly input: string;
    readonly companyId: string | null;
    readonly resolvedAt: number | null;
  }[];
  /** New signals per company and stream they announce: `stateKey(stream, company)` → how many, of which type. */
  readonly hints: ReadonlyMap<string, { readonly count: number; readonly type: string }>;
  /** Signals whose full content has not been fetched in their present version. */
  readonly signalsWithoutContent: readonly {
    readonly id: string;
    readonly accountId: string;
    readonly updatedAt: number | null;
  }[];
}

export interface DueOptions {
  readonly streams: readonly StreamName[];
  /** Streams named on the command line: captures among them are due whatever their age. */
  readonly named: boolean;
  readonly full: boolean;
  readonly companies: readonly string[];
  readonly content: readonly string[];
  readonly maxAgeMs: Readonly<Record<string, number>>;
  readonly reconcileEveryMs: number;
  readonly shapes: ReadonlyMap<StreamName, ListShape>;
  readonly largestPage: number;
}

/** Inputs the service does not know are asked for again after this time; a 404 costs nothing. */
const UNKNOWN_INPUT_RETRY_MS = 7 * 86_400_000;
const DAY_MS = 86_400_000;

export const stateKey = (stream: string, scope: string): string => `${stream}\n${scope}`;

const plural = (count: number, word: string): string => `${count} ${word}${count === 1 ? "" : "s"}`;
const age = (ms: number): string =>
  ms >= 2 * DAY_MS ? plural(Math.round(ms / DAY_MS), "day") : plural(Math.max(1, Math.round(ms / 3_600_000)), "hour");

/** What a credit spent on an account's data is worth: priority first, then score. 0 to 240. */
const accountWorth = (account: AccountFact | undefined): number =>
  account === undefined ? 120 : (4 - Math.min(3, Math.max(1, account.priority ?? 3))) * 60 + (account.score ?? 0) * 0.6;

interface Context {
  readonly view: MirrorView;
  readonly options: DueOptions;
}

const pagesOf = ({ options }: Context, stream: StreamSpec, total: number | null): number | null =>
  total === null
    ? null
    : Math.max(1, Math.ceil(total / (options.shapes.get(stream.name)?.perPage ?? options.largestPage)));

const maxAge = ({ options }: Context, stream: StreamSpec): number => options.maxAgeMs[stream.name] ?? stream.maxAgeMs;

/** Why a scope that has been read before is due again; null when it is not. Naming `--full` is always a reason. */
const staleness = (context: Context, stream: StreamSpec, state: ScopeState): string | null => {
  const since = state.checkedAt === null ? null : context.view.now - state.checkedAt;
  if (context.options.full) return "--full";
  if (since === null) return "never completed";
  return since > maxAge(context, stream) ? `older than ${age(maxAge(context, stream))}` : null;
};

/** accounts, contacts, signals: looked at in every sync, one page if nothing changed. */
const organizationList = (context: Context, stream: StreamSpec): readonly Candidate[] => {
  const { view, options } = context;
  const state = view.states.get(stateKey(stream.name, ""));
  const candidate = (
    mode: ScopeMode,
    because: string,
    requests: number | null,
    overlap = false,
  ): readonly Candidate[] => [
    { stream: stream.name, scope: "", mode, overlap, because, requests, value: stream.worth },
  ];
  const whole = pagesOf(context, stream, state?.totalCount ?? null);
  if (state === undefined) return candidate("walk", "never synced", null);
  if (state.status === "walking") return candidate("walk", "goes on where it was interrupted", whole);
  if (state.walkedAt === null) return candidate("walk", "no complete walk yet", whole);
  if (options.full) return candidate("walk", "--full", whole, true);
  if (view.now - state.walkedAt > options.reconcileEveryMs) {
    return candidate("walk", `reconciled more than ${age(options.reconcileEveryMs)} ago`, whole, true);
  }
  const sortable = options.shapes.get(stream.name)?.changeOrder !== false;
  if (sortable) return candidate("watermark", "changes since the last sync", 1);
  return stream.filter === undefined
    ? candidate("walk", `the service does not sort by ${stream.watermark}`, whole)
    : candidate("filter", "changes since the last sync", 1);
};

const capture = (context: Context, stream: StreamSpec, scope: string, mode: ScopeMode): readonly Candidate[] => {
  const state = context.view.states.get(stateKey(stream.name, scope));
  const because = state === undefined ? "never synced" : staleness(context, stream, state);
  const named = context.options.named ? "named on the command line" : null;
  const reason = because ?? named;
  return reason === null
    ? []
    : [{ stream: stream.name, scope, mode, overlap: false, because: reason, requests: 1, value: stream.worth }];
};

/** Companies to follow: those of tracked accounts, most valuable account first, and the resolved inputs. */
const followedCompanies = ({ view, options }: Context): ReadonlyMap<string, AccountFact | undefined> => {
  const followed = new Map<string, AccountFact | undefined>();
  const byWorth = [...view.accounts].sort((a, b) => accountWorth(b) - accountWorth(a));
  for (const account of byWorth) {
    if (account.companyId !== null && !followed.has(account.companyId)) followed.set(account.companyId, account);
  }
  for (const { input, companyId } of view.inputs) {
    if (companyId !== null && options.companies.includes(input) && !followed.has(companyId))
      followed.set(companyId, undefined);
  }
  return followed;
};

const resolutions = ({ view, options }: Context): readonly Candidate[] => {
  const stream = streamSpec("companies");
  return options.companies.flatMap((input): readonly Candidate[] => {
    const known = view.inputs.find((row) => row.input === input);
    const retry =
      known !== undefined && known.companyId === null && view.now - (known.resolvedAt ?? 0) > UNKNOWN_INPUT_RETRY_MS;
    if (known !== undefined && !retry) return [];
    const because = retry ? "not known to the service a week ago" : "followed, not yet resolved";
    return [
      {
        stream: "companies",
        scope: `${INPUT_SCOPE}${input}`,
        mode: "resolve",
        overlap: false,
        because,
        requests: 1,
        value: stream.worth + 500,
      },
    ];
  });
};

const companyProfiles = (context: Context): readonly Candidate[] => {
  const stream = streamSpec("companies");
  const wantsContent = wantedContent(stream, context.options.content).length > 0;
  const embedded = context.options.shapes.get("accounts")?.include !== false;
  return [...followedCompanies(context)].flatMap(([companyId, account]): readonly Candidate[] => {
    const state = context.view.states.get(stateKey("companies", companyId));
    const mirrored = context.view.companies.has(companyId);
    // A tracked company is refreshed with its account, as long as the service embeds it and no content is wanted.
    const refreshed = embedded && account !== undefined && mirrored && !wantsContent;
    let because: string | null = null;
    if (state?.status === "walking") because = "goes on where it was interrupted";
    else if (state === undefined)
      because = !mirrored ? "not embedded in its account" : wantsContent ? "content not yet fetched" : null;
    else if (!refreshed) because = staleness(context, stream, state);
    return because === null
      ? []
      : [
          {
            stream: "companies",
            scope: companyId,
            mode: "on-change",
            overlap: false,
            because,
            requests: 1,
            value: stream.worth + accountWorth(account),
          },
        ];
  });
};

/** News, job openings, earnings calls, filings of every followed company. */
const companyList = (context: Context, stream: StreamSpec): readonly Candidate[] =>
  [...followedCompanies(context)].flatMap(([companyId, account]): readonly Candidate[] => {
    const { view, options } = context;
    const state = view.states.get(stateKey(stream.name, companyId));
    const hint = view.hints.get(stateKey(stream.name, companyId));
    const candidate = (mode: ScopeMode, because: string, boost = 0, overlap = false): readonly Candidate[] => [
      {
        stream: stream.name,
        scope: companyId,
        mode,
        overlap,
        because,
        requests: mode === "known" ? 1 : (pagesOf(context, stream, state?.totalCount ?? null) ?? 1),
        value: stream.worth + accountWorth(account) + boost,
      },
    ];
    if (state === undefined) return candidate("walk", "never synced");
    if (state.status === "walking") return candidate("walk", "goes on where it was interrupted", 200);
    if (options.full) return candidate("walk", "--full", 0, true);
    if (state.walkedAt === null) return candidate("walk", "no complete walk yet");
    if (hint !== undefined)
      return candidate("known", `hinted by ${plural(hint.count, `new ${hint.type} signal`)}`, 150);
    const stale = staleness(context, stream, state);
    if (stale === null) return [];
    return view.now - state.walkedAt > 4 * maxAge(context, stream)
      ? candidate("walk", `reconciled more than ${age(4 * maxAge(context, stream))} ago`, 0, true)
      : candidate("known", stale);
  });

const insights = (context: Context): readonly Candidate[] => {
  const stream = streamSpec("account_insights");
  return context.view.accounts.flatMap((account): readonly Candidate[] => {
    const state = context.view.states.get(stateKey(stream.name, account.id));
    const changed = state !== undefined && account.changedAt > (state.checkedAt ?? 0);
    const because =
      state === undefined ? "never synced" : changed ? "the account changed" : staleness(context, stream, state);
    return because === null
      ? []
      : [
          {
            stream: stream.name,
            scope: account.id,
            mode: "on-change",
            overlap: false,
            because,
            requests: 1,
            value: stream.worth + accountWorth(account),
          },
        ];
  });
};

const signalContent = ({ view }: Context): readonly Candidate[] => {
  const accounts = new Map(view.accounts.map((account) => [account.id, account]));
  return view.signalsWithoutContent.map(({ id, accountId, updatedAt }) => ({
    stream: "signals",
    scope: `${DETAIL_SCOPE}${id}`,
    mode: "detail",
    overlap: false,
    because: "full content not yet fetched",
    requests: 1,
    value: 20 + accountWorth(accounts.get(accountId)) / 10,
    version: updatedAt,
  }));
};

const candidatesOf = (context: Context, name: StreamName): readonly Candidate[] => {
  const stream = streamSpec(name);
  switch (name) {
    case "accounts":
    case "contacts":
      return organizationList(context, stream);
    case "signals":
      return [...organizationList(context, stream), ...signalContent(context)];
    case "signal_counts":
      return capture(context, stream, "", "capture");
    case "companies":
      return companyProfiles(context);
    case "news_articles":
    case "job_openings":
    case "earnings_calls":
    case "filings":
      return companyList(context, stream);
    case "account_insights":
      return insights(context);
    case "usage":
      return [
        ...capture(context, stream, "usage", "capture"),
        ...capture(context, stream, "limits", "capture"),
        ...capture(context, stream, "requests", "log"),
      ];
    default:
      return name satisfies never;
  }
};

/** Every scope that is due, most valuable first; equal ones in a stable order. */
export const dueCandidates = (view: MirrorView, options: DueOptions): readonly Candidate[] => {
  const context: Context = { view, options };
  const usesCompanies = options.streams.some((name) => streamSpec(name).scope === "company");
  return [
    ...(usesCompanies ? resolutions(context) : []),
    ...options.streams.flatMap((name) => candidatesOf(context, name)),
  ].sort((a, b) => b.value - a.value || a.stream.localeCompare(b.stream) || a.scope.localeCompare(b.scope));
};

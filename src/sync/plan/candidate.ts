// Types of the planner: a candidate (one list or record that may be due, with reason, requests and worth) and its view of the mirror; and
// small functions that the planners share. Pure.
import { type StreamName, type StreamSpec, streamSpec } from "../../catalog/streams.ts";
import type { Budgets } from "../../core/config/planning/budget-settings.ts";
import type { RowScope } from "../../core/config/planning/scope-settings.ts";
import type { TierAccess } from "../../core/state/tier.ts";
import { counted } from "../../core/text/units.ts";
import type { ScopeState } from "../../warehouse/record/checkpoint.ts";
import { overlappingPages } from "../list/coverage/page-geometry.ts";
import { type ListForm, proofOf } from "../list/form.ts";
import { type ReadingOrder, workOf } from "../list/state.ts";
import { storedCursor } from "../list/ways/progress.ts";
import type { UsageChoice } from "./usage-scopes.ts";

export interface Candidate extends ReadingOrder {
  readonly because: string;
  /** Number of requests; null while the list's length is unknown. */
  readonly requests: number | null;
  readonly worth: number;
  /** The service refused this list, or one of this company, with 403 the last time. */
  readonly forbidden?: true;
  /** Its walk waits, because a page of it cannot be used; only its changes are read. */
  readonly meanwhile?: true;
  /** Fields that no company embedded in an account holds: this profile shows whether its own route returns them. */
  readonly compares?: readonly string[];
}

/** A reading in one request, unless it says otherwise. `because` null: it is not due. */
export const single = ({
  because,
  ...reading
}: Pick<Candidate, "stream" | "scope" | "mode" | "worth"> &
  Partial<Omit<Candidate, "because">> & { readonly because: string | null }): readonly Candidate[] =>
  because === null ? [] : [{ overlap: false, requests: 1, ...reading, because }];

export interface AccountFact {
  readonly id: string;
  readonly companyId: string | null;
  readonly priority: number | null;
  readonly score: number | null;
  /** Time when this version of the account was mirrored, ms since the epoch. */
  readonly changedAt: number;
}

export interface MirrorView {
  /** ms since the epoch. */
  readonly now: number;
  /** Credits of the period; null: the service has not reported them. */
  readonly creditLimit: number | null;
  /** Credits of the period used so far; null or unset: not reported. */
  readonly creditsUsed?: number | null;
  readonly states: ReadonlyMap<string, ScopeState>;
  readonly accounts: readonly AccountFact[];
  /** Accounts that differ in no documented field from the version of which their insight is. */
  readonly sameAccounts: ReadonlySet<string>;
  readonly companies: ReadonlySet<string>;
  /** Fields without a value in all companies that only accounts brought; unset: none. */
  readonly unfilled?: readonly string[];
  readonly inputs: readonly {
    readonly input: string;
    readonly companyId: string | null;
    /** ms since the epoch; null: not yet in a sync with --reset. */
    readonly resolvedAt: number | null;
  }[];
  /** New signals that announce a change of a company's list: `stateKey(stream, company)` → number and type. */
  readonly hints: ReadonlyMap<string, { readonly count: number; readonly type: string }>;
  /** Signals whose full content was not fetched since their last change. */
  readonly signalsWithoutContent: readonly {
    readonly id: string;
    readonly accountId: string;
    readonly updatedAt: number | null;
  }[];
}

export interface DueOptions extends UsageChoice {
  readonly streams: readonly StreamName[];
  /** Streams were named on the command line, so their captures are due at any age. */
  readonly named: boolean;
  readonly full: boolean;
  /** With `full`: the sync began then in an earlier run, and what was read since is not read again, ms since the epoch. */
  readonly fullSince?: number | null;
  readonly companies: readonly string[];
  readonly content: readonly string[];
  readonly maxAgeMs: Readonly<Record<string, number>>;
  readonly reconcileEveryMs: number;
  readonly budgets: Budgets;
  readonly rowScope: RowScope;
  readonly shapes: ReadonlyMap<StreamName, ListForm>;
  readonly largestPage: number;
  /** Which routes of the Full Access tier may be asked (core/state/tier.ts); unset: all. */
  readonly access?: TierAccess;
  /** Rows of organization lists that `check` has seen (core/state/last-check.ts); unset: none. */
  readonly totals?: ReadonlyMap<string, number>;
  /** Rows of a page of the lists that `check` asked for; unset: it never asked. */
  readonly pageSizes?: ReadonlyMap<string, number>;
  /** True for companies that may be gone, by what this run has read; unset: none. `tracked`: an account links to it. */
  readonly suspected?: (companyId: string, tracked: boolean) => boolean;
}

const DAY_MS = 86_400_000;

export const stateKey = (stream: string, scope: string): string => `${stream}\n${scope}`;

export const age = (ms: number): string =>
  ms >= 2 * DAY_MS ? counted(Math.round(ms / DAY_MS), "day") : counted(Math.max(1, Math.round(ms / 3_600_000)), "hour");

export interface Context {
  readonly view: MirrorView;
  readonly options: DueOptions;
}

/** Rows of a page that names no size (API.md, "Limits"): hardly any service grants less. */
export const DEFAULT_PAGE = 20;

/**
 * Rows of a page of the stream's list: by its own pages, by `check`, or by the pages of other lists. `known` false: no
 * answer has shown any, and the largest page is assumed.
 */
export const expectedPageSize = (
  { options }: Context,
  name: StreamName,
): { readonly rows: number; readonly known: boolean } => {
  const { shapes, pageSizes = new Map<string, number>(), largestPage } = options;
  const own = shapes.get(name);
  if (own?.settled === true) return { rows: own.perPage, known: true };
  const asked = pageSizes.get(name);
  if (asked !== undefined) return { rows: Math.min(asked, largestPage), known: true };
  const others = [
    ...[...shapes].flatMap(([other, { settled, perPage }]) =>
      settled && streamSpec(other).list !== undefined ? [perPage] : [],
    ),
    ...pageSizes.values(),
  ];
  return { rows: Math.min(own?.perPage ?? largestPage, largestPage, ...others), known: others.length > 0 };
};

/** Pages of a list with `total` rows; null: not known how many. `count`: by default, pages that share no row. */
export const pagesOf = (
  context: Context,
  stream: StreamSpec,
  total: number | null,
  count = (rows: number, size: number) => Math.max(1, Math.ceil(rows / size)),
): number | null => (total === null ? null : count(total, expectedPageSize(context, stream.name).rows));

/** Pages of a walk: they share rows, unless it is a first one that growing ids join (docs/decisions/paging.md). */
export const walkPages = (context: Context, stream: StreamSpec, total: number | null): number | null => {
  const { sort } = context.options.shapes.get(stream.name) ?? { sort: true };
  const sharing = proofOf(stream, { sort }) === "identity";
  return pagesOf(context, stream, total, sharing ? overlappingPages : undefined);
};

/** Shortest time between two readings, so that each takes at most a hundredth of the period's credits, ms. */
const readingAge = (limit: number | null): number => (limit === null ? 0 : (30 * DAY_MS) / Math.max(1, limit / 100));

/** Age after which a stream is due. `limit`: credits of the period, null: not known. */
export const dueAge = (
  { name, strategy, maxAgeMs }: StreamSpec,
  configured: DueOptions["maxAgeMs"],
  limit: number | null,
): number =>
  configured[name] ?? (strategy === "capture" || strategy === "log" ? Math.max(maxAgeMs, readingAge(limit)) : maxAgeMs);

export const maxAge = ({ options, view }: Context, stream: StreamSpec): number =>
  dueAge(stream, options.maxAgeMs, view.creditLimit);

/** Shortest time between two complete walks of a list: how often it is reconciled, or longer by the budget of walks. */
export const walkAge = ({ options }: Pick<Context, "options">, reconcileMs: number): number =>
  Math.max(reconcileMs, options.budgets.walks?.minIntervalMs ?? 0);

/** True when `--full` asks for what was last read at this time; null: never. */
export const isDueByFull = ({ options }: Pick<Context, "options">, readAt: number | null): boolean =>
  options.full && (readAt ?? Number.NEGATIVE_INFINITY) < (options.fullSince ?? Number.POSITIVE_INFINITY);

/** Reason why a scope that was read before is due again; null when it is not. */
export const staleness = (
  context: Context,
  stream: StreamSpec,
  state: Pick<ScopeState, "checkedAt">,
): string | null => {
  const since = state.checkedAt === null ? null : context.view.now - state.checkedAt;
  if (isDueByFull(context, state.checkedAt)) return "--full";
  if (since === null) return "never completed";
  return since > maxAge(context, stream) ? `older than ${age(maxAge(context, stream))}` : null;
};

/**
 * What was interrupted in a list: its walk, or only a look at what changed. A look says nothing about the rows that did not
 * change, so it takes the place of no walk that is due. null: nothing was interrupted. A cursor that cannot be read counts
 * as that of a walk: the list is then read whole.
 */
export const interruptedWork = (state: Pick<ScopeState, "status" | "cursor">): "walk" | "look" | null => {
  if (state.status !== "walking") return null;
  return workOf(storedCursor(state.cursor)?.progress.kind ?? "walk") === "look" ? "look" : "walk";
};

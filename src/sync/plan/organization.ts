// Plans the due work for the organization itself: the lists of accounts, contacts and signals, signal contents, insights, usage, and
// captures (counts of signals per type, stored anew each time). Pure.
import { type StreamSpec, streamSpec, wantedContent } from "../../catalog/streams.ts";
import type { ScopeState } from "../../warehouse/record/checkpoint.ts";
import { overlappingPages } from "../list/coverage/page-geometry.ts";
import { endsAtWindow } from "../list/search-window.ts";
import type { ScopeMode } from "../list/state.ts";
import { DETAIL_SCOPE } from "../rows/loads.ts";
import {
  type AccountFact,
  age,
  type Candidate,
  type Context,
  interruptedWork,
  isDueByFull,
  type MirrorView,
  pagesOf,
  single,
  staleness,
  stateKey,
  walkAge,
  walkPages,
} from "./candidate.ts";
import { HISTORY_SCOPE, usageScopes } from "./usage-scopes.ts";
import { accountReadWorth, contentWorth, listWorth } from "./worth.ts";

const DAY_MS = 86_400_000;

/** True when the list returns configured content that some rows were read without. */
export const unreadContent = ({ options }: Pick<Context, "options">, stream: StreamSpec): boolean => {
  const shape = options.shapes.get(stream.name);
  return wantedContent(stream, options.content).some(
    ({ name }) => shape?.grants.includes(name) && !shape.walkedWith.includes(name),
  );
};

interface Reason {
  readonly mode: ScopeMode;
  readonly because: string;
  readonly requests: number | null;
  readonly overlap?: true;
  readonly unfinished?: true;
}

/** Why the list is walked, or what of a walk that cannot end is read; null: its changes suffice. `left`: what was interrupted. */
const walkReason = (
  context: Context,
  stream: StreamSpec,
  state: ScopeState | undefined,
  left: ReturnType<typeof interruptedWork> | null,
  total: number | null,
): Reason | null => {
  const { view, options } = context;
  const walk = (because: string) => ({ mode: "walk", because, requests: walkPages(context, stream, total) }) as const;
  const unfinished = (because: string): Reason => ({ ...walk(because), unfinished: true });
  if (state === undefined) return unfinished("never synced");
  if (state.status === "walking" && state.error === "LIST_TOO_DEEP")
    return { ...unfinished("the service does not return it whole; its changes"), requests: 1 };
  if (left === "walk") return unfinished("resumes where it was interrupted");
  const isCutOff = state.status === "idle" && endsAtWindow(options.shapes.get(stream.name)?.window ?? null, view.now);
  if (state.walkedAt === null && !isCutOff) return unfinished("no complete walk yet");
  if (unreadContent(context, stream)) return walk("not yet read with the content that is wanted");
  const sharing = (because: string): Reason => {
    return { mode: "walk", because, requests: pagesOf(context, stream, total, overlappingPages), overlap: true };
  };
  if (isDueByFull(context, state.walkedAt)) return sharing("--full");
  const reconcileMs = walkAge(context, options.reconcileEveryMs);
  const isOld = !isCutOff && view.now - (state.walkedAt ?? 0) > reconcileMs;
  return isOld ? sharing(`reconciled more than ${age(reconcileMs)} ago`) : null;
};

const changesReason = (context: Context, stream: StreamSpec, total: number | null): Reason => {
  const shape = context.options.shapes.get(stream.name);
  const because = "changes since the last sync";
  if (shape?.changeOrder !== false) return { mode: "watermark", because, requests: 1 };
  const whole = walkPages(context, stream, total);
  // A page shows the count of the list, which the filter does not; a page that holds the whole list needs no filter.
  const isFiltered = stream.filter !== undefined && shape.changeFilter && whole !== 1;
  if (isFiltered) return { mode: "filter", because, requests: total === null ? 1 : 2 };
  return { mode: "walk", because: `the service does not sort by ${stream.watermark}`, requests: whole };
};

/** accounts, contacts, signals: checked in every sync, with one page if nothing changed. */
export const organizationList = (context: Context, stream: StreamSpec): readonly Candidate[] => {
  const { view, options } = context;
  const { name } = stream;
  const state = view.states.get(stateKey(name, ""));
  const left = state === undefined || state.error === "LIST_TOO_DEEP" ? null : interruptedWork(state);
  const total = state?.totalCount ?? options.totals?.get(name) ?? null;
  const walk = walkReason(context, stream, state, left, total);
  const { unfinished = false, ...reason } = walk ?? changesReason(context, stream, total);
  const sinceCheckMs = view.now - (state?.checkedAt ?? 0);
  const worth = listWorth(name, unfinished ? { unfinished } : walk === null ? { sinceCheckMs } : {});
  const anew = reason.mode === "walk" && left === "look" ? ({ anew: true } as const) : {};
  return single({ stream: name, scope: "", worth, ...reason, ...anew });
};

export const capture = (context: Context, stream: StreamSpec, scope: string, mode: ScopeMode): readonly Candidate[] => {
  const state = context.view.states.get(stateKey(stream.name, scope));
  const due = state === undefined ? "never synced" : staleness(context, stream, state);
  const because = due ?? (context.options.named ? "named on the command line" : null);
  return single({ stream: stream.name, scope, mode, because, worth: listWorth(stream.name) });
};

/**
 * True when the account has another version than the one of which its insight is. Their times are compared only where that
 * version is not known: a clock that was ahead would make each insight due until its time has come.
 */
const hasChanged = (view: MirrorView, { id, changedAt }: AccountFact, { watermark, checkedAt }: ScopeState): boolean =>
  watermark === null ? changedAt > (checkedAt ?? 0) : changedAt !== watermark && !view.sameAccounts.has(id);

export const insights = (context: Context): readonly Candidate[] => {
  const stream = streamSpec("account_insights");
  return context.view.accounts.flatMap((account) => {
    const state = context.view.states.get(stateKey(stream.name, account.id));
    const changed = state !== undefined && hasChanged(context.view, account, state);
    const because =
      state === undefined ? "never synced" : changed ? "the account changed" : staleness(context, stream, state);
    const worth = accountReadWorth(stream.name, account);
    return single({
      stream: stream.name,
      scope: account.id,
      mode: "on-change",
      because,
      worth,
      version: account.changedAt,
    });
  });
};

/** Contents of single signals, needed only where the list does not return requested content. */
export const signalContent = ({ view, options }: Context): readonly Candidate[] => {
  const shape = options.shapes.get("signals");
  const lacking = wantedContent(streamSpec("signals"), options.content).some(
    ({ name }) => shape?.content === false || shape?.lacks.includes(name),
  );
  if (!lacking) return [];
  const accounts = new Map(view.accounts.map((account) => [account.id, account]));
  return view.signalsWithoutContent.flatMap(({ id, accountId, updatedAt }) =>
    single({
      stream: "signals",
      scope: `${DETAIL_SCOPE}${id}`,
      mode: "detail",
      because: "full content not yet fetched",
      worth: contentWorth(accounts.get(accountId)),
      version: updatedAt,
    }),
  );
};

// The usage routes: the quota with its breakdowns, the contracted limits, the request history.

/** Entries of the history are read again from this long before the last read: clocks differ. */
const OVERLAP_MS = DAY_MS;

/**
 * Entries of the request history before its first read: it is judged by the requests of this period, which the quota
 * counts. null: not known.
 */
export const historyEntries = ({ options, view }: Context): number | null => {
  const { usage, totals } = options;
  const used = view.creditsUsed ?? totals?.get("usage") ?? null;
  return used === null ? null : used * Math.max(1, usage.historyDays / 30);
};

/** The request history from the last read on, but no older than configured. */
const history = (context: Context, stream: StreamSpec): readonly Candidate[] => {
  const { usage } = context.options;
  const { now, states } = context.view;
  const readAt = states.get(stateKey(stream.name, HISTORY_SCOPE))?.checkedAt ?? null;
  const since = Math.max(now - usage.historyDays * DAY_MS, readAt === null ? 0 : readAt - OVERLAP_MS);
  const requests = readAt === null ? pagesOf(context, streamSpec("usage"), historyEntries(context)) : 1;
  return capture(context, stream, HISTORY_SCOPE, "log").map((candidate) => ({ ...candidate, requests, since }));
};

export const usageWork = (context: Context, stream: StreamSpec): readonly Candidate[] =>
  usageScopes(context.options).flatMap((scope) =>
    scope === HISTORY_SCOPE ? history(context, stream) : capture(context, stream, scope, "capture"),
  );

// Due work of the organization: the lists of accounts, contacts and signals, signal contents, insights, captures.
import { type StreamSpec, streamSpec, wantedContent } from "../../catalog/streams.ts";
import type { ScopeState } from "../../warehouse/record/checkpoint.ts";
import { overlappingPages } from "../list/coverage/page-geometry.ts";
import type { ScopeMode } from "../list/order.ts";
import { endsAtWindow } from "../list/window.ts";
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
  staleness,
  stateKey,
  walkAge,
  walkPages,
} from "./candidate.ts";
import { accountReadWorth, contentWorth, listWorth } from "./worth.ts";

/** True when the list returns configured content that some rows were read without. */
export const unreadContent = ({ options }: Pick<Context, "options">, stream: StreamSpec): boolean => {
  const shape = options.shapes.get(stream.name);
  return wantedContent(stream, options.content).some(
    ({ name }) => shape?.grants.includes(name) && !shape.walkedWith.includes(name),
  );
};

/** accounts, contacts, signals: checked in every sync, with one page if nothing changed. */
export const organizationList = (context: Context, stream: StreamSpec): readonly Candidate[] => {
  const { view, options } = context;
  const state = view.states.get(stateKey(stream.name, ""));
  const left = state === undefined || state.error === "LIST_TOO_DEEP" ? null : interruptedWork(state);
  const candidate = (
    mode: ScopeMode,
    because: string,
    requests: number | null,
    { overlap = false, worth = listWorth(stream.name) } = {},
  ): readonly Candidate[] => {
    const anew = mode === "walk" && left === "look" ? ({ anew: true } as const) : {};
    return [{ stream: stream.name, scope: "", mode, overlap, because, requests, worth, ...anew }];
  };
  const unfinished = { worth: listWorth(stream.name, { unfinished: true }) };
  const total = state?.totalCount ?? options.totals?.get(stream.name) ?? null;
  const whole = walkPages(context, stream, total);
  const sharing = pagesOf(context, stream, total, overlappingPages);
  if (state === undefined) return candidate("walk", "never synced", whole, unfinished);
  if (state.status === "walking" && state.error === "LIST_TOO_DEEP") {
    return candidate("walk", "the service does not return it whole; its changes", 1, unfinished);
  }
  if (left === "walk") return candidate("walk", "resumes where it was interrupted", whole, unfinished);
  const window = options.shapes.get(stream.name)?.window ?? null;
  const isCutOff = state.status === "idle" && endsAtWindow(window, view.now);
  if (state.walkedAt === null && !isCutOff) return candidate("walk", "no complete walk yet", whole, unfinished);
  if (unreadContent(context, stream)) return candidate("walk", "not yet read with the content that is wanted", whole);
  if (isDueByFull(context, state.walkedAt)) return candidate("walk", "--full", sharing, { overlap: true });
  const reconcileMs = walkAge(context, options.reconcileEveryMs);
  if (!isCutOff && view.now - (state.walkedAt ?? 0) > reconcileMs) {
    return candidate("walk", `reconciled more than ${age(reconcileMs)} ago`, sharing, { overlap: true });
  }
  const look = { worth: listWorth(stream.name, { sinceCheckMs: view.now - (state.checkedAt ?? 0) }) };
  const shape = options.shapes.get(stream.name);
  if (shape?.changeOrder !== false) return candidate("watermark", "changes since the last sync", 1, look);
  // A page shows the count of the list, which the filter does not; a page that holds the whole list needs no filter.
  const isFiltered = stream.filter !== undefined && shape.changeFilter && whole !== 1;
  return isFiltered
    ? candidate("filter", "changes since the last sync", total === null ? 1 : 2, look)
    : candidate("walk", `the service does not sort by ${stream.watermark}`, whole, look);
};

export const capture = (context: Context, stream: StreamSpec, scope: string, mode: ScopeMode): readonly Candidate[] => {
  const state = context.view.states.get(stateKey(stream.name, scope));
  const because = state === undefined ? "never synced" : staleness(context, stream, state);
  const named = context.options.named ? "named on the command line" : null;
  const reason = because ?? named;
  return reason === null
    ? []
    : [
        {
          stream: stream.name,
          scope,
          mode,
          overlap: false,
          because: reason,
          requests: 1,
          worth: listWorth(stream.name),
        },
      ];
};

/**
 * True when the account has another version than the one of which its insight is. Their times are compared only where that
 * version is not known: a clock that was ahead would make each insight due until its time has come.
 */
const hasChanged = (view: MirrorView, { id, changedAt }: AccountFact, { watermark, checkedAt }: ScopeState): boolean =>
  watermark === null ? changedAt > (checkedAt ?? 0) : changedAt !== watermark && !view.sameAccounts.has(id);

export const insights = (context: Context): readonly Candidate[] => {
  const stream = streamSpec("account_insights");
  return context.view.accounts.flatMap((account): readonly Candidate[] => {
    const state = context.view.states.get(stateKey(stream.name, account.id));
    const changed = state !== undefined && hasChanged(context.view, account, state);
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
            worth: accountReadWorth(stream.name, account),
            version: account.changedAt,
          },
        ];
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
  return view.signalsWithoutContent.map(({ id, accountId, updatedAt }) => ({
    stream: "signals",
    scope: `${DETAIL_SCOPE}${id}`,
    mode: "detail",
    overlap: false,
    because: "full content not yet fetched",
    requests: 1,
    worth: contentWorth(accounts.get(accountId)),
    version: updatedAt,
  }));
};

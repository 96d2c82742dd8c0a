// Due work of the usage routes: the quota with its breakdowns, the contracted limits, the request history. Pure.
import { type StreamSpec, streamSpec } from "../../catalog/streams.ts";
import { type Candidate, type Context, pagesOf, stateKey } from "./candidate.ts";
import { capture } from "./organization.ts";
import { HISTORY_SCOPE, USAGE_DEFAULTS, usageScopes } from "./usage-scopes.ts";

const DAY_MS = 86_400_000;
/** Entries of the history are read again from this long before the last read: clocks differ. */
const OVERLAP_MS = DAY_MS;

/**
 * Entries of the request history before its first read: it is judged by the requests of this period, which the quota
 * counts. null: not known.
 */
export const historyEntries = ({ options, view }: Context): number | null => {
  const { usage = USAGE_DEFAULTS, totals } = options;
  const used = view.creditsUsed ?? totals?.get("usage") ?? null;
  return used === null ? null : used * Math.max(1, usage.historyDays / 30);
};

/** The request history from the last read on, but no older than configured. */
const history = (context: Context, stream: StreamSpec): readonly Candidate[] => {
  const { usage = USAGE_DEFAULTS } = context.options;
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

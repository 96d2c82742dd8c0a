// Plans a sync: decides which lists and records to read, and why, and sorts them by the worth of a credit (worth.ts, docs/PLANNING.md).
// companies.ts and organization.ts find the candidates. Pure: takes the state of the mirror, reads no clock, sends nothing.
import { type StreamName, streamSpec } from "../../catalog/streams.ts";
import { workOf } from "../list/state.ts";
import { budgetsOf } from "./budgets.ts";
import { type Candidate, type Context, type DueOptions, type MirrorView, stateKey } from "./candidate.ts";
import { companyListReads, companyProfiles, inputsToResolve } from "./companies.ts";
import { capture, insights, organizationList, signalContent, usageWork } from "./organization.ts";

const candidatesOf = (context: Context, name: StreamName): readonly Candidate[] => {
  const stream = streamSpec(name);
  switch (stream.strategy) {
    case "watermark":
    case "filter":
      // No other list has content that it may lack and the record's own route returns.
      return [...organizationList(context, stream), ...(name === "signals" ? signalContent(context) : [])];
    case "known":
      return companyListReads(context, stream);
    case "on-change":
      return stream.scope === "account" ? insights(context) : companyProfiles(context);
    case "capture":
      return capture(context, stream, "", "capture");
    case "log":
      return usageWork(context, stream);
    default:
      return stream.strategy satisfies never;
  }
};

/** The streams that may be asked for, by what is known about the organization's tier. The account list shows the tier. */
export const permittedStreams = ({ view, options }: Context): readonly StreamName[] => {
  const { access = "open", streams } = options;
  const isKnown = access !== "unknown" || view.accounts.length > 0 || !streams.includes("accounts");
  if (!isKnown) return ["accounts"];
  if (access !== "closed" && access !== "probe") return streams;
  return streams.filter((name) => streamSpec(name).tier === "public" || (access === "probe" && name === "accounts"));
};

/**
 * True when a budget's `min_interval` since the last reading is not over. What was never read, or not to its end, is read
 * at any time; so is everything with --full.
 */
const isTooSoon = ({ view, options }: Context, { stream, scope, mode }: Candidate): boolean => {
  const state = view.states.get(stateKey(stream, scope));
  if (options.full || state === undefined || state.status === "walking") return false;
  if (mode === "walk" && state.walkedAt === null) return false;
  // A time in the future, by a clock that was ahead, is as young as any.
  const since = (at: number | null) => (at === null ? Number.POSITIVE_INFINITY : Math.max(0, view.now - at));
  return budgetsOf(options.budgets, { stream, work: workOf(mode) }).some(({ of, minIntervalMs }) => {
    const isOfWalks = "work" in of && of.work === "walk";
    return since(isOfWalks ? state.walkedAt : state.checkedAt) < minIntervalMs;
  });
};

/** Every due scope, most valuable first; equal ones in a stable order. */
export const dueCandidates = (view: MirrorView, options: DueOptions): readonly Candidate[] => {
  const context: Context = { view, options };
  const streams = permittedStreams(context);
  const usesCompanies = streams.some((name) => streamSpec(name).scope === "company");
  return [...(usesCompanies ? inputsToResolve(context) : []), ...streams.flatMap((name) => candidatesOf(context, name))]
    .filter((candidate) => !isTooSoon(context, candidate))
    .sort((a, b) => b.worth - a.worth || a.stream.localeCompare(b.stream) || a.scope.localeCompare(b.scope));
};

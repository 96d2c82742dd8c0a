// Cost of routine work for the forecast: what a mirror reads how often while nothing changes at the service, and when next. Pure.
import { type StreamName, type StreamSpec, streamSpec, wantedContent } from "../../../catalog/streams.ts";
import { overlappingPages } from "../../list/coverage/page-geometry.ts";
import { type Candidate, type Context, maxAge, pagesOf, stateKey, walkPages } from "../candidate.ts";
import { permittedStreams } from "../due.ts";
import { usageScopes } from "../usage-scopes.ts";
import { readsProfiles, totalOf, unreadAccounts } from "./follow-up.ts";

export interface Cycle {
  readonly stream: StreamName;
  /** Credits each time. */
  readonly credits: number;
  readonly everyMs: number;
  /** First time after the planned sync, ms since the epoch. */
  readonly nextAt: number;
}

/** Complete walks of a company's list are this many times rarer than its other reads (companies.ts). */
const WALKS_ARE_RARER = 4;

interface CycleInput {
  readonly context: Context;
  readonly due: readonly Candidate[];
  readonly syncEveryMs: number;
}

/** Lists of the organization: one look in every sync, one walk per `reconcileEveryMs`. */
const listCycles = ({ context, due, syncEveryMs }: CycleInput, stream: StreamSpec): readonly Cycle[] => {
  const { view, options } = context;
  const total = totalOf(context, stream.name);
  const walk = pagesOf(context, stream, total, overlappingPages) ?? 1;
  const shape = options.shapes.get(stream.name);
  // Where changes are filtered, a page before them shows the count of the whole list.
  const isFiltered = stream.filter !== undefined && shape?.changeFilter === true;
  const pages = walkPages(context, stream, total) ?? 1;
  const look = shape?.changeOrder !== false ? 1 : isFiltered ? Math.min(2, pages) : pages;
  const isWalkedNow = due.some(
    ({ stream: name, scope, mode }) => name === stream.name && scope === "" && mode === "walk",
  );
  const walkedAt = isWalkedNow ? view.now : (view.states.get(stateKey(stream.name, ""))?.walkedAt ?? view.now);
  const { reconcileEveryMs } = options;
  return [
    { stream: stream.name, credits: look, everyMs: syncEveryMs, nextAt: view.now + syncEveryMs },
    {
      stream: stream.name,
      // The walk takes the place of a look.
      credits: Math.max(0, walk - look),
      everyMs: Math.max(reconcileEveryMs, syncEveryMs),
      nextAt: Math.max(walkedAt + reconcileEveryMs, view.now + syncEveryMs),
    },
  ];
};

/** Scopes that are read again by age. `unread`: number of further scopes that the planned sync reads first. */
const agedCycles = (
  { context, due, syncEveryMs }: CycleInput,
  stream: StreamSpec,
  scopes: readonly string[],
  unread = 0,
): readonly Cycle[] => {
  const { view } = context;
  const everyMs = Math.max(maxAge(context, stream), syncEveryMs);
  const now = new Set(due.filter(({ stream: name }) => name === stream.name).map(({ scope }) => scope));
  const cycles = scopes.map((scope): Cycle => {
    const state = view.states.get(stateKey(stream.name, scope));
    const readAt = now.has(scope) ? view.now : (state?.checkedAt ?? view.now);
    const pages = stream.list === undefined ? 1 : (walkPages(context, stream, state?.totalCount ?? null) ?? 1);
    const credits = 1 + (stream.scope === "company" ? (pages - 1) / WALKS_ARE_RARER : 0);
    return { stream: stream.name, credits, everyMs, nextAt: Math.max(readAt + everyMs, view.now + syncEveryMs) };
  });
  if (unread === 0) return cycles;
  return [...cycles, { stream: stream.name, credits: unread, everyMs, nextAt: view.now + everyMs }];
};

export const cyclesOf = (input: CycleInput): readonly Cycle[] => {
  const { context } = input;
  const { view, options } = context;
  const unread = unreadAccounts(context) ?? 0;
  const tracked = new Set(view.accounts.flatMap((account) => account.companyId ?? []));
  const inputs = new Set(options.companies);
  const followed = view.inputs.flatMap(({ input: name, companyId }) => (inputs.has(name) ? (companyId ?? []) : []));
  const companies = [...new Set([...tracked, ...followed])];
  const unresolved = options.companies.length - new Set(view.inputs.map(({ input: name }) => name)).size;
  const newInputs = Math.max(0, unresolved);
  return permittedStreams(context).flatMap((name): readonly Cycle[] => {
    const stream = streamSpec(name);
    switch (stream.scope) {
      case "company":
        if (stream.list !== undefined) return agedCycles(input, stream, companies, unread + newInputs);
        // Profiles of tracked companies are embedded in their accounts.
        return readsProfiles(context)
          ? agedCycles(input, stream, companies, unread + newInputs)
          : agedCycles(input, stream, [...new Set(followed)], newInputs);
      case "account":
        return agedCycles(
          input,
          stream,
          view.accounts.map(({ id }) => id),
          unread,
        );
      default:
        if (stream.strategy === "log") return agedCycles(input, stream, usageScopes(context.options));
        return stream.strategy === "capture" ? agedCycles(input, stream, [""]) : listCycles(input, stream);
    }
  });
};

export const creditsPerDay = (cycles: readonly Cycle[]): ReadonlyMap<StreamName, number> => {
  const days = new Map<StreamName, number>();
  for (const { stream, credits, everyMs } of cycles) {
    days.set(stream, (days.get(stream) ?? 0) + (credits * 86_400_000) / everyMs);
  }
  return days;
};

/** Credits of each cycle that come up until `end`, by day from `now`. */
export const creditsUntil = (
  cycles: readonly Cycle[],
  now: number,
  end: number,
  add: (stream: StreamName, day: number, credits: number) => void,
): void => {
  for (const { stream, credits, everyMs, nextAt } of cycles) {
    for (let at = nextAt; at < end; at += everyMs) add(stream, Math.floor((at - now) / 86_400_000), credits);
  }
};

/** Details that a signal's content takes, in credits per new or changed signal: 0 where the list returns it. */
export const detailsPerSignal = ({ options }: Context): number => {
  const wanted = wantedContent(streamSpec("signals"), options.content);
  const shape = options.shapes.get("signals");
  return wanted.length > 0 && wanted.some(({ name }) => shape?.grants.includes(name) !== true) ? 1 : 0;
};

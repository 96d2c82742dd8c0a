// Due among companies: inputs to resolve, profiles that are not embedded, and the four lists of every followed company.
import { type StreamSpec, streamSpec, wantedContent } from "../../catalog/streams.ts";
import { INPUT_SCOPE } from "../rows/loads.ts";
import {
  type AccountFact,
  accountWorth,
  age,
  type Candidate,
  type Context,
  maxAge,
  pagesOf,
  plural,
  type ScopeMode,
  staleness,
  stateKey,
} from "./candidate.ts";

/** Inputs the service does not know are asked for again after this time; a 404 costs nothing. */
const UNKNOWN_INPUT_RETRY_MS = 7 * 86_400_000;
/**
 * A list that is missing is worth as much as news in one that is there: with less, a plan that cannot afford both would
 * keep a part fresh and never see the rest (bench/plan-month.ts). Which account it is decides between the two.
 */
const MISSING_OR_NEWS = 150;

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

export const resolutions = ({ view, options }: Context): readonly Candidate[] => {
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

export const companyProfiles = (context: Context): readonly Candidate[] => {
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
export const companyList = (context: Context, stream: StreamSpec): readonly Candidate[] =>
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
    if (state === undefined) return candidate("walk", "never synced", MISSING_OR_NEWS);
    if (state.status === "walking") return candidate("walk", "goes on where it was interrupted", 200);
    if (options.full) return candidate("walk", "--full", 0, true);
    if (state.walkedAt === null) return candidate("walk", "no complete walk yet");
    if (hint !== undefined)
      return candidate("known", `hinted by ${plural(hint.count, `new ${hint.type} signal`)}`, MISSING_OR_NEWS);
    const stale = staleness(context, stream, state);
    if (stale === null) return [];
    return view.now - state.walkedAt > 4 * maxAge(context, stream)
      ? candidate("walk", `reconciled more than ${age(4 * maxAge(context, stream))} ago`, 0, true)
      : candidate("known", stale);
  });

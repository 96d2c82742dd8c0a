// Plans the due work for companies: inputs to resolve, profiles that are missing, old or lack content, and the lists of every followed
// company. Pure.
import { type StreamSpec, streamSpec, wantedContent } from "../../catalog/streams.ts";
import { counted } from "../../core/text/units.ts";
import type { ScopeState } from "../../warehouse/record/checkpoint.ts";
import { embedsOf, type ListForm } from "../list/form.ts";
import type { ScopeMode } from "../list/state.ts";
import { INPUT_SCOPE } from "../rows/loads.ts";
import {
  type AccountFact,
  age,
  type Candidate,
  type Context,
  interruptedWork,
  isDueByFull,
  type MirrorView,
  maxAge,
  single,
  staleness,
  stateKey,
  walkAge,
  walkPages,
} from "./candidate.ts";
import { accountReadWorth, accountWorth, inputWorth } from "./worth.ts";

/** Wait before an input unknown to the service is tried again; a 404 costs nothing. */
const UNKNOWN_INPUT_RETRY_MS = 7 * 86_400_000;

/** Wait before a company that may be gone, and was there, is asked for again. */
const SUSPECT_RETRY_MS = 7 * 86_400_000;

/** Companies to follow: those of tracked accounts, the most valuable account first, then the resolved inputs. */
const followedCompanies = ({ view, options }: Context): ReadonlyMap<string, AccountFact | undefined> => {
  const followed = new Map<string, AccountFact | undefined>();
  const inputs = new Set(options.companies);
  const streamsByWorth = [...view.accounts].sort((a, b) => accountWorth(b) - accountWorth(a));
  for (const account of streamsByWorth) {
    if (account.companyId !== null && !followed.has(account.companyId)) followed.set(account.companyId, account);
  }
  for (const { input, companyId } of view.inputs) {
    if (companyId !== null && inputs.has(input) && !followed.has(companyId)) followed.set(companyId, undefined);
  }
  return followed;
};

/** True unless the service refused to embed companies in their accounts, answered without them, or embeds them in part. */
export const embedsCompanies = (accounts: ListForm | undefined): boolean =>
  accounts === undefined ||
  embedsOf(streamSpec("accounts"), accounts).some(
    ({ table, include }) =>
      table === "companies" && !accounts.lacks.includes(include) && !accounts.partial?.includes(include),
  );

type KnownInput = MirrorView["inputs"][number];

/** True when the company's profile, read since the input was resolved, is that of another company. */
const resolvesElsewhere = ({ view }: Context, { companyId, resolvedAt }: KnownInput): boolean => {
  if (companyId === null || view.companies.has(companyId)) return false;
  const readAt = view.states.get(stateKey("companies", companyId))?.checkedAt ?? null;
  return readAt !== null && readAt > (resolvedAt ?? 0);
};

const inputDue = (context: Context, known: KnownInput | undefined): string | null => {
  if (known === undefined) return "followed, not yet resolved";
  if (known.resolvedAt === null) return "--reset: the input may name another company now";
  if (known.companyId !== null && resolvesElsewhere(context, known)) return "its company has another id now";
  if (known.companyId === null && context.view.now - known.resolvedAt > UNKNOWN_INPUT_RETRY_MS)
    return "unknown to the service, asked again weekly";
  if (!isDueByFull(context, known.resolvedAt)) return null;
  return known.companyId === null ? "--full" : "--full: the input may name another company now";
};

/**
 * Followed inputs that no answer has resolved yet, whose company has another id now, that are asked again weekly, or that
 * the command asks for again.
 */
export const inputsToResolve = (context: Context): readonly Candidate[] => {
  const { view, options } = context;
  const inputs = new Map(view.inputs.map((known) => [known.input, known]));
  return options.companies.flatMap((input) =>
    single({
      stream: "companies",
      scope: `${INPUT_SCOPE}${input}`,
      mode: "resolve",
      because: inputDue(context, inputs.get(input)),
      worth: inputWorth(),
    }),
  );
};

const later = (a: number | null, b: number | null): number | null =>
  a === null || b === null ? (a ?? b) : Math.max(a, b);

/** Times when inputs were resolved, by company. Resolving an input also returns the profile. */
const resolvedAt = ({ view }: Context): ReadonlyMap<string, number> => {
  const times = new Map<string, number>();
  for (const { companyId, resolvedAt } of view.inputs) {
    if (companyId === null || resolvedAt === null) continue;
    times.set(companyId, Math.max(resolvedAt, times.get(companyId) ?? 0));
  }
  return times;
};

interface Profile {
  readonly companyId: string;
  readonly account: AccountFact | undefined;
  /** When an input last returned it; null: none has. */
  readonly resolved: number | null;
}

/** True when the accounts of this service bring the mirrored company along. */
const comesEmbedded = ({ view, options }: Context, { companyId, account }: Profile): boolean =>
  account !== undefined && view.companies.has(companyId) && embedsCompanies(options.shapes.get("accounts"));

/** Why a profile that no request has returned yet is due; null: it is not, because its account brings it. */
const unreadDue = (context: Context, profile: Profile, wantsContent: boolean): string | null => {
  const { view, options } = context;
  const { companyId, account } = profile;
  if (!view.companies.has(companyId))
    return account === undefined ? "resolved, not yet fetched" : "not embedded in its account";
  if (wantsContent) return "content not yet fetched";
  if (account !== undefined && options.shapes.get("accounts")?.partial?.includes("company"))
    return "its account holds only a part of it";
  // The profile came with its account. If this run does not read accounts, its age is that of their last complete walk.
  if (comesEmbedded(context, profile) && options.streams.includes("accounts")) return null;
  const walkedAt = view.states.get(stateKey("accounts", ""))?.walkedAt ?? null;
  if (walkedAt === null && !options.full) return null;
  return staleness(context, streamSpec("companies"), { checkedAt: walkedAt });
};

/** Reason why a profile is due; null when it is not. `wantsContent`: content of companies is configured. */
const profileDue = (context: Context, profile: Profile, wantsContent: boolean): string | null => {
  const { view, options } = context;
  const { companyId, account, resolved } = profile;
  const read = view.states.get(stateKey("companies", companyId));
  const checkedAt = later(resolved, read?.checkedAt ?? null);
  if (options.suspected?.(companyId, account !== undefined) === true && view.now - (checkedAt ?? 0) > SUSPECT_RETRY_MS)
    return "no account embeds it, or a list of it answers 404";
  if (checkedAt === null) return unreadDue(context, profile, wantsContent);
  // A company that is embedded in an account and was never requested by id is as fresh as its account.
  const isAsFresh = read === undefined && !wantsContent && comesEmbedded(context, profile);
  return isAsFresh ? null : staleness(context, streamSpec("companies"), { checkedAt });
};

/** The company whose profile shows whether accounts bring theirs whole; null: that is known, or no field is in doubt. */
const comparedCompany = (
  { view: { unfilled = [], companies, states }, options }: Context,
  followed: ReadonlyMap<string, AccountFact | undefined>,
): string | null => {
  const accounts = options.shapes.get("accounts");
  if (unfilled.length === 0 || (accounts?.partial ?? null) !== null) return null;
  const isRead = (id: string) => (states.get(stateKey("companies", id))?.checkedAt ?? null) !== null;
  const isEmbedded = ([id, account]: readonly [string, AccountFact | undefined]) =>
    account !== undefined && companies.has(id) && !isRead(id);
  return [...followed].find(isEmbedded)?.[0] ?? null;
};

export const companyProfiles = (context: Context): readonly Candidate[] => {
  const stream = streamSpec("companies");
  const resolved = resolvedAt(context);
  const wantsContent = wantedContent(stream, context.options.content).length > 0;
  const followed = followedCompanies(context);
  const compared = comparedCompany(context, followed);
  return [...followed].flatMap(([companyId, account]) => {
    const profile = { companyId, account, resolved: resolved.get(companyId) ?? null };
    const isCompared = companyId === compared;
    return single({
      stream: "companies",
      scope: companyId,
      mode: "on-change",
      because:
        profileDue(context, profile, wantsContent) ?? (isCompared ? "shows whether accounts bring it whole" : null),
      worth: accountReadWorth(stream.name, account),
      ...(isCompared ? { compares: context.view.unfilled ?? [] } : {}),
    });
  });
};

/**
 * True for a list that was read to its end and returned every mirrored row, where nothing proves the end because the
 * service counts nothing. Another reading would prove no more, so the list is read again when it is due by age, and not
 * in every sync.
 */
const isOnlyUncounted = ({ checkedAt, totalCount, unconfirmed }: ScopeState): boolean =>
  checkedAt !== null && totalCount === null && unconfirmed?.rows === 0;

/** Due reads of one company list (news, job openings, earnings calls or filings) of every followed company. */
export const companyListReads = (context: Context, stream: StreamSpec): readonly Candidate[] =>
  [...followedCompanies(context)].flatMap(([companyId, account]): readonly Candidate[] => {
    const { view } = context;
    const state = view.states.get(stateKey(stream.name, companyId));
    const left = state === undefined ? null : interruptedWork(state);
    const hint = view.hints.get(stateKey(stream.name, companyId));
    const candidate = (
      mode: ScopeMode,
      because: string,
      why: Parameters<typeof accountReadWorth>[2] = "due",
      overlap = false,
    ): readonly Candidate[] =>
      single({
        stream: stream.name,
        scope: companyId,
        mode,
        overlap,
        because,
        requests: mode === "known" ? 1 : (walkPages(context, stream, state?.totalCount ?? null) ?? 1),
        worth: accountReadWorth(stream.name, account, why),
        ...(mode === "walk" && left === "look" ? { anew: true } : {}),
      });
    if (state === undefined) return candidate("walk", "never synced", "missing or hinted");
    if (left === "walk") return candidate("walk", "resumes where it was interrupted", "interrupted");
    if (isDueByFull(context, state.walkedAt)) return candidate("walk", "--full", "due", true);
    if (state.walkedAt === null && !isOnlyUncounted(state)) return candidate("walk", "no complete walk yet");
    if (left === "look") return candidate("known", "resumes where it was interrupted", "interrupted");
    if (hint !== undefined)
      return candidate("known", `hinted by ${counted(hint.count, `new ${hint.type} signal`)}`, "missing or hinted");
    const stale = staleness(context, stream, state);
    if (stale === null) return [];
    if (state.walkedAt === null) return candidate("walk", stale, "due", true);
    const reconcileMs = walkAge(context, 4 * maxAge(context, stream));
    return view.now - state.walkedAt > reconcileMs
      ? candidate("walk", `reconciled more than ${age(reconcileMs)} ago`, "due", true)
      : candidate("known", stale);
  });

// Work that is not due yet, but that the next sync causes itself, for the forecast: companies and insights of new accounts, lists of inputs
// that it resolves, details of changes. Pure.
import { COMPANY_LISTS, type StreamName, streamSpec, wantedContent } from "../../../catalog/streams.ts";
import { initialForm } from "../../list/form.ts";
import { namedOnDemand } from "../../request/calls.ts";
import { isChoiceOpen } from "../../rows/granted-fields.ts";
import { INPUT_SCOPE } from "../../rows/loads.ts";
import { type Candidate, type Context, pagesOf, stateKey } from "../candidate.ts";
import { embedsCompanies } from "../companies.ts";
import { permittedStreams } from "../due.ts";
import { historyEntries } from "../organization.ts";
import { HISTORY_SCOPE } from "../usage-scopes.ts";
import { daysSinceRead, expectedFollowUps, type Rates } from "./past-runs.ts";

export interface FollowUp {
  readonly stream: StreamName;
  /** Expected credits; not whole. */
  readonly requests: number;
  readonly because: string;
  /** It follows from changes, so later syncs will find such work, too. */
  readonly recurs: boolean;
}

const once = (stream: StreamName, requests: number, because: string): FollowUp => ({
  stream,
  requests,
  because,
  recurs: false,
});

/** Rows of an organization list by the service's latest count; null: not known. */
export const totalOf = ({ view, options }: Context, stream: StreamName): number | null =>
  view.states.get(stateKey(stream, ""))?.totalCount ?? options.totals?.get(stream) ?? null;

/** Accounts that a walk is going to read for the first time; null: not known how many. */
export const unreadAccounts = (context: Context): number | null => {
  if (!permittedStreams(context).includes("accounts")) return 0;
  if (context.view.states.get(stateKey("accounts", ""))?.walkedAt != null) return 0;
  const total = totalOf(context, "accounts");
  return total === null ? null : Math.max(0, total - context.view.accounts.length);
};

/** Companies per account, by the accounts that are mirrored. */
const companiesPerAccount = ({ view: { accounts } }: Context): number =>
  accounts.length === 0 ? 1 : new Set(accounts.flatMap(({ companyId }) => companyId ?? [])).size / accounts.length;

/** True when a company's profile takes a request of its own, although the company is tracked. */
export const readsProfiles = ({ options }: Context): boolean =>
  !embedsCompanies(options.shapes.get("accounts")) ||
  wantedContent(streamSpec("companies"), options.content).length > 0;

const ofAccounts = (context: Context, accounts: number): readonly FollowUp[] => {
  const because = "accounts not read yet";
  const companies = accounts * companiesPerAccount(context);
  return [
    once("account_insights", accounts, because),
    ...(readsProfiles(context) ? [once("companies", companies, because)] : []),
    ...COMPANY_LISTS.map((stream) => once(stream, companies, because)),
  ];
};

/** Pages of the request history for the requests of this sync itself: it is read last. */
const ofOwnRequests = (context: Context, due: readonly Candidate[], following: readonly FollowUp[]): FollowUp => {
  const history = due.find(({ mode }) => mode === "log");
  const sent = [...due, ...following].reduce((sum, { requests }) => sum + (requests ?? 1), 0);
  const isFirst = !context.view.states.has(stateKey("usage", HISTORY_SCOPE));
  const entries = sent + (isFirst ? (historyEntries(context) ?? 0) : 0);
  const pages = pagesOf(context, streamSpec("usage"), entries) ?? 1;
  const requests = history === undefined ? 0 : Math.max(0, pages - (history.requests ?? 1));
  return once("usage", requests, "requests of this sync");
};

/** Expected work beyond `due`, by stream and reason. */
export const followUpsOf = (context: Context, due: readonly Candidate[], rates: Rates): readonly FollowUp[] => {
  const following = foreseen(context, due, rates);
  const own = ofOwnRequests(context, due, following);
  return own.requests > 0 ? [...following, own] : following;
};

/** The page that is asked for twice, because the default response may lack fields that API.md calls optional. */
const askedTwice = ({ options }: Context, due: readonly Candidate[]): FollowUp => {
  const stream = streamSpec("signals");
  const shape = options.shapes.get(stream.name) ?? initialForm(1);
  const isRead = due.some((candidate) => candidate.stream === stream.name && candidate.mode === "walk");
  const twice = isRead && isChoiceOpen(shape) && namedOnDemand(stream, shape, options).length > 0;
  return once(
    stream.name,
    twice ? 1 : 0,
    "page a second time, to see whether the list returns more fields when they are named",
  );
};

const foreseen = (context: Context, due: readonly Candidate[], rates: Rates): readonly FollowUp[] => {
  const streams = permittedStreams(context);
  const days = daysSinceRead(context.view);
  const reads = (stream: StreamName) => due.some((candidate) => candidate.stream === stream);
  const unread = reads("accounts") ? (unreadAccounts(context) ?? 0) : 0;
  const asked = new Set(context.view.inputs.map(({ input }) => `${INPUT_SCOPE}${input}`));
  const inputs = due.filter(({ mode, scope }) => mode === "resolve" && !asked.has(scope)).length;
  return [
    ...ofAccounts(context, unread),
    askedTwice(context, due),
    ...COMPANY_LISTS.map((stream) => once(stream, inputs, "inputs not resolved yet")),
    ...streams.map((stream) => ({
      stream,
      requests: expectedFollowUps(rates, stream, days),
      because: "changes, by the last syncs",
      recurs: true,
    })),
  ].filter(({ stream, requests }) => requests > 0 && streams.includes(stream));
};

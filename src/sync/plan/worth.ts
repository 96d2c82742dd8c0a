// THE table of the worth of a credit by kind of work: work with the highest worth is read first. Only the worth of a stream is elsewhere,
// in its entry (catalog/streams.ts); docs/PLANNING.md explains the same table to users.
import { ORGANIZATION_LISTS, type StreamName, streamSpec } from "../../catalog/streams.ts";
import type { AccountFact } from "./candidate.ts";

/** Added to an organization's list that was never read to its end: missing rows matter more than changes. */
const UNFINISHED_LIST = 1000;
/** Added to a followed input: nothing of its company can be read before. */
const INPUT = 500;
/** Added to a company's list that was interrupted: part of it is paid for. */
const INTERRUPTED = 200;
/**
 * Added to a company's list that was never read, or that a signal says has changed. If a missing list were worth less, a
 * budget too small for both would only refresh lists already read (docs/decisions/due-work.md). The account decides
 * between the two.
 */
const MISSING_OR_HINTED = 150;
/** Worth of one signal's full content, to which a tenth of its account's worth is added. */
const CONTENT = 20;
/** Worth of an account that is not known, as for a followed company: an account of priority 2 without a score. */
const UNKNOWN_ACCOUNT = 120;
/** After this time without a check, a list may have changed as much as it ever does. */
const FULL_AFTER_MS = 86_400_000;

/** Least worth of an organization's list. Until each has returned its first page, nothing else gets a credit. */
export const LIST_WORTH = Math.min(...ORGANIZATION_LISTS.map((name) => streamSpec(name).worth));

/** Worth of a credit spent on an account: 60 to 240. By priority (1 to 3; unknown counts as 3), then score (0 to 100). */
export const accountWorth = (account: AccountFact | undefined): number =>
  account === undefined
    ? UNKNOWN_ACCOUNT
    : (4 - Math.min(3, Math.max(1, account.priority ?? 3))) * 60 + (account.score ?? 0) * 0.6;

/** An organization's list or reading, by what is due. `sinceCheckMs`: how long ago the list was last checked. */
export const listWorth = (
  stream: StreamName,
  due: { readonly unfinished?: boolean; readonly sinceCheckMs?: number } = {},
): number => {
  if (due.unfinished === true) return streamSpec(stream).worth + UNFINISHED_LIST;
  return streamSpec(stream).worth * Math.min(1, Math.max(0, due.sinceCheckMs ?? FULL_AFTER_MS) / FULL_AFTER_MS);
};

export const inputWorth = (): number => streamSpec("companies").worth + INPUT;

/** A record or list of one account or of its company, by why it is due. */
export const accountReadWorth = (
  stream: StreamName,
  account: AccountFact | undefined,
  why: "due" | "missing or hinted" | "interrupted" = "due",
): number => {
  const more = { due: 0, "missing or hinted": MISSING_OR_HINTED, interrupted: INTERRUPTED }[why];
  return streamSpec(stream).worth + accountWorth(account) + more;
};

export const contentWorth = (account: AccountFact | undefined): number => CONTENT + accountWorth(account) / 10;

/** Worth of the lists of a company that the service last refused with 403: that ends a run, so all else comes before. */
export const FORBIDDEN_WORTH = 0;

/** Streams, the most valuable first. */
export const streamsByWorth = (streams: readonly StreamName[]): readonly StreamName[] =>
  [...streams].sort((a, b) => streamSpec(b).worth - streamSpec(a).worth);

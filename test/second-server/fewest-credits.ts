// The fewest credits that a first mirror of this service can cost: every list by its largest page, every record that
// nothing embeds by a request of its own.
import { type Following, followedCompanies, inputMatch } from "./expected.ts";
import * as resource from "./resources.ts";
import type { SecondServer } from "./service.ts";

/**
 * Pages of a list. Without a count they share a row, the page after the last one is requested too, and a page of one or two
 * rows is read again.
 */
const pagesOf = (counts: boolean) => (rows: number, largest: number) => {
  if (counts) return Math.max(1, Math.ceil(rows / largest));
  const advance = Math.max(1, Math.ceil(Math.min(largest, 1 + rows) / 2));
  return rows === 0 ? 1 : Math.ceil(rows / advance) + (rows <= largest && rows > 2 ? 1 : 2);
};

/**
 * Pages of a counted list that each share a row with the one before, as a walk that may delete reads them: where an
 * insert and a delete balance, the count stays the same, and only a shared row shows that none was skipped between two
 * pages.
 */
const sharingPages = (rows: number, largest: number): number => {
  let pages = 1;
  for (let end = largest; end < rows; pages += 1) {
    // The page of at most `largest` rows that holds row `end` (from 1) and reaches furthest.
    const reaches = Array.from({ length: largest }, (_, at) => Math.ceil(end / (at + 1)) * (at + 1));
    end = Math.max(end + 1, ...reaches);
  }
  return pages;
};

/**
 * Rows after which no page of at most `largest` rows holds the rows on both sides: every page size divides that place.
 * Where nothing is counted, no reading proves a list that long, so each sync reads it again.
 */
const unsharedRow = (largest: number): number => {
  const divisor = (a: number, b: number): number => (b === 0 ? a : divisor(b, a % b));
  return Array.from({ length: Math.min(largest, 12) }, (_, at) => at + 1).reduce((a, b) => (a * b) / divisor(a, b), 1);
};

/**
 * Credits of an incremental sync for one of the organization's lists that has not changed. `learns`: the list does not
 * show its changes first, which one page shows if it holds the whole list, and else a walk besides.
 */
export const lookCredits = (
  rows: number,
  { largest, counts, learns }: { readonly largest: number; readonly counts: boolean; readonly learns: boolean },
): number => {
  if (!counts && rows >= unsharedRow(largest)) return 1 + pagesOf(false)(rows, largest);
  return !learns || rows <= largest ? 1 : 1 + sharingPages(rows, largest);
};

/**
 * Pages of the request history, which grows by an entry with every page of it that is read. `rows`: entries before the
 * first page. Pages of one entry would never end.
 */
const historyPages = (rows: number, largest: number, counts: boolean): number => {
  if (largest === 1) return 1;
  let pages = 1;
  while (pages * largest < rows + pages) pages += 1;
  // Without a count, an entry that arrived meanwhile, or a further page, shows the end.
  return pages + (counts ? 0 : 1);
};

/** `before`: entries of the request history that the run finds, with those of its own requests that the service refused. */
export const fewestCredits = (
  server: SecondServer,
  following: Following,
  before = server.workspace.history.length,
): number => {
  const { world, traits } = server;
  const { largest, largestOfCompany, counts } = traits.pages;
  const pages = pagesOf(counts);
  const companies = followedCompanies(server, following);
  const embeds = traits.included !== "absent" && traits.included !== "refused" && !traits.strangers.embedsShort;
  const resolved = following.inputs.filter((input) => inputMatch(server, input) !== undefined).length;
  const tracked = new Set([...world.accounts.values()].map(({ fields }) => String(fields.companyId ?? "")));
  const alone = companies.filter(
    (id) => tracked.has(id) && (!embeds || following.content.includes("companies.insights")),
  );
  const ofCompany = companies.flatMap((id) =>
    resource.COMPANY_LISTS.map((name) => pages(world.ofCompany[name].get(id)?.size ?? 0, largestOfCompany ?? largest)),
  );
  const details =
    following.content.includes("signals.fullContent") && traits.records.signalContent === "detail"
      ? world.signals.size
      : 0;
  const others =
    pages(world.accounts.size, largest) +
    pages(world.contacts.size, largest) +
    pages(world.signals.size, largest) +
    world.accounts.size +
    alone.length +
    resolved +
    details +
    ofCompany.reduce((sum, count) => sum + count, 0);
  // Counts and limits are read before the history, and are entries of it.
  return others + 3 + historyPages(before + others + 2, largest, counts);
};

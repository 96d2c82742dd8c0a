// What a service that strangers found keeps from any mirror, and what its streams must then say: only these may be called
// incomplete at the end, only rows of incomplete streams may differ, and only in these ways.
import type { Following } from "./expected.ts";
import type { MirrorContents } from "./mirror-contents.ts";
import { NOT_MIRRORED, NOT_THERE } from "./mirror-tables.ts";
import type { SecondServer } from "./service.ts";
import { NEEDED_FOR } from "./strangers.ts";

const OF_COMPANIES = ["news_articles", "job_openings", "earnings_calls", "filings"];
const BELOW_ACCOUNTS = ["owners", "account_insights", "companies", ...OF_COMPANIES];
const LISTS = ["accounts", "contacts", "signals", ...BELOW_ACCOUNTS];

/** A 404 of text may be a gateway's, so it takes several syncs until a merged company counts as gone. */
export const hasDoubtedMerges = ({ traits }: SecondServer): boolean =>
  traits.strangers.merges && !traits.strangers.companiesMove && ["html", "text"].includes(traits.wire.errors);

/** Streams that the mirror may call incomplete although the source rests; null: any. */
export const mayBeOpen = (server: SecondServer, { content }: Following): readonly string[] | null => {
  const { pages, strangers } = server.traits;
  if (!pages.counts) return null;
  const needed: readonly string[] =
    strangers.forbidden === null || strangers.forbiddenForNow ? [] : (NEEDED_FOR[strangers.forbidden] ?? []);
  return [
    ...(strangers.window === null && !strangers.estimates ? [] : LISTS),
    ...needed,
    ...(hasDoubtedMerges(server) ? ["companies", ...OF_COMPANIES] : []),
    ...(strangers.lateMs > 0 && content.includes("signals.fullContent") ? ["signals"] : []),
  ];
};

/** Does some route stay forbidden, so that each sync says so by its exit code? */
export const isForbidden = ({ traits }: Pick<SecondServer, "traits">): boolean =>
  traits.strangers.forbidden !== null && !traits.strangers.forbiddenForNow;

/**
 * Exit codes of a sync that nothing hinders but a route that stays forbidden, pages that are never returned, or a count that
 * agrees with a walk by chance although a row is missing.
 */
export const usualCodes = ({ traits }: Pick<SecondServer, "traits">): readonly number[] =>
  isForbidden({ traits }) || traits.strangers.window !== null || traits.strangers.estimates ? [0, 5] : [0];

/** A predicate for differences that a stream of this mirror names. */
export const excusedBy = async (
  server: SecondServer,
  following: Following,
  contents: MirrorContents,
): Promise<(problem: string) => boolean> => {
  const { pages, strangers } = server.traits;
  const open = await contents.openStreams();
  const isOf = (problem: string, tables: readonly string[]) =>
    tables.some((table) => problem.startsWith(`${table} `) || problem.startsWith(`${table}:`));
  // Without a count, rows of longer lists are not deleted, and insights go with their accounts.
  const insights = open.includes("accounts") ? ["account_insights", "owners"] : [];
  const inputs = strangers.forbidden === "by-input" && open.includes("companies") ? ["company_inputs"] : [];
  const allowed = mayBeOpen(server, following);
  const excused = allowed === null ? open : open.filter((stream) => allowed.includes(stream));
  const isWithheld = strangers.window !== null || isForbidden(server);
  const isLate = strangers.lateMs > 0 && open.includes("signals");
  return (problem) => {
    if (isLate && /^signals \S+ (full_content|sources): /.test(problem) && problem.endsWith("mirror absent"))
      return true;
    // A list and its count that end at the same row, in one answer, look like those of a shorter list.
    if (problem.endsWith(NOT_MIRRORED) && (strangers.estimates || strangers.window?.counted === false))
      return isOf(problem, LISTS);
    if (problem.endsWith(NOT_THERE) && (!pages.counts || strangers.estimates))
      return isOf(problem, [...excused, ...insights]);
    return isWithheld && isOf(problem, [...excused, ...insights, ...inputs]);
  };
};

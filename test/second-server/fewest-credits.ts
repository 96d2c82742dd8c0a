// The fewest credits that a first mirror of this service can cost: every list by its largest page, every record that
// nothing embeds by a request of its own.
import { type Following, followedCompanies, inputMatch } from "./expected.ts";
import * as resource from "./resources.ts";
import type { SecondServer } from "./service.ts";

/**
 * Pages of a list. Without a count they share a row, the page after the last one is requested too, and a page of one or two
 * rows is read again.
 */
export const pagesOf = (counts: boolean) => (rows: number, largest: number) => {
  if (counts) return Math.max(1, Math.ceil(rows / largest));
  const advance = Math.max(1, Math.ceil(Math.min(largest, 1 + rows) / 2));
  return rows === 0 ? 1 : Math.ceil(rows / advance) + (rows <= largest && rows > 2 ? 1 : 2);
};

export const fewestCredits = (server: SecondServer, following: Following): number => {
  const { world, traits } = server;
  const { largest, largestOfCompany, counts } = traits.pages;
  const pages = pagesOf(counts);
  const companies = followedCompanies(server, following);
  const embeds = traits.included !== "absent" && traits.included !== "refused";
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
  const figures = 1 + 1 + 1 + pages(server.workspace.history.length, largest);
  return (
    pages(world.accounts.size, largest) +
    pages(world.contacts.size, largest) +
    pages(world.signals.size, largest) +
    world.accounts.size +
    alone.length +
    resolved +
    details +
    figures +
    ofCompany.reduce((sum, count) => sum + count, 0)
  );
};

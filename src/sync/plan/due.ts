// Decides which scopes a sync should read, and why, and orders them by the worth of a credit there
// (docs/PLANNING.md).
// Pure: takes the state of the mirror, returns candidates. Reads no clock and sends nothing.
import { type StreamName, streamSpec } from "../../catalog/streams.ts";
import type { Candidate, Context, DueOptions, MirrorView } from "./candidate.ts";
import { companyList, companyProfiles, resolutions } from "./companies.ts";
import { capture, insights, organizationList, signalContent } from "./organization.ts";

const candidatesOf = (context: Context, name: StreamName): readonly Candidate[] => {
  const stream = streamSpec(name);
  switch (name) {
    case "accounts":
    case "contacts":
      return organizationList(context, stream);
    case "signals":
      return [...organizationList(context, stream), ...signalContent(context)];
    case "signal_counts":
      return capture(context, stream, "", "capture");
    case "companies":
      return companyProfiles(context);
    case "news_articles":
    case "job_openings":
    case "earnings_calls":
    case "filings":
      return companyList(context, stream);
    case "account_insights":
      return insights(context);
    case "usage":
      return [
        ...capture(context, stream, "usage", "capture"),
        ...capture(context, stream, "limits", "capture"),
        ...capture(context, stream, "requests", "log"),
      ];
    default:
      return name satisfies never;
  }
};

/** Every due scope, most valuable first; equal ones in a stable order. */
export const dueCandidates = (view: MirrorView, options: DueOptions): readonly Candidate[] => {
  const context: Context = { view, options };
  const usesCompanies = options.streams.some((name) => streamSpec(name).scope === "company");
  return [
    ...(usesCompanies ? resolutions(context) : []),
    ...options.streams.flatMap((name) => candidatesOf(context, name)),
  ].sort((a, b) => b.worth - a.worth || a.stream.localeCompare(b.stream) || a.scope.localeCompare(b.scope));
};

// Settings about the organization's usage: how much of the request history is read, and how usage is broken down.
import { didYouMean } from "../../text/did-you-mean.ts";
import { flaw, many, one, shown, text, whole } from "../setting-parsers.ts";

const BREAKDOWNS = ["endpoint", "apiKey", "day"];

export const usageSettings = {
  organization_id: text.optional().meta({
    description: "Organization whose usage to read (`organizationId`); unset: the token's organization.",
  }),
  usage_history_days: one("a whole number of days from 0 to 3650", (value) => whole(value, 0, 3650))
    .prefault(30)
    .meta({ description: "Days of the organization's request history to read, for one credit a page; 0: read none." }),
  usage_breakdowns: many((value) => {
    const known = BREAKDOWNS.find((name) => name.toLowerCase() === value.toLowerCase());
    return known ?? flaw(`${shown(value)} is not one of ${BREAKDOWNS.join(", ")}.${didYouMean(value, BREAKDOWNS)}`);
  })
    .prefault(["endpoint"])
    .meta({
      description: "Breakdowns of the month's usage to read, one credit each: endpoint, apiKey, day.",
      examples: [["endpoint", "apiKey", "day"]],
    }),
};

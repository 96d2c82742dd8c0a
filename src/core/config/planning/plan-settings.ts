// Settings that decide what a sync reads: ages, budgets and the scope of rows.
import { parseDuration } from "../../text/units.ts";
import { duration, Flaw, flaw, pairs, shown } from "../setting-parsers.ts";
import { budgetsSetting } from "./budget-settings.ts";
import { scopeSetting } from "./scope-settings.ts";

/** `stream`: the name of a stream, or the problem with it. */
export const planSettings = (stream: (name: string) => string | Flaw, streams: readonly string[]) => ({
  max_age: pairs((name, value) => {
    const known = stream(name);
    if (known instanceof Flaw) return known;
    return parseDuration(value) ?? flaw(`${name}: ${shown(value)} is not a duration like 12h or 7d`);
  })
    .prefault({})
    .meta({
      description: "Age at which a stream's rows are read again, even without a sign of a change.",
      examples: [{ accounts: "7d", signal_counts: "12h" }],
    }),
  reconcile_every: duration.prefault("7d").meta({
    description:
      "How often accounts, contacts and signals are walked completely, to find deletes and changes without a date; company lists: every four times their `max_age`.",
  }),
  budgets: budgetsSetting(stream, streams),
  scope: scopeSetting,
});

// Setting `budgets`: how many credits a stream or a kind of work may take per day or period, and how often it is done.
import { z } from "zod";
import { didYouMean } from "../../text/did-you-mean.ts";
import { parseDuration } from "../../text/units.ts";
import { Flaw, flaw, shown, whole } from "../setting-parsers.ts";

/**
 * Kinds of work that a budget may name, besides streams: looks at what changed, walks of whole lists, single contents,
 * `verify`.
 */
export const BUDGETED_WORK = ["looks", "walks", "content", "verify"] as const;
export type BudgetedWork = (typeof BUDGETED_WORK)[number];

/** Credits, or a share (0 to 1) of the credits of the period. */
export type CreditCap = { readonly credits: number } | { readonly share: number };

export interface Budget {
  /** Per UTC day; null: no limit. */
  readonly perDay: CreditCap | null;
  /** Per period of the quota. */
  readonly perPeriod: CreditCap | null;
  /** Shortest time between two readings of the same list or record, ms; 0: none. */
  readonly minIntervalMs: number;
}

/** Stream or kind of work → its budget. */
export type Budgets = Readonly<Record<string, Budget>>;

const NO_BUDGET: Budget = { perDay: null, perPeriod: null, minIntervalMs: 0 };
const PARTS = ["per_day", "per_period", "min_interval"];

const scalar = z.union([z.string(), z.number()]).transform((value) => String(value).trim());

const capOf = (text: string): CreditCap | null => {
  const share = /^(\d+(?:\.\d+)?)\s*%$/.exec(text)?.[1];
  if (share !== undefined) return Number(share) <= 100 ? { share: Number(share) / 100 } : null;
  const credits = whole(text, 0);
  return credits === null ? null : { credits };
};

/** The budget with one more part, or the problem. */
const withPart = (budget: Budget, name: string, part: string, text: string): Budget | Flaw => {
  if (part === "min_interval") {
    if (name === "verify") return flaw("verify has no min_interval: it runs when it is asked for");
    const ms = parseDuration(text);
    return ms === null
      ? flaw(`${name}.min_interval: ${shown(text)} is not a duration like 12h or 7d`)
      : { ...budget, minIntervalMs: ms };
  }
  if (part !== "per_day" && part !== "per_period") {
    return flaw(`${name}.${part} is not one of ${PARTS.join(", ")}.${didYouMean(part, PARTS)}`);
  }
  const cap = capOf(text);
  if (cap === null) return flaw(`${name}.${part}: ${shown(text)} is neither a number of credits nor a share like 20%`);
  return { ...budget, [part === "per_day" ? "perDay" : "perPeriod"]: cap };
};

/** `signals.per_day=50,looks.min_interval=6h` as [name, part, text]; a pair without a part is kept for the message. */
const partsOfText = (text: string): readonly (readonly [string, string, string])[] =>
  text
    .split(",")
    .filter((pair) => pair.trim() !== "")
    .map((pair) => {
      const [path = "", ...value] = pair.split("=");
      const [name = "", ...part] = path.split(".");
      return [name.trim(), part.join(".").trim(), value.join("=").trim()] as const;
    });

const sections = z.record(
  z.string(),
  z.record(z.string(), scalar, { error: `is not a map with ${PARTS.join(", ")}` }),
  { error: "is not a map of budgets" },
);

/** `stream`: the name, or the problem with it. */
export const budgetsSetting = (stream: (name: string) => string | Flaw, streams: readonly string[]) =>
  z
    .union([z.string().transform(partsOfText), sections], {
      error: "is a map of budgets: a stream or kind of work with per_day, per_period, min_interval",
    })
    .transform((value, ctx): Budgets => {
      const parts = Array.isArray(value)
        ? value
        : Object.entries(value).flatMap(([name, budget]) =>
            Object.entries(budget).map(([part, text]) => [name.trim(), part.trim(), text] as const),
          );
      const budgets = new Map<string, Budget>();
      for (const [name, part, text] of parts) {
        const known = BUDGETED_WORK.some((work) => work === name) || !(stream(name) instanceof Flaw);
        const names = [...streams, ...BUDGETED_WORK];
        const next = known
          ? withPart(budgets.get(name) ?? NO_BUDGET, name, part, text)
          : flaw(
              `${shown(name)} is neither a stream nor one of ${BUDGETED_WORK.join(", ")}.${didYouMean(name, names)}`,
            );
        if (next instanceof Flaw) ctx.addIssue({ code: "custom", message: next.message });
        else budgets.set(name, next);
      }
      return Object.fromEntries(budgets);
    })
    .prefault({})
    .meta({
      description:
        "For a stream or a kind of work (looks, walks, content, verify): most credits per day and period (or a share of the period's, like 20%), and the shortest time between two reads of the same list or record.",
      examples: [{ account_insights: { per_day: "50", min_interval: "7d" }, walks: { per_period: "30%" } }],
    });

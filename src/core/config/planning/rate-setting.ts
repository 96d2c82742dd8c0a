// Setting `rate_limit`: requests per minute, or the name of a published plan.
import { didYouMean } from "../../text/did-you-mean.ts";
import { flaw, one, shown } from "../setting-parsers.ts";

/** Requests per minute of the documented plans (API.md, "Limits"). `enterprise` is custom: the service reports it. */
export const PLAN_RATES = { free: 10, build: 60, scale: 120, pro: 300 } as const;
const isPlan = (name: string): name is keyof typeof PLAN_RATES => Object.hasOwn(PLAN_RATES, name);

/** Requests per minute; null: as many as the service grants. */
export const rateLimit = one("a rate", (value) => {
  const name = value.toLowerCase();
  if (name === "auto" || name === "enterprise") return { perMinute: null };
  if (isPlan(name)) return { perMinute: PLAN_RATES[name] };
  const perMinute = /^\d+(\.\d+)?$/.test(name) ? Number(name) : Number.NaN;
  if (perMinute > 0 && perMinute <= 1_000_000) return { perMinute };
  const names = ["auto", ...Object.keys(PLAN_RATES), "enterprise"];
  return flaw(
    `${shown(value)} is neither requests per minute nor one of ${names.join(", ")}.${didYouMean(name, names)}`,
  );
}).transform((rate): number | null => rate.perMinute);

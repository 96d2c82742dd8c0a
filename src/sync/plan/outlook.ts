// Outlook: long-term cost of keeping the mirror fresh, and credits left at the reset after a plan. Pure.
import { type StreamName, streamSpec } from "../../catalog/streams.ts";
import { type DueOptions, type MirrorView, maxAge, stateKey } from "./candidate.ts";
import { askable } from "./due.ts";
import type { Forecast } from "./forecast.ts";

const DAY_MS = 86_400_000;

export interface Credits {
  readonly remaining: number | null;
  readonly limit: number | null;
  /** ms since the epoch. */
  readonly resetsAt: number | null;
}

export interface Outlook {
  /** Duration of the planned requests at `ratePerMinute`, in minutes; null while the rate is unknown. */
  readonly minutes: number | null;
  readonly ratePerMinute: number | null;
  /** Credits per day once everything is mirrored and nothing changes. */
  readonly creditsPerDay: number;
  /** Credits left at the reset after this plan and a sync every `sync_every`; null while the quota is unknown. */
  readonly leftAtReset: number | null;
}

const pagesOf = (view: MirrorView, options: DueOptions, stream: StreamName): number => {
  const total = view.states.get(stateKey(stream, ""))?.totalCount ?? 0;
  return Math.max(1, Math.ceil(total / (options.shapes.get(stream)?.perPage ?? options.largestPage)));
};

/**
 * Credits per day for an unchanged source: one check of each organization list per sync, one reconciling walk of it
 * per `reconcileEveryMs`, and each company list, insight and capture once per maximum age.
 */
export const steadyCreditsPerDay = (view: MirrorView, options: DueOptions, syncEveryMs: number): number => {
  const tracked = new Set(view.accounts.flatMap((account) => account.companyId ?? []));
  const followed = view.inputs.flatMap((input) => input.companyId ?? []);
  const companies = new Set([...tracked, ...followed]).size;
  const perDay = askable({ view, options }).map((name) => {
    const stream = streamSpec(name);
    const age = Math.max(maxAge({ view, options }, stream), syncEveryMs);
    switch (stream.scope) {
      case "company":
        // Profiles of tracked companies are embedded in their accounts.
        return ((name === "companies" ? new Set(followed).size : companies) * DAY_MS) / age;
      case "account":
        return (view.accounts.length * DAY_MS) / age;
      default:
        if (stream.strategy === "capture") return DAY_MS / age;
        if (name === "usage") return (3 * DAY_MS) / age;
        return DAY_MS / syncEveryMs + (pagesOf(view, options, name) * DAY_MS) / options.reconcileEveryMs;
    }
  });
  return perDay.reduce((sum, credits) => sum + credits, 0);
};

/** Effect of a plan on the credits of the period. `now` in ms since the epoch. */
export const outlookOf = (input: {
  readonly view: MirrorView;
  readonly options: DueOptions;
  readonly forecast: Forecast;
  readonly credits: Credits;
  readonly ratePerMinute: number | null;
  readonly syncEveryMs: number;
  readonly now: number;
}): Outlook => {
  const { view, options, forecast, credits, ratePerMinute, now } = input;
  const creditsPerDay = steadyCreditsPerDay(view, options, input.syncEveryMs);
  const days = credits.resetsAt === null ? null : Math.max(0, (credits.resetsAt - now) / DAY_MS);
  const left =
    credits.remaining === null || days === null ? null : credits.remaining - forecast.requests - creditsPerDay * days;
  return {
    minutes: ratePerMinute === null ? null : forecast.requests / ratePerMinute,
    ratePerMinute,
    creditsPerDay: Math.round(creditsPerDay * 10) / 10,
    leftAtReset: left === null ? null : Math.max(0, Math.floor(left)),
  };
};

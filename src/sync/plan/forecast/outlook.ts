// Outlook for `plan`: what it costs per stream to keep the mirror fresh in the long term, and what is left of the credits until the reset.
// Pure.
import { type RollOver, UNKNOWN_ROLL_OVER } from "../../../budget/credits/roll-over.ts";
import type { Pacing } from "../../../budget/rate/limiter.ts";
import { vocabulary } from "../../../catalog/field-rules.ts";
import { STREAM_NAMES, type StreamName, streamSpec } from "../../../catalog/streams.ts";
import { type Candidate, type Context, maxAge } from "../candidate.ts";
import type { Credits } from "../credits.ts";
import { permittedStreams } from "../due.ts";
import { streamsByWorth } from "../worth.ts";
import { type Cycle, creditsPerDay, creditsUntil, cyclesOf, detailsPerSignal } from "./cycles.ts";
import type { Forecast } from "./forecast.ts";
import type { Rates } from "./past-runs.ts";

const DAY_MS = 86_400_000;
const PERIOD_DAYS = 30;
/** Billing cycles for which an unused credit is kept (API.md, "Limits"). */
const ROLL_OVER_CYCLES = 3;

// How old each stream gets until the reset, at an even pace: the most valuable streams get all the credits they need, and what
// is left decides how rarely the others are read.

/** A stream that the credits do not keep fresh. */
export interface Aging {
  readonly stream: StreamName;
  /** Age that its rows reach at worst, in days; null: it is not read again before the reset. */
  readonly days: number | null;
}

/** Credits that a stream needs until the reset, and the age at which it is read again while they suffice. */
interface Need {
  readonly credits: number;
  readonly ageDays: number;
}

/** Least share of its credits with which a stream is still said to be read. */
const LEAST_SHARE = 0.01;

/**
 * Streams that get less than they need out of `credits`, oldest last. The most valuable streams are served first, as in
 * every sync.
 */
export const agingOf = (needs: ReadonlyMap<StreamName, Need>, credits: number): readonly Aging[] => {
  let left = Math.max(0, credits);
  const aging: Aging[] = [];
  for (const stream of streamsByWorth([...needs.keys()])) {
    const need = needs.get(stream);
    if (need === undefined || need.credits <= 0) continue;
    const share = Math.min(1, left / need.credits);
    left -= need.credits * share;
    if (share < 1) aging.push({ stream, days: share < LEAST_SHARE ? null : need.ageDays / share });
  }
  return aging;
};

export interface StreamOutlook {
  readonly stream: StreamName;
  /** Credits a day while the source does not change. */
  readonly creditsPerDay: number;
  /** Credits a day beyond that, by the changes that the last syncs found. */
  readonly changesPerDay: number;
  /** Both, if no content were configured, and if all of it were. */
  readonly withoutContent: number;
  readonly withContent: number;
}

export interface Outlook {
  /** Minutes that the planned requests wait at `ratePerMinute`; null while the rate is unknown. */
  readonly minutes: number | null;
  readonly ratePerMinute: number | null;
  /** Credits per day once everything is mirrored and nothing changes. */
  readonly creditsPerDay: number;
  /** The same with the changes that the last syncs found. */
  readonly expectedPerDay: number;
  /** Credits of 30 such days. */
  readonly perPeriod: number;
  /**
   * Credits left at the reset after this plan and a sync every `sync_every`; below zero: a deficit. null while
   * the quota, the length of a list or the way of content is unknown.
   */
  readonly leftAtReset: number | null;
  /** Credits that are missing until the reset; 0: none. null as above. */
  readonly short: number | null;
  /** When they are used up, ms since the epoch; null: not before the reset. */
  readonly emptyOn: number | null;
  /** Periods after this one that the credits left at the reset still cover, where a period needs more than its limit. */
  readonly coveredPeriods: number | null;
  /** With pace even: streams that get older than they should. Empty: none. */
  readonly aging: readonly Aging[];
  readonly streams: readonly StreamOutlook[];
}

interface OutlookInput {
  readonly context: Context;
  readonly candidates: readonly Candidate[];
  readonly forecast: Forecast;
  readonly rates: Rates;
  readonly credits: Credits;
  /** Unset: no reset has shown anything. */
  readonly rollOver?: RollOver;
  readonly reserve: number;
  readonly ratePerMinute: number | null;
  readonly pacing: Pacing;
  readonly syncEveryMs: number;
}

/** Minutes that the rate limit makes requests wait: each window's are sent at once, or evenly. */
const minutesOf = (requests: number, perMinute: number, pacing: Pacing): number =>
  pacing === "even" ? requests / perMinute : Math.floor(Math.max(0, requests - 1) / perMinute);

const sum = (values: Iterable<number>): number => [...values].reduce((total, value) => total + value, 0);
const tenth = (value: number): number => Math.round(value * 10) / 10;

/** Credits a day of changes, by the last syncs. */
const changesOf =
  ({ rates: { followUpsPerDay } }: OutlookInput) =>
  (stream: StreamName): number =>
    followUpsPerDay.get(stream) ?? 0;

const perStream = (input: OutlookInput, cycles: readonly Cycle[]): readonly StreamOutlook[] => {
  const { context, candidates, rates, syncEveryMs } = input;
  const changes = changesOf(input);
  const withContent = (content: readonly string[]) => {
    const variant: Context = { ...context, options: { ...context.options, content } };
    const steady = creditsPerDay(cyclesOf({ context: variant, due: candidates, syncEveryMs }));
    // With content of signals that the list lacks, each changed signal takes one request more.
    const perSignal = detailsPerSignal(variant) - detailsPerSignal(context);
    const ofSignals = perSignal * (rates.changesPerDay.get("signals") ?? 0);
    return (stream: StreamName) =>
      tenth((steady.get(stream) ?? 0) + Math.max(0, changes(stream) + (stream === "signals" ? ofSignals : 0)));
  };
  const steady = creditsPerDay(cycles);
  const without = withContent([]);
  const all = withContent(vocabulary().content);
  return permittedStreams(context).map((stream) => ({
    stream,
    creditsPerDay: tenth(steady.get(stream) ?? 0),
    changesPerDay: tenth(changes(stream)),
    withoutContent: without(stream),
    withContent: all(stream),
  }));
};

/** Needs of each stream until `end`, the plan included, and the credits of each day. */
const needsUntil = (input: OutlookInput, cycles: readonly Cycle[], end: number) => {
  const { context, forecast, syncEveryMs } = input;
  const { now } = context.view;
  const changes = changesOf(input);
  const days = (end - now) / DAY_MS;
  const perDay = Array.from({ length: Math.max(1, Math.ceil(days)) }, () => 0);
  const perStream = new Map<StreamName, number>(forecast.streams.map(({ stream, requests }) => [stream, requests]));
  const add = (stream: StreamName, day: number, credits: number) => {
    perDay[day] = (perDay[day] ?? 0) + credits;
    perStream.set(stream, (perStream.get(stream) ?? 0) + credits);
  };
  perDay[0] = forecast.requests;
  creditsUntil(cycles, now, end, add);
  // The plan holds the changes up to now; each later sync meets those since the one before.
  const later = Math.max(0, Math.floor((end - now - 1) / syncEveryMs) * syncEveryMs) / DAY_MS;
  for (const stream of permittedStreams(context)) {
    for (let day = 0; day < later; day++) add(stream, day, changes(stream) * Math.min(1, later - day));
  }
  return { perDay, perStream };
};

const emptyDay = (perDay: readonly number[], remaining: number): number | null => {
  let left = remaining;
  for (const [day, credits] of perDay.entries()) {
    left -= credits;
    if (left < 0) return day;
  }
  return null;
};

/**
 * Further periods for which credits that roll over fill the gap; null: a period does not need more than it is granted. The
 * service is taken to use the oldest credits first.
 */
const coveredOf = (
  perPeriod: number,
  { credits, rollOver = UNKNOWN_ROLL_OVER }: OutlookInput,
  left: number | null,
): number | null => {
  const grant = rollOver.grant ?? credits.limit;
  if (grant === null || left === null || perPeriod <= grant) return null;
  const comesOver = rollOver.shown === "absent" ? 0 : Math.max(0, left);
  return Math.min(ROLL_OVER_CYCLES, Math.floor(comesOver / (perPeriod - grant)));
};

const untilReset = (input: OutlookInput, cycles: readonly Cycle[]) => {
  const { context, credits, forecast, reserve } = input;
  const { remaining, resetsAt } = credits;
  const isOpen = forecast.atLeast || forecast.streams.some(({ perhaps }) => perhaps > 0);
  if (remaining === null || resetsAt === null || isOpen) {
    return { leftAtReset: null, short: null, emptyOn: null, aging: [] };
  }
  const { now } = context.view;
  const end = Math.max(now, resetsAt);
  const { perDay, perStream: needs } = needsUntil(input, cycles, end);
  const left = Math.floor(remaining - sum(perDay));
  const day = emptyDay(perDay, remaining);
  const ages = new Map<StreamName, Need>(
    [...needs].map(([stream, needed]) => {
      const { strategy, scope } = streamSpec(stream);
      const isList = scope === "organization" && strategy !== "capture" && strategy !== "log";
      const ageMs = Math.max(input.syncEveryMs, isList ? 0 : maxAge(context, streamSpec(stream)));
      return [stream, { credits: needed, ageDays: ageMs / DAY_MS }];
    }),
  );
  return {
    leftAtReset: left,
    short: Math.max(0, -left),
    emptyOn: day === null ? null : now + day * DAY_MS,
    aging: left < 0 ? agingOf(ages, remaining - reserve) : [],
  };
};

/** Effect of a plan on the credits of the period, and what follows after it. */
export const outlookOf = (input: OutlookInput): Outlook => {
  const { context, candidates, forecast, ratePerMinute, pacing, syncEveryMs } = input;
  const cycles = cyclesOf({ context, due: candidates, syncEveryMs });
  const steady = sum(creditsPerDay(cycles).values());
  const expected = steady + sum(STREAM_NAMES.map(changesOf(input)));
  const reset = untilReset(input, cycles);
  const perPeriod = Math.round(expected * PERIOD_DAYS);
  return {
    minutes: ratePerMinute === null ? null : minutesOf(forecast.requests, ratePerMinute, pacing),
    ratePerMinute,
    creditsPerDay: tenth(steady),
    expectedPerDay: tenth(expected),
    perPeriod,
    ...reset,
    coveredPeriods: coveredOf(perPeriod, input, reset.leftAtReset),
    streams: perStream(input, cycles),
  };
};

// Reads the limits that an answer's headers announce, and how many requests the service's own count leaves. Pure.
import type { RateInfo } from "../../api/outcome.ts";
import type { LimiterState } from "./limiter-state.ts";
import { answeredSince, type Rate } from "./windows.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
/** Shortest wait for the service's own count. */
const LEAST_HOLD_MS = 200;
/** A reset in whole seconds may lack so much. */
const ROUNDING_MS = 1_000;

/**
 * The window of a limit that names none: a minute (API.md, "Limits"), or longer if two resets in a row agree on it. A first
 * reset that is near shows that it may be shorter; then only the service's own count is followed.
 */
const unnamed = (state: LimiterState, { limit, remaining, resetsAt }: RateInfo, sentAt: number) => {
  const isNew = state.announced.length === 0 || state.announced[0]?.limit !== limit;
  const resetMs = resetsAt === null ? 0 : resetsAt - sentAt;
  const longestResetMs = isNew ? 0 : Math.max(state.longestResetMs, Math.min(resetMs, state.lastResetMs, HOUR_MS));
  const wasCounted = !isNew && state.isCounted;
  const isFar = Math.max(longestResetMs, isNew ? resetMs : 0) >= MINUTE_MS / 2;
  const isCounted = wasCounted || isFar || remaining === null || resetsAt === null;
  return { longestResetMs, lastResetMs: resetMs, isCounted, windowMs: Math.max(MINUTE_MS, longestResetMs) };
};

const isSame = (before: readonly Rate[], now: readonly Rate[]): boolean =>
  before.length === now.length && before.every(({ limit }, n) => limit === now[n]?.limit);

/** Applies the announced limits. What refusals showed of other limits is void. */
export const announce = (state: LimiterState, rate: RateInfo, sentAt: number, now: number): LimiterState => {
  const { limit, windowMs, remaining } = rate;
  if (limit === null || limit < 1) return state;
  const { windowMs: assumedMs, ...resets } = unnamed(state, rate, sentAt);
  const shape = windowMs === null ? resets : { isCounted: true };
  const announced = [{ limit, windowMs: windowMs ?? assumedMs }, ...(rate.also ?? [])];
  const changed = state.announced.length > 0 && !isSame(state.announced, announced);
  return {
    ...state,
    ...shape,
    announced,
    countsBefore: state.countsBefore || (remaining !== null && remaining >= limit),
    learned: changed ? null : state.learned,
    blockedUntil: changed && state.blockedUntil > now ? now : state.blockedUntil,
  };
};

/** True if the service counted no more requests than this limiter knows of: then its windows suffice. */
const isAlone = ({ counts, announced }: LimiterState, used: number, flying: number, sentAt: number): boolean => {
  const [first] = announced;
  if (first === undefined) return false;
  return used <= answeredSince(counts, first.windowMs, sentAt - first.windowMs) + flying;
};

/** An answer without a figure: it used up one, or an earlier figure is outdated since the request was sent after its reset. */
const withoutFigure = ({ left }: LimiterState, sentAt: number): LimiterState["left"] =>
  left === null || sentAt >= left.resetsAt ? null : { ...left, remaining: left.remaining - 1 };

/** What is left after the answer to an earlier request, which was counted in any order. */
export const stillLeft = ({ left, countsBefore }: LimiterState, rate: RateInfo | null): LimiterState["left"] => {
  if (left === null) return null;
  const said = rate?.remaining ?? null;
  return {
    ...left,
    remaining: Math.min(left.remaining, said === null ? left.remaining - 1 : said - (countsBefore ? 1 : 0)),
  };
};

/** What the service's own count leaves; null: unknown. */
export const heldBy = (
  state: LimiterState,
  rate: RateInfo | null,
  flying: number,
  sentAt: number,
  now: number,
): LimiterState["left"] => {
  const { left, countsBefore, isCounted, announced, refusedAt } = state;
  if (rate === null || rate.remaining === null || rate.resetsAt === null) return withoutFigure(state, sentAt);
  const before = countsBefore ? 1 : 0;
  const used = rate.limit === null ? null : Math.max(0, rate.limit - rate.remaining + before);
  const isLess = !isCounted || used === null || !isAlone(state, used, flying, sentAt);
  // Answers to requests that were in flight together come in any order: the lowest figure is the latest.
  const isTogether = left !== null && left.at > sentAt && left.resetsAt > now;
  const remaining = Math.min(rate.remaining - before, isTogether ? left.remaining : Infinity);
  const windowMs = announced[0]?.windowMs ?? MINUTE_MS;
  const roundingMs = isCounted ? Math.min(ROUNDING_MS, windowMs / 20) : refusedAt > -Infinity ? ROUNDING_MS : 0;
  return { remaining, resetsAt: Math.max(rate.resetsAt, now + LEAST_HOLD_MS) + roundingMs, at: now, isLess };
};

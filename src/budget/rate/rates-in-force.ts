// The rates that hold now: announced by the service, set by the user, assumed where nobody names one, or learned from
// refusals as long as that counts. Pure.
import type { Learned, LimiterState } from "./limiter-state.ts";
import { perMinute, type Rate, slowestOf, speedOf } from "./windows.ts";

const MINUTE_MS = 60_000;
/** A limit on requests in flight or on bursts is the service's shape; a smaller window may be its state. */
const SHAPE_MS = 7 * 86_400_000;
const WINDOW_MS = 3_600_000;

const within = ({ learned }: LimiterState, ms: number, now: number): Learned | null =>
  learned !== null && now - learned.at < ms ? learned : null;

/** What was learned of the service's shape; null: nothing, or long ago. */
export const learnedOf = (state: LimiterState, now: number): Learned | null => within(state, SHAPE_MS, now);

export const burstOf = (state: LimiterState, now: number): number | null => learnedOf(state, now)?.burst ?? null;
export const inFlightOf = (state: LimiterState, now: number): number | null => learnedOf(state, now)?.inFlight ?? null;
export const windowOf = (state: LimiterState, now: number): Rate | null =>
  within(state, WINDOW_MS, now)?.window ?? null;

/** True while nobody names a rate: neither the user nor the service. */
export const isAssumed = ({ configured, announced }: LimiterState): boolean =>
  configured === null && announced.length === 0;

/** All rates whose windows are counted. */
export const ratesOf = (state: LimiterState, now: number): readonly Rate[] => {
  const { configured, announced, isCounted, assumed } = state;
  const learned = windowOf(state, now);
  return [
    ...(isCounted ? announced : []),
    ...(configured === null ? [] : [perMinute(configured)]),
    ...(isAssumed(state) ? [perMinute(assumed)] : []),
    ...(learned === null ? [] : [learned]),
  ];
};

/** The rate in force. */
export const rateOf = (state: LimiterState, now: number): Rate =>
  slowestOf(ratesOf(state, now)) ?? perMinute(state.announced[0]?.limit ?? state.assumed);

/** Requests per minute. */
export const ratePerMinute = (state: LimiterState, now: number): number => MINUTE_MS * speedOf(rateOf(state, now));

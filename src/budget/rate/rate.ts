// A rate: a number of requests per window of time, and the time between two requests that keeps it. Pure.

/** `limit` requests per `windowMs`. */
export interface Rate {
  readonly limit: number;
  readonly windowMs: number;
}

/** Margin on the time between two requests: 99% of the allowed rate is used. */
const MARGIN = 1.01;
const MINUTE_MS = 60_000;

/** Time between two requests, ms. */
export const spacingMs = ({ limit, windowMs }: Rate): number => (windowMs / limit) * MARGIN;

export const perMinute = (limit: number): Rate => ({ limit, windowMs: MINUTE_MS });

export const slowest = (rates: readonly Rate[]): Rate | undefined =>
  rates.reduce<Rate | undefined>((a, b) => (a === undefined || spacingMs(b) > spacingMs(a) ? b : a), undefined);

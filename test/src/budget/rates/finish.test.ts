// How long work takes under a limit, of the least that the limit allows, and how many requests are refused.
import { describe, expect, test } from "vitest";
import { finish, serviceOf } from "../../../../bench/rates/finish.ts";
import { SILENT, TELLS } from "../../../../bench/rates/headers.ts";
import { fixedWindow, type Limit, slidingWindow, tokenBucket } from "../../../../bench/rates/services.ts";

const perMinute = (limit: number): Limit => ({ limit, windowMs: 60_000 });
const WINDOWS = {
  sliding: (limit: Limit) => slidingWindow(limit, "oldest"),
  fixed: (limit: Limit) => fixedWindow(limit, 0),
};

/** Announced, or not and set by the user. */
const announced = (limit: number) => [
  { dialect: TELLS, configured: null },
  { dialect: SILENT, configured: limit },
];

describe.each([10, 300])("%i a minute", (limit) => {
  const cases = Object.entries(WINDOWS).flatMap(([window, make]) =>
    [3, 20, limit === 10 ? 64 : 484].flatMap((requests) =>
      [1, 8].map((processes) => ({ window, make, requests, processes })),
    ),
  );
  test.each(cases)(
    "$requests requests, $window window, $processes processes: on time, none refused",
    async ({ make, requests, processes }) => {
      for (const { dialect, configured } of announced(limit)) {
        const service = serviceOf([make(perMinute(limit))]);
        const work = { requests, service, dialect, configured, processes, latencyMs: 10 };
        const { refused, tookMs } = await finish(work);
        expect(refused).toBe(0);
        const boundMs = Math.floor((requests - 1) / limit) * 60_000;
        expect(tookMs).toBeLessThanOrEqual(boundMs * 1.05 + requests * 12 + 500);
      }
    },
  );

  test("a bucket of a fifth: one refusal at most, announced or not", async () => {
    for (const { dialect, configured } of announced(limit)) {
      const bucket = tokenBucket(perMinute(limit), limit / 5, "full", "rate");
      const { refused } = await finish({
        requests: 100,
        service: serviceOf([bucket]),
        dialect,
        configured,
        latencyMs: 10,
      });
      expect(refused).toBeLessThanOrEqual(1);
    }
  });

  test("a limit on requests in flight is learned as such: three refusals at most, and all get through", async () => {
    const rate = slidingWindow(perMinute(limit), "oldest");
    const service = { take: (now: number, flying: number) => (flying > 2 ? null : rate.take(now)) };
    const { refused } = await finish({ requests: 40, service, dialect: TELLS, configured: null, concurrency: 32 });
    expect(refused).toBeLessThanOrEqual(3);
  });
});

test("a window half as large as announced: never more than three refusals in a row, no pause of more than a window", async () => {
  const half = serviceOf([fixedWindow(perMinute(60), 0)], (count) => ({
    ...count,
    limit: 120,
    remaining: count.remaining + 60,
  }));
  const { mostInRow, longestPauseMs } = await finish({
    requests: 300,
    service: half,
    dialect: TELLS,
    configured: null,
  });
  expect(mostInRow).toBeLessThanOrEqual(3);
  expect(longestPauseMs).toBeLessThanOrEqual(66_000);
});

test("a limit that changes in the middle, with a clock that is an hour wrong: no more than three refusals in a row", async () => {
  for (const [from, to] of [
    [120, 60],
    [60, 120],
  ] as const) {
    let taken = 0;
    const rules = [slidingWindow(perMinute(from), "oldest"), slidingWindow(perMinute(to), "oldest")] as const;
    const take = (now: number) => {
      taken += 1;
      // The new window knows the requests of the old one.
      const counts = rules.map((rule) => rule.take(now));
      return counts[taken > 150 ? 1 : 0] ?? null;
    };
    const work = { requests: 300, service: { take }, dialect: TELLS, configured: null, skewMs: 3_600_000 };
    const { mostInRow, longestPauseMs } = await finish(work);
    expect(mostInRow).toBeLessThanOrEqual(3);
    expect(longestPauseMs).toBeLessThanOrEqual(66_000);
  }
});

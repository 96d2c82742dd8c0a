// The estimate of a server's time between its replies: never ahead of it, and not far behind.
import fc from "fast-check";
import { expect, test } from "vitest";
import { createLatestReply } from "../../../../src/budget/store/in-redis.ts";

const SEED = 20261125;

test(`the estimate is never ahead of the server, nor before its latest reply, nor behind by more than the quickest way back (seed ${SEED})`, () => {
  const trip = fc.record({ there: fc.integer({ max: 900, min: 0 }), back: fc.integer({ max: 900, min: 0 }) });
  fc.assert(
    fc.property(fc.array(trip, { minLength: 1, maxLength: 15 }), fc.integer({ min: 0, max: 900 }), (trips, later) => {
      const ahead = 1_700_000_000_000;
      let elapsed = 0;
      const latest = createLatestReply<{ readonly now: number }>(() => elapsed);
      let last = 0;
      for (const { there, back } of trips) {
        const sentAt = elapsed;
        last = elapsed + there + ahead;
        elapsed += there + back;
        latest.keep({ now: last }, sentAt);
      }
      elapsed += later;
      const now = latest.read()?.now ?? Number.NaN;
      const quickest = Math.min(...trips.map(({ back }) => back));
      expect(now).toBeLessThanOrEqual(elapsed + ahead);
      expect(now).toBeGreaterThanOrEqual(Math.max(last, elapsed + ahead - quickest));
    }),
    { seed: SEED },
  );
});

test("after a reply of a clock that was put back the estimate follows it; an old reply, or none, gives none", () => {
  let elapsed = 1_000;
  const latest = createLatestReply<{ readonly now: number }>(() => elapsed);
  expect(latest.read()).toBeNull();
  latest.keep({ now: 9_000_000 }, 990);
  elapsed = 2_000;
  expect(latest.read()).toEqual({ now: 9_001_000 });
  latest.keep({ now: 5_000_000 }, 1_990);
  expect(latest.read()).toEqual({ now: 5_000_000 });
  elapsed = 62_001;
  expect(latest.read()).toBeNull();
  latest.keep({ now: 6_000_000 }, 62_000);
  latest.keep(null, 62_001);
  expect(latest.read()).toBeNull();
});

// Credits gone, in every way the worker runs: the sync ends at once with the budget's code, the ones after it do too, and
// credits that are bought are used by the next one. A refusal for want of credits is no rate: it holds nobody up. Shows P15.

import { expect, test } from "vitest";
import type { FakeAnswer } from "../../support/fake-service.ts";
import { aWorkerOf, synced, WAYS } from "./worker-rig.ts";

const SPENT = { state: "stopped", error: { code: "QUOTA_SPENT" } };
const DONE = { state: "done", error: null };

const refused = (status: number, headers: Record<string, string> = {}): FakeAnswer => ({
  status,
  headers,
  body: { error: { message: "refused" } },
});

const inThreeHours = () => String(Math.floor(Date.now() / 1000) + 10_800);

const REFUSALS: readonly (readonly [string, () => FakeAnswer])[] = [
  ["429, Retry-After three hours", () => refused(429, { "retry-after": "10800" })],
  [
    "429, nothing remaining for three hours",
    () => refused(429, { "x-ratelimit-remaining": "0", "x-ratelimit-reset": inThreeHours() }),
  ],
  ["402 without a word", () => refused(402)],
];

const MOST_IN_FLIGHT = 4;

for (const way of WAYS) {
  for (const [refusal, answer] of REFUSALS) {
    test(`${way}, ${refusal}: each sync ends at once with the budget's code, and the one after the purchase is done`, async () => {
      const env = { DUCKMIRROR_CONCURRENCY: String(MOST_IN_FLIGHT) };
      const { org, asking } = await aWorkerOf(way, { env });
      const { service } = org;
      let spent = false;
      service.options = { ...service.options, before: ({ number }) => (spent || number > 6 ? answer() : undefined) };

      expect(await synced(asking)).toMatchObject(SPENT);
      spent = true;
      for (let again = 0; again < 2; again++) {
        const before = service.log.length;
        expect(await synced(asking)).toMatchObject(SPENT);
        const asked = service.log.length - before;
        expect(asked).toBeGreaterThan(0);
        expect(asked).toBeLessThanOrEqual(MOST_IN_FLIGHT);
      }
      service.options = { maxPerPage: 25, credits: 10_000 };
      expect(await synced(asking)).toMatchObject(DONE);
    });
  }

  test(`${way}: figures of zero from an earlier sync refuse nothing; bought credits are used at once`, async () => {
    const { org, asking } = await aWorkerOf(way);
    const { service } = org;
    service.options = { maxPerPage: 25, credits: 5 };
    expect(await synced(asking)).toMatchObject(SPENT);
    expect(service.spent()).toBe(5);
    expect(await synced(asking)).toMatchObject(SPENT);
    service.options = { maxPerPage: 25, credits: 10_000 };
    expect(await synced(asking)).toMatchObject(DONE);
  });
}

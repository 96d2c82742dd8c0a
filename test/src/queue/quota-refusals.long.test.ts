// Credits gone, in every way the worker runs: the sync ends at once with the budget's code, the ones after it do too, and
// credits that are bought are used by the next one. A refusal for want of credits is no rate: it holds nobody up. Shows P15.

import { expect, test } from "vitest";
import type { Triggers } from "../../../src/queue/requests/sync-requests.ts";
import type { FakeAnswer } from "../../support/fake-service.ts";
import { aWorkerOf, synced, WAYS } from "./worker-rig.ts";

interface End {
  readonly state: string;
  readonly code: string | undefined;
}

/** Runs one sync after the other. */
const syncing = (triggers: Triggers) => async (): Promise<End> => {
  const { state, error } = await synced(triggers);
  return { state, code: error?.code };
};

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
      const sync = syncing(asking);
      let spent = false;
      service.options = { ...service.options, before: ({ number }) => (spent || number > 6 ? answer() : undefined) };

      const first = await sync();
      expect([first.state, first.code]).toEqual(["stopped", "QUOTA_SPENT"]);
      spent = true;
      for (let again = 0; again < 2; again++) {
        const before = service.log.length;
        const { state, code } = await sync();
        expect([state, code]).toEqual(["stopped", "QUOTA_SPENT"]);
        const asked = service.log.length - before;
        expect(asked).toBeGreaterThan(0);
        expect(asked).toBeLessThanOrEqual(MOST_IN_FLIGHT);
      }
      service.options = { maxPerPage: 25, credits: 10_000 };
      const bought = await sync();
      expect([bought.state, bought.code]).toEqual(["done", undefined]);
    });
  }

  test(`${way}: figures of zero from an earlier sync refuse nothing; bought credits are used at once`, async () => {
    const { org, asking } = await aWorkerOf(way);
    const { service } = org;
    const sync = syncing(asking);
    service.options = { maxPerPage: 25, credits: 5 };
    const first = await sync();
    expect([first.state, first.code]).toEqual(["stopped", "QUOTA_SPENT"]);
    expect(service.spent()).toBe(5);
    const again = await sync();
    expect([again.state, again.code]).toEqual(["stopped", "QUOTA_SPENT"]);
    service.options = { maxPerPage: 25, credits: 10_000 };
    const bought = await sync();
    expect([bought.state, bought.code]).toEqual(["done", undefined]);
  });
}

// Syncs with a clock that was ahead, or behind.
import { expect, test } from "vitest";
import type { Clock } from "../../../../src/core/clock.ts";
import { anOrganization } from "../../../support/fake-data.ts";
import { createFakeService } from "../../../support/fake-service.ts";
import { startSyncRig } from "../../../support/sync-rig.ts";

const DAY_MS = 86_400_000;
const AHEAD = "SELECT count(*)::INT AS n FROM sync.stream_state WHERE greatest(checked_at, walked_at) > now()";

const start = async () => {
  const shift = { ms: 0 };
  const clock: Clock = {
    now: () => Date.now() + shift.ms,
    sleep: () => new Promise((resolve) => setImmediate(resolve)),
  };
  const env = { DUCKMIRROR_STREAMS: "accounts,contacts,signals,filings" };
  const rig = await startSyncRig(createFakeService(anOrganization(3)), env, clock);
  /** A sync whose clock is off by so much. */
  const syncAt = (ms: number) => {
    shift.ms = ms;
    return rig.sync();
  };
  return { ...rig, syncAt };
};

test.each([2 * 60 * 60 * 1000, 3 * DAY_MS, 3650 * DAY_MS])(
  "after a sync whose clock was %i ms ahead, changes are read, and every list is due at its usual age",
  async (ahead) => {
    const { service, syncAt, rows } = await start();
    await syncAt(ahead);
    Object.assign(service.data.accounts[0] ?? {}, { name: "Renamed", updatedAt: new Date().toISOString() });
    const { sent, of } = await syncAt(0);
    expect(of("accounts").updated).toBe(1);
    expect(sent.length).toBeLessThanOrEqual(4);
    expect(await rows(AHEAD)).toEqual([{ n: 0 }]);
    expect((await syncAt(31 * DAY_MS)).of("filings").requests).toBe(3);
  },
);

test("a clock that is behind the service's dates makes no list due again", async () => {
  const { syncAt } = await start();
  await syncAt(0);
  await syncAt(-20 * 365 * DAY_MS);
  const { sent, of } = await syncAt(0);
  expect(of("filings").requests).toBe(0);
  expect(sent.length).toBeLessThanOrEqual(3);
});

// Syncs with a clock that was ahead, or behind.
import { expect, test } from "vitest";
import type { Clock } from "../../../../src/core/clock.ts";
import { anOrganization } from "../../../support/fake-data.ts";
import { createFakeService } from "../../../support/fake-service.ts";
import { startSyncRig } from "../../../support/sync-rig.ts";

const DAY_MS = 86_400_000;
const STREAMS = ["accounts", "contacts", "signals", "filings"];
const AHEAD = "SELECT count(*)::INT AS n FROM sync.stream_state WHERE greatest(checked_at, walked_at) > now()";

const start = async () => {
  const organization = anOrganization(3);
  const service = createFakeService(organization);
  const shift = { ms: 0 };
  const clock: Clock = {
    now: () => Date.now() + shift.ms,
    sleep: () => new Promise((resolve) => setImmediate(resolve)),
  };
  const rig = await startSyncRig(service, { DUCKMIRROR_STREAMS: STREAMS.join(",") }, clock);
  return { organization, service, shift, rig };
};

test.each([2 * 60 * 60 * 1000, 3 * DAY_MS, 3650 * DAY_MS])(
  "after a sync whose clock was %i ms ahead, changes are read, and every list is due at its usual age",
  async (ahead) => {
    const { organization, service, shift, rig } = await start();
    shift.ms = ahead;
    await rig.sync();
    shift.ms = 0;
    Object.assign(organization.accounts[0] ?? {}, { name: "Renamed", updatedAt: new Date().toISOString() });
    const earlier = service.log.length;
    const { report } = await rig.sync();
    expect(report.streams.find(({ stream }) => stream === "accounts")?.updated).toBe(1);
    expect(service.log.length - earlier).toBeLessThanOrEqual(4);
    expect(await rig.rows(AHEAD)).toEqual([{ n: 0 }]);
    shift.ms = 31 * DAY_MS;
    const later = await rig.sync();
    expect(later.report.streams.find(({ stream }) => stream === "filings")?.requests).toBe(3);
  },
);

test("a clock that is behind the service's dates makes no list due again", async () => {
  const { service, shift, rig } = await start();
  await rig.sync();
  shift.ms = -20 * 365 * DAY_MS;
  await rig.sync();
  shift.ms = 0;
  const earlier = service.log.length;
  const { report } = await rig.sync();
  expect(report.streams.find(({ stream }) => stream === "filings")?.requests).toBe(0);
  expect(service.log.length - earlier).toBeLessThanOrEqual(3);
});

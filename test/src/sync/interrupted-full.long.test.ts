// A full sync that goes on under its id in another run reads nothing twice; a new one reads everything again.
import { expect, test } from "vitest";
import { anOrganization } from "../../support/fake-data.ts";
import { createFakeService } from "../../support/fake-service.ts";
import { startSyncRig } from "../../support/sync-rig.ts";

const aMirror = async () => {
  const { sync } = await startSyncRig(createFakeService(anOrganization(6), { maxPerPage: 12 }));
  expect((await sync()).error).toBeNull();
  return sync;
};

test("its second run pays for what the first one left, and for a look at each list of the organization", async () => {
  const sync = await aMirror();
  const whole = await sync({ full: true, runId: "one" });
  expect(whole.code).toBeNull();
  const half = { DUCKMIRROR_MAX_CREDITS: String(Math.floor(whole.paid / 2)) };
  const first = await sync({ full: true, runId: "two" }, half);
  const second = await sync({ full: true, runId: "two" });
  expect([first.code, second.code]).toEqual(["BUDGET_SPENT", null]);
  expect(first.paid + second.paid).toBeLessThanOrEqual(whole.paid + 3);
});

test("another one reads everything again", async () => {
  const sync = await aMirror();
  const { paid } = await sync({ full: true, runId: "one" });
  expect([(await sync({ full: true, runId: "two" })).paid, (await sync({ full: true })).paid]).toEqual([paid, paid]);
});

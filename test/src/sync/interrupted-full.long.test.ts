// A full sync that goes on under its id in another run reads nothing twice; a new one reads everything again.
import { expect, test } from "vitest";
import { anOrganization } from "../../support/fake-data.ts";
import { createFakeService } from "../../support/fake-service.ts";
import { startSyncRig } from "../../support/sync-rig.ts";

const aMirror = async () => {
  const service = createFakeService(anOrganization(6), { maxPerPage: 12 });
  const rig = await startSyncRig(service);
  expect((await rig.sync()).error).toBeNull();
  const cost = async (request: Parameters<typeof rig.sync>[0], env: Record<string, string> = {}) => {
    const before = service.spent();
    const { error } = await rig.sync(request, env);
    return { credits: service.spent() - before, code: error?.code ?? null };
  };
  return { cost };
};

test("its second run pays for what the first one left, and for a look at each list of the organization", async () => {
  const { cost } = await aMirror();
  const whole = await cost({ full: true, runId: "one" });
  expect(whole.code).toBeNull();
  const first = await cost(
    { full: true, runId: "two" },
    { DUCKMIRROR_MAX_CREDITS: String(Math.floor(whole.credits / 2)) },
  );
  expect(first.code).toBe("BUDGET_SPENT");
  const second = await cost({ full: true, runId: "two" });
  expect(second.code).toBeNull();
  expect(first.credits + second.credits).toBeLessThanOrEqual(whole.credits + 3);
});

test("another one reads everything again", async () => {
  const { cost } = await aMirror();
  const whole = await cost({ full: true, runId: "one" });
  expect((await cost({ full: true, runId: "two" })).credits).toBe(whole.credits);
  expect((await cost({ full: true })).credits).toBe(whole.credits);
});

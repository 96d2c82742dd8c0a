// A look at the changes of a list fails, as in an outage. What the next sync reads is what is due, not what was interrupted.
import { expect, test } from "vitest";
import { afterTest } from "../../../support/after-test.ts";
import { anOrganization } from "../../../support/fake-data.ts";
import { createFakeService } from "../../../support/fake-service.ts";
import { startMemoryRig } from "../../../support/memory-rig.ts";

const LISTS = "accounts,contacts,signals";

/** A mirror whose last sync met only refusals. */
const afterOutage = async (environment: Record<string, string>) => {
  const service = createFakeService(anOrganization(12), { maxPerPage: 5 });
  const rig = await startMemoryRig(service, environment);
  afterTest(() => rig.close());
  expect((await rig.sync()).error).toBeNull();
  service.options = { ...service.options, before: () => ({ status: 409, body: {} }) };
  expect((await rig.sync()).error?.code).toBe("STREAMS_FAILED");
  service.options = { ...service.options, before: () => undefined };
  return { service, rig };
};
const modes = (report: { readonly streams: readonly { readonly mode: string }[] }) =>
  new Set(report.streams.map(({ mode }) => mode));

test("the next sync looks again, and does not call that a walk", async () => {
  const { rig } = await afterOutage({ DUCKMIRROR_STREAMS: LISTS });
  const { report } = await rig.sync();
  expect([report.requests, report.mode, [...modes(report)]]).toEqual([3, "incremental", ["watermark"]]);
});

test("with --full it reads each list whole, so a change without a date is found", async () => {
  const { service, rig } = await afterOutage({ DUCKMIRROR_STREAMS: LISTS });
  const changed = service.data.contacts[7];
  if (changed === undefined) throw new Error("no such contact");
  service.data.contacts[7] = { ...changed, email: "new@example.com" };
  const { report, error } = await rig.sync({ full: true });
  expect([error, [...modes(report)]]).toEqual([null, ["walk"]]);
  expect(rig.rows("contacts", "email").filter(({ email }) => email === "new@example.com")).toHaveLength(1);
});

// A gateway that answers 200 with a page of HTML in the middle of a run: each such answer may cost a credit. Shows P21.
import { expect, test } from "vitest";
import { afterTest } from "../../support/after-test.ts";
import { anOrganization } from "../../support/fake-data.ts";
import { createFakeService } from "../../support/fake-service.ts";
import { startMemoryRig } from "../../support/memory-rig.ts";

const PAGE = { status: 200, body: "<html><title>Sign in</title></html>" };
const IN_FLIGHT = 8;

test("HTML instead of every answer ends the run after those on the wire and a few more, sent one at a time", async () => {
  const service = createFakeService(anOrganization(20), { maxPerPage: 10 });
  service.options = { ...service.options, before: ({ number }) => (number > 30 ? PAGE : undefined) };
  const rig = await startMemoryRig(service, { DUCKMIRROR_CONCURRENCY: String(IN_FLIGHT) });
  afterTest(() => rig.close());
  const { error } = await rig.sync();
  expect(error?.code).toBe("SERVICE_FAILING");
  expect(service.log.length - 30).toBeLessThanOrEqual(IN_FLIGHT + 10);
});

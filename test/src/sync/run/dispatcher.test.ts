// A verdict that ends the run: no request follows it but those on the wire, however much there is still to load.
import { expect, test } from "vitest";
import { anOrganization } from "../../../support/fake-data.ts";
import { createFakeService, type FakeAnswer } from "../../../support/fake-service.ts";
import { startMemoryRig } from "../../../support/memory-rig.ts";

const refused = (status: number, headers: Record<string, string> = {}): FakeAnswer => ({
  status,
  headers,
  body: { error: { message: "refused" } },
});

const VERDICTS = [
  ["401", refused(401), "CREDENTIALS_REFUSED"],
  ["402", refused(402), "QUOTA_SPENT"],
  ["429 of a quota", refused(429, { "retry-after": "10800" }), "QUOTA_SPENT"],
  ["429 for a year", refused(429, { "retry-after": "31536000" }), "RATE_REFUSED"],
] as const;

for (const [status, answer, code] of VERDICTS) {
  for (const inFlight of [1, 8]) {
    test(`${status} with ${inFlight} in flight: no request follows it but those on the wire`, async () => {
      const service = createFakeService(anOrganization(20), { maxPerPage: 10 });
      service.options = { ...service.options, before: ({ number }) => (number > 20 ? answer : undefined) };
      const rig = await startMemoryRig(service, { DUCKMIRROR_CONCURRENCY: String(inFlight) });
      try {
        const { error, report } = await rig.sync();
        expect(error?.code).toBe(code);
        const refusals = service.log.filter((entry) => entry.status === answer.status).length;
        expect(refusals).toBeGreaterThan(0);
        expect(refusals).toBeLessThanOrEqual(inFlight);
        // Each of them stands in the ledger.
        expect(report.requests).toBe(service.log.length);
      } finally {
        await rig.close();
      }
    });
  }
}

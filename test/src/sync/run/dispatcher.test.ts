// A verdict that ends the run: no request follows it but those on the wire, however much there is still to load. Shows P26.
import { expect, test } from "vitest";
import { anOrganization } from "../../../support/fake-data.ts";
import { createFakeService, type FakeAnswer } from "../../../support/fake-service.ts";
import { startMemoryRig } from "../../../support/memory-rig.ts";

const refused = (status: number, after?: string): FakeAnswer => ({
  ...{ status, body: { error: { message: "refused" } } },
  ...(after === undefined ? {} : { headers: { "retry-after": after } }),
});

const VERDICTS = [
  ["401", refused(401), "CREDENTIALS_REFUSED"],
  ["402", refused(402), "QUOTA_SPENT"],
  ["429 of a quota", refused(429, "10800"), "QUOTA_SPENT"],
  ["429 for a year", refused(429, "31536000"), "RATE_REFUSED"],
] as const;

for (const [status, answer, code] of VERDICTS) {
  for (const inFlight of [1, 8]) {
    test(`${status} with ${inFlight} in flight: no request follows it but those on the wire`, async () => {
      const service = createFakeService(anOrganization(20), { maxPerPage: 10 });
      service.answerWhere(({ number }) => number > 20, answer);
      const { sync } = await startMemoryRig(service, { DUCKMIRROR_CONCURRENCY: String(inFlight) });
      const { code: ended, report, sent } = await sync();
      expect(ended).toBe(code);
      const refusals = sent.filter((entry) => entry.status === answer.status).length;
      expect(refusals).toBeGreaterThan(0);
      expect(refusals).toBeLessThanOrEqual(inFlight);
      // Each of them stands in the ledger.
      expect(report.requests).toBe(sent.length);
    });
  }
}

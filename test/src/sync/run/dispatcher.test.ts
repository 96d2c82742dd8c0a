// A verdict that ends the run: no request follows it but those on the wire, however much there is still to load. Shows P26.
import { expect, test } from "vitest";
import { pagesTotal } from "../../../../src/sync/run/dispatcher.ts";
import { anOrganization } from "../../../support/fake-data.ts";
import { createFakeService, type FakeAnswer } from "../../../support/fake-service.ts";
import { startMemoryRig } from "../../../support/memory-rig.ts";
import { aList } from "./a-list.ts";

// How many pages a stream is expected to have.

const stats = { planned: 3, pages: 1 };

test("a list per company is expected to have the planned pages, or as many as came", () => {
  const filings = aList({ stream: "filings", scope: "7", mode: "known" });
  expect(pagesTotal(filings, stats)).toBe(3);
  expect(pagesTotal(filings, { planned: 3, pages: 5 })).toBe(5);
});

test("a list of the organization has the pages of its length, once the service has said it", () => {
  const walk = aList();
  expect(pagesTotal(walk, stats)).toBeNull();
  const ids = Array.from({ length: 10 }, (_, nth) => String(99 - nth));
  const read = { page: 1, perPage: 10, role: "cover", ids, rows: 10, values: ids.map(() => null), total: 41 } as const;
  walk.tell({ kind: "page", read, receivedAt: 0 });
  expect(pagesTotal(walk, stats)).toBe(5);
  expect(pagesTotal(walk, { planned: 3, pages: 8 })).toBe(8);
});

test("an incremental read ends nobody knows where", () => {
  expect(pagesTotal(aList({ mode: "watermark" }), stats)).toBeNull();
});

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
      service.answerInstead(({ number }) => (number > 20 ? answer : undefined));
      const rig = await startMemoryRig(service, { DUCKMIRROR_CONCURRENCY: String(inFlight) });
      const { error, report } = await rig.sync();
      expect(error?.code).toBe(code);
      const refusals = service.log.filter((entry) => entry.status === answer.status).length;
      expect(refusals).toBeGreaterThan(0);
      expect(refusals).toBeLessThanOrEqual(inFlight);
      // Each of them stands in the ledger.
      expect(report.requests).toBe(service.log.length);
    });
  }
}

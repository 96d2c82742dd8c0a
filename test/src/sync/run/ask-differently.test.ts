// A service that returns no page behind some row, and does not say why: one other form is tried, no ladder of page sizes,
// and what changes before that row is read.
import { expect, test } from "vitest";
import { overlappingPages } from "../../../../src/sync/list/coverage/page-geometry.ts";
import { afterTest } from "../../../support/after-test.ts";
import { aContact, anOrganization } from "../../../support/fake-data.ts";
import { createFakeService } from "../../../support/fake-service.ts";
import { startMemoryRig } from "../../../support/memory-rig.ts";

const OLD = { lastChangeDetectedOn: "2020-01-01T00:00:00.000Z" };

test("a page refused for its depth, without a word about it, costs few refusals a sync, and no page twice", async () => {
  const data = anOrganization(1);
  data.contacts = Array.from({ length: 160 }, (_, row) => aContact(`p_${String(row).padStart(3, "0")}`, OLD));
  const service = createFakeService(data, { maxPerPage: 10 });
  service.options = {
    ...service.options,
    before: ({ query }) =>
      Number(query.page) * Number(query.perPage) > 60 && Number(query.page) > 1
        ? { status: 400, body: { message: "bad request" } }
        : undefined,
  };
  const env = { DUCKMIRROR_STREAMS: "contacts", DUCKMIRROR_CONCURRENCY: "1" };
  const rig = await startMemoryRig(service, env);
  afterTest(() => rig.close());
  const refusals = () => service.log.filter(({ status, query }) => status === 400 && Number(query.page) > 1).length;
  const first = await rig.sync();
  expect(first.error?.code).toBe("STREAMS_FAILED");
  expect(rig.rows("contacts")).toHaveLength(60);
  // In pages of up to ten that share a row.
  expect([first.report.credits.spent, refusals()]).toEqual([overlappingPages(60, 10), 3]);
  for (const round of [2, 3]) {
    const { report } = await rig.sync();
    expect(report.credits.spent).toBe(1);
    expect(refusals()).toBeLessThanOrEqual(3 + 2 * (round - 1));
    expect(report.streams[0]).toMatchObject({ stream: "contacts", complete: false });
  }
  const changed = { lastName: "Renamed", lastChangeDetectedOn: new Date().toISOString() };
  Object.assign(data.contacts[80] ?? {}, changed);
  const { report } = await rig.sync({ full: true });
  expect([report.credits.spent, report.streams[0]?.inserted]).toEqual([1, 1]);
  Object.assign(data.contacts[4] ?? {}, { ...changed, lastName: "Renamed as well" });
  expect((await rig.sync()).report.streams[0]).toMatchObject({ updated: 1, complete: false });
  // The walk goes on once its pages are returned.
  service.options = { ...service.options, before: () => undefined };
  const last = await rig.sync();
  expect([last.error, last.report.streams[0]?.complete]).toEqual([null, true]);
  expect(rig.rows("contacts")).toHaveLength(160);
});

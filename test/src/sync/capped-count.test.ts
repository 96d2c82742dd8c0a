// Services that count no further than 10,000, as search engines do by default (docs/decisions/0117).
import { expect, test } from "vitest";
import { afterTest } from "../../support/after-test.ts";
import { anOrganization, aSignal } from "../../support/fake-data.ts";
import { createFakeService, type FakeService } from "../../support/fake-service.ts";
import { startSyncRig } from "../../support/sync-rig.ts";

const CAP = 10_000;

const capped = (service: FakeService): FakeService => ({
  ...service,
  answer: (path, query) => {
    const answer = service.answer(path, query);
    const { meta, ...body } = answer.body as { meta?: { totalCount?: number } };
    if (meta?.totalCount === undefined) return answer;
    return { ...answer, body: { ...body, meta: { ...meta, totalCount: Math.min(CAP, meta.totalCount) } } };
  },
});

test("rows behind a count that ends at 10,000 are read before the list is called complete, and changes cost one credit", async () => {
  const data = anOrganization(1);
  const dated = (id: number) => ({ updatedAt: new Date(Date.UTC(2026, 0, 1) + id * 60_000).toISOString() });
  data.signals = Array.from({ length: CAP + 1_500 }, (_, row) => aSignal(row + 1, dated(row + 1)));
  const service = createFakeService(data, { maxPerPage: 1_000 });
  const rig = await startSyncRig(capped(service), { DUCKMIRROR_STREAMS: "signals" });
  afterTest(() => rig.close());
  const count = async () => (await rig.rows("SELECT count(*)::INTEGER AS n FROM signals"))[0]?.n;
  const first = await rig.sync();
  expect(first.error).toBeNull();
  expect(await count()).toBe(CAP + 1_500);
  data.signals.push(aSignal(CAP + 2_000, dated(CAP + 2_000)));
  const second = await rig.sync();
  expect(await count()).toBe(CAP + 1_501);
  expect(second.report.credits.spent).toBe(1);
});

// A walk that stood still while the list grew at its head.
import { expect, test } from "vitest";
import { afterTest } from "../../support/after-test.ts";
import { anOrganization, aSignal } from "../../support/fake-data.ts";
import { createFakeService } from "../../support/fake-service.ts";
import { startMemoryRig } from "../../support/memory-rig.ts";

const PAGE = 50;
const ROWS = 18 * PAGE;

test("rows that were added above an interrupted first walk are read before it is said to be complete", async () => {
  const data = anOrganization(1);
  const signal = (id: number) => aSignal(id, { updatedAt: new Date(Date.UTC(2026, 9, 1) + id * 60_000).toISOString() });
  data.signals = Array.from({ length: ROWS }, (_, row) => signal(row + 1));
  const service = createFakeService(data, { maxPerPage: PAGE, overPage: "clamp" });
  const rig = await startMemoryRig(service, { DUCKMIRROR_STREAMS: "signals" });
  afterTest(() => rig.close());
  const interrupted = await rig.sync({}, { DUCKMIRROR_MAX_CREDITS: "1" });
  expect(interrupted.error?.code).toBe("BUDGET_SPENT");
  data.signals.push(signal(ROWS + 400), signal(ROWS + 402));
  const before = service.log.length;
  const { error, report } = await rig.sync();
  expect(error).toBeNull();
  const n = rig.rows("signals").length;
  expect({ n, complete: report.streams[0]?.complete }).toEqual({ n: ROWS + 2, complete: true });
  // The head itself is read again, not the page behind it.
  const last = service.log
    .slice(before)
    .filter(({ path }) => path === "/v1/signals")
    .at(-1);
  expect(last?.query).toMatchObject({ page: "1", sortBy: "id" });
});

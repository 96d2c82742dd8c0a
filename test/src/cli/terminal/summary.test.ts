// The text after a sync.
import pc from "picocolors";
import { expect, test } from "vitest";
import { renderSummary } from "../../../../src/cli/terminal/summary.ts";
import { afterTest } from "../../../support/after-test.ts";
import { anOrganization } from "../../../support/fake-data.ts";
import { createFakeService, type Row } from "../../../support/fake-service.ts";
import { startSyncRig } from "../../../support/sync-rig.ts";

const textAfter = async (spoil: (signals: Row[]) => void) => {
  const data = anOrganization(2);
  spoil(data.signals);
  const rig = await startSyncRig(createFakeService(data), { DUCKMIRROR_STREAMS: "signals" });
  afterTest(() => rig.close());
  return renderSummary((await rig.sync()).report, { columns: 40, outColours: pc.createColors(false) });
};

test("a mirror that could not take every record is not simply called complete", async () => {
  const text = await textAfter((signals) => {
    for (const signal of signals.slice(0, 3)) signal.id = `not-a-number-${signal.id}`;
  });
  expect(text).toContain("The mirror is complete but for 3 records in sync.rejects.");
  expect(text).toContain("signals: some records became no row; table sync.rejects holds them with the reason");
});

test("a mirror that took every record is", async () => {
  const text = await textAfter(() => undefined);
  expect(text).toContain("The mirror is complete.\n");
  expect(text).not.toContain("rejects");
});

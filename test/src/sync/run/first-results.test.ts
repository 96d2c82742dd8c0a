// What can be queried while a mirror is made.
import { expect, test } from "vitest";
import { publishFirstResults } from "../../../../src/sync/run/first-results.ts";
import { anOrganization } from "../../../support/fake-data.ts";
import { createFakeService } from "../../../support/fake-service.ts";
import { simulatedClock, startSyncRig } from "../../../support/sync-rig.ts";

const TEN_A_MINUTE = { DUCKMIRROR_RATE_LIMIT: "10" };
const isNews = (event: { readonly kind: string; readonly text?: string }) =>
  event.kind === "note" && event.text?.includes("can be queried already") === true;

const rigOf = async (env: Record<string, string>) => {
  const service = createFakeService(anOrganization(12), { maxPerPage: 3 });
  const rig = await startSyncRig(service, { ...TEN_A_MINUTE, ...env }, simulatedClock());
  return { service, rig };
};

test("during a first mirror the snapshot holds what is there so far, and calls no list complete that is still read", async () => {
  const { service, rig } = await rigOf({});
  const seen: Record<string, unknown>[] = [];
  let hasLooked = false;
  const hold = async () => {
    if (hasLooked || !rig.events.some(isNews)) return;
    hasLooked = true;
    seen.push(
      ...(await rig.rows(
        "SELECT (SELECT count(*) FROM accounts)::INT AS rows, complete FROM marts.freshness WHERE table_name = 'contacts'",
      )),
    );
  };
  service.options = { ...service.options, hold };
  const { report } = await rig.sync({ streams: ["accounts", "contacts"] });
  expect(report.status).toBe("done");
  expect(seen).toHaveLength(1);
  expect(seen[0]?.rows).toBeGreaterThan(0);
  expect(seen[0]?.complete).toBe(false);
  // 30 s, 2, 8 and 32 minutes after its beginning, at most.
  expect(rig.events.filter(isNews).length).toBeLessThanOrEqual(4);

  const before = rig.events.length;
  await rig.sync({ streams: ["accounts"], full: true });
  expect(rig.events.slice(before).filter(isNews)).toEqual([]);
});

test("with a scope, rows outside it are known only at the end, so nothing is published before", async () => {
  const { rig } = await rigOf({ DUCKMIRROR_SCOPE: '{"signals":{"type":["funding"]}}' });
  await rig.sync({ streams: ["accounts", "signals"] });
  expect(rig.events.filter(isNews)).toEqual([]);
});

test("a publish that fails is a warning, and one that is under way is waited for", async () => {
  const clock = simulatedClock(0);
  const events: string[] = [];
  let publishes = 0;
  const committed = [{ inserted: 3, updated: 0, unchanged: 0, rejected: 0 }];
  const warehouse = {
    publish: async () => {
      publishes += 1;
      if (publishes === 1) throw new Error("the disk is full");
    },
  };
  const deps = { warehouse, clock, emit: (event: { kind: string; text?: string }) => events.push(event.text ?? "") };
  const { look, over } = publishFirstResults(deps as never, 0);
  for (const ms of [29_000, 1_000, 60_000, 30_000, 1_000]) {
    await clock.sleep(ms);
    look(committed);
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(publishes).toBe(2);
  expect(events).toEqual([
    "the rows so far could not be published: the disk is full",
    "12 rows can be queried already; lists that are still read count as incomplete",
  ]);
  await over();
  await clock.sleep(10_000_000);
  look(committed);
  expect(publishes).toBe(2);
});

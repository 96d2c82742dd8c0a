// Answers that arrive in any order: what a sync reads, and what it costs, does not depend on which of them is first.
import { expect, test } from "vitest";
import { anyOrder } from "../../support/any-order.ts";
import { aContact, anOrganization } from "../../support/fake-data.ts";
import { createFakeService, type FakeOptions, type FakeService } from "../../support/fake-service.ts";
import { startMemoryRig } from "../../support/memory-rig.ts";

const ROWS = 100;
const FIRST_SEED = Number(process.env.ANY_ORDER_SEED ?? 1);
const SEEDS = Array.from({ length: 2 }, (_, seed) => FIRST_SEED + seed);

const contacts = () =>
  Array.from({ length: ROWS }, (_, row) =>
    aContact(`p_${String(row).padStart(3, "0")}`, {
      lastChangeDetectedOn: new Date(Date.UTC(2020, 0, row + 1)).toISOString(),
    }),
  );

const WORLDS: Readonly<Record<string, FakeOptions>> = {
  "a list": {},
  "a list without counts": { totals: false },
};
/** Credits that another order may cost: pages are asked for before it is known that they are not needed. */
const MORE = 2;

/** A run with these credits, then one without a limit: what was spent and found. */
const mirrored = async (options: FakeOptions, credits: number) => {
  const service: FakeService = createFakeService(
    { ...anOrganization(1), contacts: contacts() },
    { maxPerPage: 10, ...options },
  );
  const rig = await startMemoryRig(service, { DUCKMIRROR_STREAMS: "contacts" });
  await rig.sync({}, { DUCKMIRROR_MAX_CREDITS: String(credits) });
  const { error, report } = await rig.sync();
  const [found] = await rig.query("SELECT count(*)::INT AS rows FROM contacts");
  return { spent: service.spent(), found: { error, complete: report.streams[0]?.complete, rows: found?.rows } };
};

test.each(Object.entries(WORLDS))("%s is mirrored whole, also after a run that a budget cut", async (_name, world) => {
  for (const credits of [3, 7, 1000]) {
    // With them the first run reads it whole, and the second one its changes: without a count, these show no deleted row.
    const complete = credits < 1000 || world.totals !== false;
    const inOrder = await mirrored(world, credits);
    for (const seed of SEEDS) {
      const { spent, found } = await mirrored({ ...world, hold: anyOrder(seed) }, credits);
      const isDear = spent > inOrder.spent + MORE;
      expect({ seed, credits, isDear, ...found }).toEqual({
        ...{ seed, credits, isDear: false },
        ...{ error: null, complete, rows: ROWS },
      });
    }
  }
});

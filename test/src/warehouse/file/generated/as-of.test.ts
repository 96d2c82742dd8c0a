// The past as SQL: `as_of.<table>(moment)` equals what the table held at that moment.
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { TABLE_NAMES } from "../../../../../src/catalog/tables.ts";
import { applyViews } from "../../../../../src/warehouse/file/views.ts";
import { aCheckpoint, aLoad, aSignal, aWarehouse, T0 } from "../../builders.ts";

const STEP_MS = 1000;
const anyRow = z.record(z.string(), z.unknown());
const id = fc.integer({ min: 1, max: 6 });
const step = fc.oneof(
  fc.record({
    kind: fc.constant("signals" as const),
    ids: fc.array(id, { minLength: 1, maxLength: 5 }),
    headline: fc.constantFrom("x", "y", "z"),
  }),
  fc.record({ kind: fc.constant("contacts" as const), ids: fc.array(id, { minLength: 1, maxLength: 3 }) }),
  fc.record({ kind: fc.constant("delete" as const), ids: fc.array(id, { minLength: 1, maxLength: 3 }) }),
);
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;
type Mirror = Awaited<ReturnType<typeof aWarehouse>>;

const commit = (warehouse: Mirror, one: Step, index: number, now: number) => {
  const more = { receivedAt: now };
  const ids = one.ids.map(String);
  if (one.kind === "delete") return warehouse.deleteKeys({ table: "signals", ids, runId: `run-${index}`, now });
  const records =
    one.kind === "signals"
      ? one.ids.map((number) => aSignal(number, { headline: one.headline }))
      : ids.map((contact) => ({ id: contact, location: `place ${index}` }));
  return warehouse.commit(aCheckpoint([aLoad(one.kind, records, more)]));
};

/** Rows of a table or table macro, without the mark of the scope, whose past is not kept. */
const rowsOf = async ({ database }: Mirror, table: string, source: string) => {
  const rows = await database.query(`FROM ${source} ORDER BY ALL`, [], anyRow);
  return rows.map((row) => ({
    table,
    ...Object.fromEntries(Object.entries(row).filter(([name]) => name !== "_in_scope")),
  }));
};
const HELD = ["signals", "contacts"] as const;
const heldNow = async (warehouse: Mirror) =>
  (await Promise.all(HELD.map((table) => rowsOf(warehouse, table, `main.${table}`)))).flat();
const heldAt = async (warehouse: Mirror, schema: string, at: number) => {
  const moment = `'${new Date(at).toISOString()}'`;
  return (await Promise.all(HELD.map((table) => rowsOf(warehouse, table, `${schema}.${table}(${moment})`)))).flat();
};

test("at every moment of a moving mirror, as_of equals the tables as they were then", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 10 }), async (steps) => {
      const warehouse = await aWarehouse();
      await applyViews(warehouse.database, T0);
      const seen = new Map<number, Awaited<ReturnType<typeof heldNow>>>([[T0 - 1, []]]);
      for (const [index, one] of steps.entries()) {
        const now = T0 + index * STEP_MS;
        await commit(warehouse, one, index, now);
        const held = await heldNow(warehouse);
        seen.set(now, held);
        seen.set(now + STEP_MS - 1, held);
      }
      for (const [moment, held] of seen) {
        expect(await heldAt(warehouse, "as_of", moment)).toEqual(held);
        expect(await heldAt(warehouse, '"asof"', moment)).toEqual(held);
      }
      await warehouse.close();
    }),
    { numRuns: 4 },
  );
});

test("every mirrored table has a past with its columns but the mark of the scope", async () => {
  const warehouse = await aWarehouse();
  await applyViews(warehouse.database, T0);
  const columnsOf = (source: string) =>
    warehouse.database.query(
      `DESCRIBE FROM ${source}`,
      [],
      z.object({ column_name: z.string(), column_type: z.string() }),
    );
  for (const table of TABLE_NAMES) {
    const present = (await columnsOf(`main.${table}`)).filter(({ column_name }) => column_name !== "_in_scope");
    const past = await columnsOf(`as_of.${table}(now())`);
    const byName = (a: { column_name: string }, b: { column_name: string }) => (a.column_name < b.column_name ? -1 : 1);
    expect(past.toSorted(byName)).toEqual(present.toSorted(byName));
  }
});

test("the recipe of a training set takes the account as it was known at each event, whatever comes later", async () => {
  const document = readFileSync(new URL("../../../../../docs/CHANGES.md", import.meta.url), "utf8");
  const [, recipe = ""] = /training set[^`]*`(FROM signals[^`]*)`/.exec(document) ?? [];
  const warehouse = await aWarehouse();
  await applyViews(warehouse.database, T0);
  const scored = (mainScore: number, receivedAt: number) =>
    warehouse.commit(aCheckpoint([aLoad("accounts", [{ id: 1, name: "A", mainScore }], { receivedAt })]));
  const event = (id: number, at: number) => aSignal(id, { accountId: 1, date: new Date(at).toISOString() });
  const set = () =>
    warehouse.database.query(`SELECT event.id AS signal_id, known.main_score ${recipe} ORDER BY signal_id`, [], anyRow);
  await scored(10, T0);
  await scored(90, T0 + 20 * STEP_MS);
  const events = [event(1, T0 - STEP_MS), event(2, T0 + 10 * STEP_MS), event(3, T0 + 30 * STEP_MS)];
  await warehouse.commit(aCheckpoint([aLoad("signals", events, { receivedAt: T0 + 40 * STEP_MS })]));
  const before = await set();
  expect(before).toMatchObject([
    { signal_id: 2, main_score: 10 },
    { signal_id: 3, main_score: 90 },
  ]);
  await scored(50, T0 + 50 * STEP_MS);
  expect(await set()).toEqual(before);
  await warehouse.close();
});

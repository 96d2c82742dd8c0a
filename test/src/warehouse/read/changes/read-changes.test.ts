// The change feed of random commits: applied to an empty map it equals the mirror at every step.
import fc from "fast-check";
import { expect, test } from "vitest";
import type { JsonObject } from "../../../../../src/core/json.ts";
import { allChanges, applyChanges, type Copy, mirrorCopy, sorted } from "../../../../support/feed.ts";
import { aCheckpoint, aLoad, aSignal, aWarehouse, T0 } from "../../builders.ts";

const id = fc.integer({ min: 1, max: 9 });
const contactId = fc.constantFrom("a", "b", "c", "d'e", 'f"g');
const step = fc.oneof(
  fc.record({
    kind: fc.constant("signals" as const),
    records: fc.array(fc.tuple(id, fc.constantFrom("x", "y", null)), { minLength: 1, maxLength: 6 }),
  }),
  fc.record({
    kind: fc.constant("contacts" as const),
    records: fc.array(fc.tuple(contactId, fc.constantFrom({ a: 1, b: 2 }, { b: 2, a: 1 }, { b: 2n ** 60n }, null)), {
      minLength: 1,
      maxLength: 4,
    }),
  }),
  fc.record({
    kind: fc.constant("articles" as const),
    company: fc.constantFrom("c1", "c2"),
    records: fc.array(fc.constantFrom("u", "v", "w"), { minLength: 1, maxLength: 4 }),
  }),
  fc.record({ kind: fc.constant("delete" as const), ids: fc.array(id, { minLength: 1, maxLength: 3 }) }),
  fc.record({ kind: fc.constant("quota" as const), at: fc.integer({ min: 0, max: 5 }) }),
);
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;
type Mirror = Awaited<ReturnType<typeof aWarehouse>>;

const commit = (warehouse: Mirror, one: Step, index: number) => {
  const more = { receivedAt: T0 + index * 1000 };
  if (one.kind === "delete") {
    const ids = one.ids.map(String);
    return warehouse.deleteKeys({ table: "signals", ids, runId: `run-${index}`, now: T0 + index * 1000 });
  }
  if (one.kind === "quota") {
    const quota = { capturedAt: T0 + one.at, limit: 1, used: 1, remaining: 0, resetsAt: null };
    return warehouse.commit(aCheckpoint([], { quota }));
  }
  if (one.kind === "signals") {
    const records = one.records.map(([number, headline]) => aSignal(number, { headline }));
    return warehouse.commit(aCheckpoint([aLoad("signals", records, more)]));
  }
  if (one.kind === "contacts") {
    const records = one.records.map(([contact, talkingPoints]): JsonObject => ({ id: contact, talkingPoints, odd: 1 }));
    return warehouse.commit(aCheckpoint([aLoad("contacts", records, more)]));
  }
  const records = one.records.map((url, at) => ({ id: `n${at}`, url, headline: "h", datePublished: "2024-01-01" }));
  return warehouse.commit(
    aCheckpoint([aLoad("news_articles", records, { ...more, fromPath: { companyId: one.company } })]),
  );
};

test("applied to an empty map, the feed equals the mirror at every step, and at every tenth number it continues from there", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 14 }), async (steps) => {
      const warehouse = await aWarehouse();
      const { database } = warehouse;
      const follower: Copy = new Map();
      let cursor = 0;
      for (const [index, one] of steps.entries()) {
        await commit(warehouse, one, index);
        const fresh = await allChanges(database, cursor);
        applyChanges(follower, fresh);
        cursor = fresh.at(-1)?.n ?? cursor;
        expect(sorted(follower)).toEqual(sorted(await mirrorCopy(database)));
      }
      const all = await allChanges(database, 0);
      expect(all.map(({ n }) => n)).toEqual(all.map((_, index) => index + 1));
      for (let at = 0; at <= all.length; at += 10) {
        const copy: Copy = new Map();
        applyChanges(copy, all.slice(0, at));
        applyChanges(copy, await allChanges(database, at, 3));
        expect(sorted(copy)).toEqual(sorted(follower));
      }
      await warehouse.close();
    }),
    { numRuns: 8, verbose: 1 },
  );
});

// The change feed of random commits: applied to an empty map it equals the mirror at every step.
import fc from "fast-check";
import { expect, test } from "vitest";
import { TABLE_NAMES } from "../../../../../src/catalog/tables.ts";
import { ExactNumber, type JsonObject } from "../../../../../src/core/json.ts";
import { pruneHistory } from "../../../../../src/warehouse/file/upkeep/history-retention.ts";
import { readChanges } from "../../../../../src/warehouse/read/changes/read-changes.ts";
import { allChanges, applyChanges, type Copy, mirrorCopy, sorted } from "../../../../support/feed.ts";
import { aCheckpoint, aLoad, aSignal, aWarehouse, T0 } from "../../builders.ts";

const CASES = Number(process.env.FEED_CASES ?? 4);
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
    { numRuns: CASES, verbose: 1 },
  );
});

test("the feed has every digit of numbers, also inside objects and unknown fields, and of times", async () => {
  const warehouse = await aWarehouse();
  const digits = new ExactNumber("0.1234567890123456789");
  const since = "2023-11-14T22:13:20.000123Z";
  const points = { n: digits, m: [new ExactNumber("1e-400")] };
  const record = {
    id: "a",
    accountId: 2n ** 60n + 1n,
    lastChangeDetectedOn: since,
    talkingPoints: points,
    odd: digits,
  };
  await warehouse.commit(aCheckpoint([aLoad("contacts", [record])]));
  await warehouse.commit(aCheckpoint([aLoad("contacts", [{ ...record, odd: 1 }], { receivedAt: T0 + 1000 })]));
  const [first, second] = await allChanges(warehouse.database);
  expect(first?.after).toMatchObject({
    ...{ account_id: 2n ** 60n + 1n, last_change_detected_on: since, talking_points: points },
    _extra: { odd: digits },
  });
  expect(second).toMatchObject({
    fields: ["_extra"],
    before: { _extra: { odd: digits } },
    after: { _extra: { odd: 1 } },
  });
  await warehouse.close();
});

const DAY_MS = 86_400_000;

test("what retention removed is named, not skipped; what is left still continues the mirror of that number", async () => {
  const warehouse = await aWarehouse();
  const { database } = warehouse;
  const at = (day: number, id: number, headline: string) =>
    warehouse.commit(aCheckpoint([aLoad("signals", [aSignal(id, { headline })], { receivedAt: T0 + day * DAY_MS })]));
  await at(0, 1, "a");
  await at(0, 2, "a");
  await at(1, 1, "b");
  const copy: Copy = new Map();
  applyChanges(copy, await allChanges(database, 0));
  await at(40, 1, "c");
  await pruneHistory(database, 30, T0 + 41 * DAY_MS);
  const gone = readChanges(database, { after: 2, limit: 10, tables: TABLE_NAMES });
  await expect(gone).rejects.toMatchObject({ code: "CHANGES_GONE", context: { after: 2, gone_to: 3, last: 4 } });
  const left = await allChanges(database);
  expect(left).toMatchObject([{ n: 4, change: "update", before: { headline: "b" }, after: { headline: "c" } }]);
  applyChanges(copy, left);
  expect(sorted(copy)).toEqual(sorted(await mirrorCopy(database)));
  await pruneHistory(database, 30, T0 + 90 * DAY_MS);
  expect(await allChanges(database)).toEqual([]);
  await at(91, 3, "new");
  expect(await allChanges(database, 4)).toMatchObject([{ n: 5, change: "insert" }]);
});

test("pages of some tables leave the others out, end in time, and go on at the last number", async () => {
  const warehouse = await aWarehouse();
  const { database } = warehouse;
  await warehouse.commit(aCheckpoint([aLoad("signals", [aSignal(1), aSignal(2), aSignal(3)])]));
  await warehouse.commit(aCheckpoint([aLoad("contacts", [{ id: "a" }, { id: "b" }])]));
  const page = (after: number, limit: number) => readChanges(database, { after, limit, tables: ["contacts"] });
  expect(await page(0, 1)).toMatchObject({ changes: [{ n: 4, key: { id: "a" } }], next: 4, last: 5 });
  expect(await page(4, 5)).toMatchObject({ changes: [{ n: 5 }], next: 5 });
  expect(await page(5, 5)).toMatchObject({ changes: [], next: 5 });
  await expect(page(6, 5)).rejects.toMatchObject({ code: "CHANGES_AHEAD" });
});

test("large rows make a page shorter, and no change is left out", async () => {
  const warehouse = await aWarehouse();
  // Two hundred rows are read before their size is known; eight million characters end a page.
  const filings = Array.from({ length: 220 }, (_, id) => ({ id, type: "10-K", fullContent: "x".repeat(45_000) }));
  const asked = new Set(["id", "type", "fullContent"]);
  await warehouse.commit(aCheckpoint([aLoad("filings", filings, { asked, fromPath: { companyId: "c" } })]));
  const first = await readChanges(warehouse.database, { after: 0, limit: 1000, tables: TABLE_NAMES });
  expect([first.changes.length, first.next]).toEqual([200, 200]);
  expect(await allChanges(warehouse.database, first.next)).toHaveLength(20);
});

// Statements that read lists in their order.
import { expect, test } from "vitest";
import { tableSpec } from "../../../../src/catalog/tables.ts";
import { hasNumberKey, keysInOrder, type ListOrder, listSizes } from "../../../../src/replica/kept/kept.ts";

const [sortBy] = tableSpec("signals").fields.filter(({ name }) => name === "headline");
const order = (per: string | null): ListOrder => {
  if (sortBy === undefined) throw new Error("signals have no headline");
  return { table: "signals", sortBy, sortOrder: "desc", per };
};

test("a key counts as a number when it is one BIGINT column", () => {
  expect([hasNumberKey("signals"), hasNumberKey("companies"), hasNumberKey("filings")]).toEqual([true, false, false]);
});

test("the whole list is one list; one per value leaves out rows without the value", () => {
  expect(listSizes(order(null))).toBe(`SELECT '', count(*) FROM main."signals"`);
  expect(listSizes(order("account_id"))).toMatch(
    /"account_id" IS NOT NULL GROUP BY "account_id" ORDER BY "account_id"$/,
  );
});

test("keys come list by list, in the order of the sizes, and each list in its own order", () => {
  const own = 'ORDER BY t."headline" DESC NULLS LAST, t."id" DESC';
  expect(keysInOrder(order(null), false)).toBe(`SELECT t."id" FROM main."signals" AS t ${own}`);
  expect(keysInOrder(order(null), true)).toBe(`SELECT t."id", t.rowid FROM main."signals" AS t ${own}`);
  expect(keysInOrder(order("account_id"), false)).toBe(
    `SELECT t."id" FROM main."signals" AS t WHERE t."account_id" IS NOT NULL ORDER BY t."account_id", ${own.slice(9)}`,
  );
});

// Fields that rules may name.
import { expect, test } from "vitest";
import { fieldPath, ruledTables } from "../../../src/catalog/field-rules.ts";

const { contacts, signals, accounts, filings, ...others } = ruledTables();

test("what the mirror needs cannot be cut out, with the reason", () => {
  expect(contacts?.needed).toMatchObject({
    id: "it is the key",
    lastChangeDetectedOn: "it says when the record changed",
  });
  expect(signals?.needed).toMatchObject({ accountId: "it links the record", type: "it steers what is read" });
  expect(accounts?.needed).toMatchObject({
    companyId: "it links the record",
    updatedAt: "it says when the record changed",
  });
  expect(filings?.needed).toMatchObject({ id: "it is the key" });
  for (const { needed, excludable } of [contacts, accounts].flatMap((table) => table ?? [])) {
    expect(excludable.filter((name) => Object.hasOwn(needed, name))).toEqual([]);
  }
});

test("free texts may be hashed; numbers, objects and documented words may only be cut out", () => {
  expect(contacts?.hashable).toEqual(expect.arrayContaining(["email", "phone"]));
  expect(contacts?.excludable).toEqual(expect.arrayContaining(["email", "mainScore", "personInsights", "changeType"]));
  for (const name of ["mainScore", "personInsights", "changeType"]) expect(contacts?.hashable).not.toContain(name);
});

test("tables of figures have no rules", () => {
  expect(others).not.toHaveProperty("usage_snapshots");
  expect(others).not.toHaveProperty("signal_counts");
  expect(others).toHaveProperty("owners");
});

test("a path names a table and a field, however deep", () => {
  expect(fieldPath("account_insights.summary.peopleUpdates")).toEqual({
    table: "account_insights",
    path: ["summary", "peopleUpdates"],
  });
  expect([fieldPath("contacts"), fieldPath("people.email"), fieldPath("")]).toEqual([null, null, null]);
});

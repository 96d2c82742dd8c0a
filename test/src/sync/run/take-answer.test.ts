// What an answer shows of filters, and what records that came along count.
import { expect, test } from "vitest";
import type { RowScope } from "../../../../src/core/config/planning/scope-settings.ts";
import { ignoresFilters, newsOf } from "../../../../src/sync/run/take-answer.ts";

const scope: RowScope = { accounts: { type: ["customer"] } };
const [inside, outside] = [
  { id: 1, type: "customer" },
  { id: 2, type: "prospect" },
];

test("a row outside the scope shows that the service ignores its filters, if it was asked with them", () => {
  expect(ignoresFilters(scope, "accounts", { type: "customer" }, [inside, outside])).toBe(true);
  expect(ignoresFilters(scope, "accounts", { type: "customer" }, [inside])).toBe(false);
  expect(ignoresFilters(scope, "accounts", { page: "1" }, [outside])).toBe(false);
  expect(ignoresFilters(scope, "contacts", { type: "customer" }, [outside])).toBe(false);
});

const count = { inserted: 0, updated: 0, unchanged: 7, rejected: 2 };

test("embedded records count where they are new or changed, and only as that", () => {
  expect(newsOf("contacts", count)).toBeNull();
  expect(newsOf("contacts", { ...count, updated: 1 })).toEqual({ inserted: 0, updated: 1, unchanged: 0, rejected: 0 });
  expect(newsOf("signals", { ...count, inserted: 1 })).toMatchObject({ inserted: 1, rejected: 0 });
});

test("profiles of companies count as they are, because no list of their own counts them", () => {
  expect(newsOf("companies", count)).toBe(count);
});

// What a lookup found, by the service's answer.
import { expect, test } from "vitest";
import type { JsonObject } from "../../../../src/core/json.ts";
import { accountOf, lookupOutcome, outcomeJson } from "../../../../src/sync/rows/lookup-outcome.ts";

const found = (kind: "company" | "account", envelope: JsonObject) =>
  lookupOutcome({ kind, input: "acme.com" }, envelope);

test.each<[string, "company" | "account", JsonObject, object]>([
  ["a company", "company", { data: { id: "c_1" } }, { status: "found", id: "c_1" }],
  ["an account by its profile", "account", { data: { profile: { accountId: 7 } } }, { status: "found", id: 7 }],
  ["an account beside a profile that names none", "account", { data: { accountId: 7, profile: {} } }, { id: 7 }],
  ["an account without a profile", "account", { data: { accountId: 7, profile: null } }, { id: 7 }],
  ["no data", "account", { data: null }, { status: "not_found", id: null }],
  ["no account id", "account", { data: { profile: {} } }, { status: "not_found", id: null }],
  ["a status that says so", "company", { status: "not_found", data: { id: "c_1" } }, { status: "not_found" }],
  [
    "several accounts",
    "account",
    { status: "multiple_matches", data: null, candidates: [{ id: 1 }], bestMatch: { id: 1 } },
    { status: "multiple_matches", candidates: [{ id: 1 }], bestMatch: { id: 1 } },
  ],
  ["candidates that are no list", "account", { data: { accountId: 7 }, candidates: "x" }, { candidates: [] }],
])("%s", (_, kind, envelope, outcome) => {
  expect(found(kind, envelope)).toMatchObject({ kind, input: "acme.com", ...outcome });
});

test("an answer that is no object names no account", () => {
  expect(accountOf([])).toBeNull();
  expect(accountOf("x")).toBeNull();
});

test("the summary of its run names the best match as the mirror's columns do", () => {
  expect(outcomeJson(found("company", { data: { id: "c_1" } }))).toEqual({
    kind: "company",
    input: "acme.com",
    status: "found",
    id: "c_1",
    candidates: [],
    best_match: null,
  });
});

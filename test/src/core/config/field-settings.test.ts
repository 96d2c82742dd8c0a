// Settings about fields and tables: names are checked, because a slip of the pen would let through what was to stay out.
import { describe, expect, test } from "vitest";
import { vocabulary } from "../../../../src/catalog/field-rules.ts";
import { resolveConfig } from "../../../../src/core/config/config.ts";
import { DuckmirrorError } from "../../../../src/core/errors.ts";
import { tableStrictness } from "../../../../src/warehouse/record/normalize-record.ts";

const configOf = (env: Record<string, string>) =>
  resolveConfig({ flags: {}, env, file: null, cwd: "/", vocabulary: vocabulary() });
const problemOf = (env: Record<string, string>): string => {
  try {
    configOf(env);
  } catch (error) {
    if (error instanceof DuckmirrorError) return error.message;
    throw error;
  }
  return "";
};
const exclude = (value: string) => ({ DUCKMIRROR_EXCLUDE_FIELDS: value });
const hash = (value: string) => ({ DUCKMIRROR_HASH_FIELDS: value });

describe("fields", () => {
  test("documented ones, members deep inside them, and owners' own are taken", () => {
    const config = configOf(exclude("contacts.phone, account_insights.summary.peopleUpdates, owners.data"));
    expect(config.excludeFields).toEqual(["contacts.phone", "account_insights.summary.peopleUpdates", "owners.data"]);
    expect(configOf(hash("contacts.email,contacts.introPaths")).hashFields).toEqual([
      "contacts.email",
      "contacts.introPaths",
    ]);
    expect(configOf({}).excludeFields).toEqual([]);
  });

  test.each([
    [exclude("contacts.emial"), "Did you mean contacts.email?"],
    [exclude("contact.email"), "Did you mean contacts?"],
    [exclude("contacts"), "is not a field like contacts.email"],
    [exclude("contacts.personInsights."), "is not a field like contacts.email"],
    [exclude("contacts.id"), "is needed as it is: it is the key"],
    [exclude("contacts.lastChangeDetectedOn"), "it says when the record changed"],
    [exclude("accounts.updatedAt"), "it says when the record changed"],
    [exclude("accounts.companyId"), "it links the record"],
    [exclude("signals.type"), "it steers what is read"],
    [exclude("job_openings.companyId"), "it is the key"],
    [exclude("usage_snapshots.limit"), "there is no table"],
    [exclude("signal_counts.all"), "there is no table"],
    [exclude("people.email"), "there is no table"],
    [exclude("filings.id"), "it is the key"],
    [hash("contacts.mainScore"), "cannot be hashed"],
    [hash("contacts.changeType"), "cannot be hashed"],
    [hash("contacts.personInsights"), "cannot be hashed"],
    [{ DUCKMIRROR_HASH_KEY: "short" }, "16 or more characters"],
  ])("%j is refused: %s", (env, message) => {
    expect(problemOf(env)).toContain(message);
  });

  test("one that API.md does not know is kept out all the same, and named", () => {
    const config = configOf(exclude("contacts.shoeSize"));
    expect(config.excludeFields).toEqual(["contacts.shoeSize"]);
    expect(config.warnings).toEqual([expect.stringContaining("contacts.shoeSize is not a documented field")]);
    expect(configOf(exclude("contacts.phone")).warnings).toEqual([]);
  });

  test("the key of hashes does not print", () => {
    const config = configOf({ ...hash("contacts.email"), DUCKMIRROR_HASH_KEY: "0123456789abcdef" });
    expect(JSON.stringify(config)).not.toContain("0123456789abcdef");
  });
});

describe("strictness", () => {
  test("one word for all tables, or table by table; the rest evolves", () => {
    const { strictness } = configOf({ DUCKMIRROR_STRICTNESS: "reject" });
    expect(tableStrictness(strictness)("contacts")).toBe("reject");
    const some = configOf({ DUCKMIRROR_STRICTNESS: "contacts=freeze, owners=Reject" }).strictness;
    expect((["contacts", "owners", "signals"] as const).map(tableStrictness(some))).toEqual([
      "freeze",
      "reject",
      "evolve",
    ]);
    const both = configOf({ DUCKMIRROR_STRICTNESS: "*=reject,contacts=evolve" }).strictness;
    expect((["contacts", "signals"] as const).map(tableStrictness(both))).toEqual(["evolve", "reject"]);
    expect(tableStrictness(configOf({}).strictness)("contacts")).toBe("evolve");
  });

  test.each([
    ["contacts=freez", "Did you mean freeze?"],
    ["contact=freeze", "Did you mean contacts?"],
    ["strict", "is not one of evolve, freeze, reject"],
  ])("%s is refused: %s", (value, message) => {
    expect(problemOf({ DUCKMIRROR_STRICTNESS: value })).toContain(message);
  });
});

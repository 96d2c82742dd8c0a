// Text: names that were meant, domains, exact JSON, run ids, SQL literals, durations and sizes.

import fc from "fast-check";
import { expect, test } from "vitest";
import {
  exactJson,
  isJsonObject,
  type JsonForm,
  type JsonValue,
  jsonOrNull,
  jsonOrText,
  writeJson,
} from "../../../../src/core/json.ts";
import { closest, didYouMean } from "../../../../src/core/text/did-you-mean.ts";
import { bareAddress, domainCandidates } from "../../../../src/core/text/domain-names.ts";
import { newRunId, runIdSchema } from "../../../../src/core/text/run-id.ts";
import { literal, quoted } from "../../../../src/core/text/sql-text.ts";
import {
  formatBytes,
  formatCount,
  formatDuration,
  parseBytes,
  parseDuration,
} from "../../../../src/core/text/units.ts";

const known = ["accounts", "contacts", "signals", "news_articles", "signal_counts"];

test.each([
  ["a letter left out", "acounts", "accounts"],
  ["a letter too many", "signnals", "signals"],
  ["another letter", "cantacts", "contacts"],
  ["two neighbours swapped, which counts as one edit", "conatcts", "contacts"],
  ["a hyphen for an underscore, and capitals", "News-Articles", "news_articles"],
])("%s finds the name", (_, typed, name) => {
  expect(closest(typed, known)).toBe(name);
});

test("no name is suggested where more than a third of the letters is wrong, and one edit is always near enough", () => {
  expect(closest("filings", known)).toBeNull();
  expect(closest("sixxxls", known)).toBeNull();
  expect(closest("ab", ["ac"])).toBe("ac");
  expect(closest("ab", ["cd"])).toBeNull();
  expect(closest("anything", [])).toBeNull();
});

test("of several near names the nearest is suggested, and of equally near ones the first", () => {
  expect(closest("signal", ["signals", "signal_counts"])).toBe("signals");
  expect(closest("cat", ["bat", "hat"])).toBe("bat");
});

test("the suggestion ends a sentence, or adds nothing", () => {
  expect(`There is no stream acounts.${didYouMean("acounts", known)}`).toBe(
    "There is no stream acounts. Did you mean accounts?",
  );
  expect(didYouMean("filings", known)).toBe("");
});

test.each<[string, readonly string[]]>([
  ["https://www.Shop.Acme.co.uk/x?y", ["shop.acme.co.uk", "acme.co.uk", "co.uk"]],
  ["ACME.com", ["acme.com"]],
  ["https://www.shop.acme.co.uk:8443/x?y#z", ["shop.acme.co.uk", "acme.co.uk", "co.uk"]],
  ["user@acme.com", ["acme.com"]],
  ["Acme Corp.", []],
  ["acme.com.", ["acme.com"]],
  ["acme.com:8080", ["acme.com"]],
  ["mailto://me@acme.com", ["acme.com"]],
  [" ACME.com#top ", ["acme.com"]],
  ["acme", []],
  ["Acme Inc.", []],
  ["acme..com", []],
  ["two words.com", []],
  ["", []],
])("%j may mean %j", (input, domains) => {
  expect(domainCandidates(input)).toEqual(domains);
});

test.each([
  ["https://www.Acme.com/About/?x#y", "acme.com/about"],
  ["https://www.Network.example/company/acme/", "network.example/company/acme"],
  ["network.example/company/acme?ref=1#top", "network.example/company/acme"],
  ["acme.com//", "acme.com"],
  ["http://acme.com/a#b/c", "acme.com/a"],
])("%s is %s", (input, bare) => {
  expect(bareAddress(input)).toBe(bare);
});

test("any value is written as the engine's own writer does it, in every form but for the order of members", () => {
  const aJsonValue = fc.letrec<{ value: JsonValue }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.oneof(fc.string(), fc.boolean(), fc.constant(null), fc.double({ noNaN: true, noDefaultInfinity: true })),
      fc.array(tie("value"), { maxLength: 4 }),
      fc.dictionary(fc.string(), tie("value"), { maxKeys: 4, noNullPrototype: true }),
    ),
  })).value;
  fc.assert(
    fc.property(aJsonValue, (value) => {
      expect(exactJson(value)).toBe(JSON.stringify(value));
      expect(writeJson(value, "storable")).toEqual({ text: JSON.stringify(value), exact: true });
      expect(JSON.parse(writeJson(value, "canonical").text)).toEqual(JSON.parse(JSON.stringify(value)));
    }),
  );
});

test("an integer of any size keeps its digits, at any depth", () => {
  let deep: JsonValue = 2n ** 64n;
  for (let level = 0; level < 20_000; level++) deep = level % 2 === 0 ? [deep] : { a: deep };
  expect(exactJson(deep)).toBe(`${'{"a":['.repeat(10_000)}18446744073709551616${"]}".repeat(10_000)}`);
});

test.each<[JsonForm, string, boolean]>([
  ["escaped", '{"b":1e999,"a":"half \\ud83d pair"}', true],
  ["storable", '{"b":null,"a":"half \ufffd pair"}', false],
  ["canonical", '{"a":"half \ufffd pair","b":null}', false],
])("half a surrogate pair and a number beyond a double, in the form %s", (form, text, exact) => {
  expect(writeJson({ b: Number.POSITIVE_INFINITY, a: "half \ud83d pair" }, form)).toEqual({ text, exact });
});

test("an id is its time in UTC and a random part of six characters", () => {
  const at = Date.UTC(2026, 0, 2, 3, 4, 5);
  expect(newRunId(at, () => 0)).toBe("20260102T030405Z-000000");
  expect(newRunId(at, () => 1 - 2 ** -53)).toBe("20260102T030405Z-zzzzzz");
  expect(newRunId(at, () => 0.5) < newRunId(at + 1_000, () => 0)).toBe(true);
});

test.each(["__proto__", "../..", "a\nb", "a".repeat(10_000), "", ".", "-x", "a b", "a/b"])(
  "%j is no id from outside",
  (id) => {
    expect(runIdSchema.safeParse(id).success).toBe(false);
  },
);

test("ids that are made here are taken", () => {
  expect(runIdSchema.parse(newRunId(0, Math.random))).toMatch(/^19700101T000000Z-/);
  expect(runIdSchema.parse("20261127T000000Z-abc123.2")).toBe("20261127T000000Z-abc123.2");
});

test("a key becomes a literal that no text can break out of", () => {
  expect(literal("it's")).toBe("'it''s'");
  expect(literal("a\0b")).toBe("'a' || chr(0) || 'b'");
  expect(literal(-5n)).toBe("-5::BIGINT");
});

test("a name becomes an identifier that no text can break out of", () => {
  expect(quoted('a"b')).toBe('"a""b"');
});

test.each([
  ["7d", 604_800_000],
  ["1h30m", 5_400_000],
  ["1.5 h", 5_400_000],
  ["500ms", 500],
  ["2w", 1_209_600_000],
  ["0s", 0],
])("%s is %d ms", (text, ms) => expect(parseDuration(text)).toBe(ms));

test.each(["", "7", "d", "-1d", "7 days", "1h-2m", "1e3s"])("%j is no duration", (text) => {
  expect(parseDuration(text)).toBeNull();
});

test.each([
  ["64MiB", 67_108_864],
  ["10 mb", 10_000_000],
  ["1024", 1024],
])("%s is %d bytes", (text, bytes) => expect(parseBytes(text)).toBe(bytes));

test.each(["", "MiB", "-1", "1 potato", "1 toString"])("%j is no size", (text) => expect(parseBytes(text)).toBeNull());

test.each([
  [0, "0.0s"],
  [340, "0.3s"],
  [250_000, "4m 10s"],
  [3_600_000, "1h"],
  [90_061_000, "1d 1h"],
  [59_999, "1m"],
])("%d ms reads %s", (ms, text) => expect(formatDuration(ms)).toBe(text));

test("what formatDuration writes from a minute on, parseDuration reads back to within its smallest unit", () => {
  fc.assert(
    fc.property(fc.integer({ min: 60_000, max: 10 ** 10 }), (ms) => {
      const back = parseDuration(formatDuration(ms)) ?? Number.NaN;
      expect(Math.abs(back - ms) / ms).toBeLessThan(0.05);
    }),
  );
});

test("sizes and counts read the same in every locale", () => {
  expect([formatBytes(12), formatBytes(1536), formatBytes(826_000_000)]).toEqual(["12 B", "1.5 KiB", "788 MiB"]);
  expect([formatCount(7), formatCount(1234567), formatCount(9007199254740993n)]).toEqual([
    "7",
    "1,234,567",
    "9,007,199,254,740,993",
  ]);
});

test("lists and null are no objects", () => {
  expect([{}, { a: 1 }, [], null, "a", 1n].map(isJsonObject)).toEqual([true, true, false, false, false, false]);
});

test("a line that a crash cut off is null, like no line", () => {
  expect([jsonOrNull('{"a":1}'), jsonOrNull('{"a":'), jsonOrNull("")]).toEqual([{ a: 1 }, null, null]);
});

test("a text that is no JSON stays as it is; null is a value", () => {
  expect(['{"a":1}', "null", "plain words"].map(jsonOrText)).toEqual([{ a: 1 }, null, "plain words"]);
});

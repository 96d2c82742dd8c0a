// The writer of JSON: exact integers, and three forms for what not every JSON reader accepts.
import fc from "fast-check";
import { expect, test } from "vitest";
import type { JsonValue } from "../../../../src/core/json.ts";
import { exactJson, type JsonForm, writeJson } from "../../../../src/core/text/exact-json.ts";

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

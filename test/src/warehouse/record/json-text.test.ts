// JSON as the warehouse stores it: members of `_extra` come back letter by letter, and only their order means nothing.
import fc from "fast-check";
import { expect, test } from "vitest";
import { type JsonValue, jsonText } from "../../../../src/core/json.ts";
import { extraText, isSameJson, joinExtra, splitExtra } from "../../../../src/warehouse/record/json-text.ts";

const names = fc.string({ unit: fc.constantFrom(...'ab"\\,:{}[] é') });
const aValue = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.oneof(names, fc.boolean(), fc.constant(null), fc.integer(), fc.bigInt({ min: 2n ** 53n, max: 2n ** 70n })),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(names, tie("value"), { maxKeys: 3, noNullPrototype: true }),
  ),
})).value;

test("members of _extra come back as they were joined, whatever their names and values hold", () => {
  fc.assert(
    fc.property(
      fc.dictionary(
        names.filter((name) => name !== ""),
        aValue,
        { maxKeys: 5 },
      ),
      (members) => {
        const entries = new Map(Object.entries(members).map(([name, value]) => [name, extraText(value)]));
        expect(splitExtra(joinExtra(entries))).toEqual(entries);
      },
    ),
  );
  expect(joinExtra(new Map())).toBeNull();
  expect(splitExtra(null)).toEqual(new Map());
});

test("the order of members means nothing, everything else does", () => {
  const reversed = (value: JsonValue): JsonValue => {
    if (Array.isArray(value)) return value.map(reversed);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value)
        .reverse()
        .map(([name, item]) => [name, reversed(item)]),
    );
  };
  fc.assert(
    fc.property(aValue, (value) => {
      expect(isSameJson(jsonText(value).text, jsonText(reversed(value)).text)).toBe(true);
    }),
  );
  expect(isSameJson("[1,2]", "[2,1]")).toBe(false);
  expect(isSameJson('{"a":1,"b":2}', '{"a":2,"b":1}')).toBe(false);
  // Numbers that a double rounds to the same value.
  expect(isSameJson('{"a":9007199254740993,"b":1}', '{"b":1,"a":9007199254740992}')).toBe(false);
});

test("what plain JSON cannot express is kept as the text of its exact form", () => {
  expect(extraText({ a: 1 })).toBe('{"a":1}');
  expect(extraText("half \ud83d")).toBe('{"$json":"\\"half \\\\ud83d\\""}');
  expect(JSON.parse(JSON.parse(extraText("half \ud83d")).$json)).toBe("half \ud83d");
});

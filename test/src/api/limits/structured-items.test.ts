// Headers that hold items with parameters, as services really write them.
import fc from "fast-check";
import { expect, test } from "vitest";
import { parseItems } from "../../../../src/api/limits/structured-items.ts";

const plain = (text: string) =>
  parseItems(text).map(({ key, value, params }) => ({ key, value, params: Object.fromEntries(params) }));

test.each<[string, ReturnType<typeof plain>]>([
  ["", []],
  [" , ;, ", []],
  ["100", [{ key: null, value: "100", params: {} }]],
  [
    "limit=100, remaining = 5",
    [
      { key: "limit", value: "100", params: {} },
      { key: "remaining", value: "5", params: {} },
    ],
  ],
  [
    '"burst";q=100;w=60, "day";q=5000;w=86400',
    [
      { key: null, value: "burst", params: { q: "100", w: "60" } },
      { key: null, value: "day", params: { q: "5000", w: "86400" } },
    ],
  ],
  ['"a;b,c\\"d";R=1', [{ key: null, value: 'a;b,c"d', params: { r: "1" } }]],
  ["100;w=60;flag;=7", [{ key: null, value: "100", params: { w: "60" } }]],
  ['limit="100"', [{ key: "limit", value: "100", params: {} }]],
  ['"never closed, 5', [{ key: null, value: '"never closed, 5', params: {} }]],
])("%j", (text, items) => {
  expect(plain(text)).toEqual(items);
});

test("no text makes it fail, and no item is without a value", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom(...'a1=;,"\\ ') })), (text) => {
      for (const { value } of parseItems(`x,${text}`)) expect(typeof value).toBe("string");
      expect(parseItems(`limit=1, "${text.replace(/["\\]/g, "")}"`)).toHaveLength(2);
    }),
  );
});

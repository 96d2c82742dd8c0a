// JSON that a service writes almost right costs one value or one record, not the page.
import { expect, test } from "vitest";
import { JsonSyntaxError, parseJson } from "../../../src/api/lossless-json.ts";

const page = (...records: readonly string[]) => `{"data": [${records.join(",")}],"meta":{"page":1}}`;
const recordsIn = (text: string) => {
  const value = parseJson(text);
  return value !== null && typeof value === "object" && "data" in value ? value.data : value;
};

test("raw control characters in strings are read; those of other places stay an error", () => {
  expect(recordsIn(page('{"id":1,"name":"a\tb\u0001\n\\t"}', '{"id":2}'))).toEqual([
    { id: 1, name: "a\tb\u0001\n\t" },
    { id: 2 },
  ]);
  expect(() => parseJson('{"a":\u0001 1}')).toThrow(JsonSyntaxError);
});

test("a control character beside NaN and an integer beyond 2^53 is read with them", () => {
  expect(recordsIn(page('{"id":12345678901234567890,"x":NaN,"name":"a\tb"}'))).toEqual([
    { id: 12_345_678_901_234_567_890n, x: "NaN", name: "a\tb" },
  ]);
});

test.each([
  ["an escape that JSON lacks", String.raw`{"id":2,"name":"it\'s"}`],
  ["a missing comma", '{"id":2 "name":"x"}'],
  ["a word that is none", '{"id":2,"name":undefined}'],
  ["a comma too many", '{"id":2,"tags":["a",]}'],
  ["a leading zero", '{"id":2,"n":007}'],
])("of a page with %s in one record, the other records are read and this one is its text", (_, broken) => {
  expect(recordsIn(page('{"id":1,"t":["]"]}', broken, '{"id":3}'))).toEqual([{ id: 1, t: ["]"] }, broken, { id: 3 }]);
});

test("a comma after the last record, or two between records, cost nothing", () => {
  expect(recordsIn(page('{"id":1}', "", '{"id":2}', " "))).toEqual([{ id: 1 }, { id: 2 }]);
});

test("a page of which no record can be read, a page that is cut off, and other broken texts are refused", () => {
  const texts = [
    page("{id:1}", "{id:2}"),
    page('{"id":1}', "{id:2}").slice(0, -20),
    '{"data":[{"id":1}',
    '{"data":{"id":1,}}',
    "[1,]",
  ];
  for (const text of texts) expect(() => parseJson(text)).toThrow(JsonSyntaxError);
});

test("a value nested too deep becomes its text, the rest of its record and page stays", () => {
  const deep = `${"[".repeat(700)}"]"${"]".repeat(700)}`;
  const records = recordsIn(page(`{"id":1,"deep":${deep},"name":"x"}`, '{"id":2}'));
  expect(records).toMatchObject([{ id: 1, name: "x" }, { id: 2 }]);
  const flat = JSON.stringify(records);
  expect(flat.includes(JSON.stringify(deep.slice(497, -497)))).toBe(true);
});

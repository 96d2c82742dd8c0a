// JSON that a service writes almost right costs one value, one record or one other part of the envelope, not the page.
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

const COMPANY = '{"id":"c","at":{"city":"x",}}';
const OWNER = '{"id":"u",}';
const envelope = (members: Readonly<Record<string, string>>) => {
  const whole = { data: '[{"id":1}]', included: "null", meta: '{"page":1}', usage: '{"used":1}', ...members };
  const parts = Object.entries(whole).map(([name, json]) => `${JSON.stringify(name)} : ${json}`);
  return ` {${parts.join(" ,")}}\n`;
};

test.each<[place: string, members: Record<string, string>, read: Record<string, unknown>]>([
  ["a list", { included: `{"companies":[{"id":"b"},${COMPANY}]}` }, { companies: [{ id: "b" }, COMPANY] }],
  ["a list of its own", { included: `{"companies":[${COMPANY}],"owners":[]}` }, { companies: [COMPANY], owners: [] }],
  [
    "a map by id",
    { included: `{"companies":{"b":{"n":1},"c":${COMPANY}}}` },
    { companies: { b: { n: 1 }, c: COMPANY } },
  ],
  ["a map of its own", { included: `{"companies":{"c":${OWNER}}}` }, { companies: `{"c":${OWNER}}` }],
  ["a record", { included: `{"company":${COMPANY},"owner":{"id":"u"}}` }, { company: COMPANY, owner: { id: "u" } }],
  ["two lists", { included: `{"a":[${COMPANY}],"b":[${OWNER},{"id":2}],}` }, { a: [COMPANY], b: [OWNER, { id: 2 }] }],
  [
    "an analysis",
    { included: '{"latestEarningsCallAnalysis":{"a":{"b":1},"c":{"d":1,}}}' },
    { latestEarningsCallAnalysis: '{"a":{"b":1},"c":{"d":1,}}' },
  ],
])(
  "of an answer with a fault in %s of included, one record is its text and the rest is read",
  (_, members, included) => {
    const rest = { data: [{ id: 1 }], meta: { page: 1 }, usage: { used: 1 } };
    expect(parseJson(envelope(members))).toEqual({ ...rest, included });
  },
);

test.each<[place: string, members: Record<string, string>]>([
  ["usage", { usage: '{"used":01}' }],
  ["meta", { meta: '{"page":1,}' }],
  ["both, a record and an embedded one", { usage: '{"a":[1,]}', meta: "{page:1}", data: `[{"id":1},${OWNER}]` }],
])("of an answer with a fault in %s, that is its text and the rest is read", (_, members) => {
  const read = parseJson(envelope({ ...members, included: `{"owners":[{"id":"u"},${OWNER}]}` }));
  const { data = '[{"id":1}]', ...others } = members;
  expect(read).toMatchObject({
    ...others,
    data: data.includes(OWNER) ? [{ id: 1 }, OWNER] : [{ id: 1 }],
    included: { owners: [{ id: "u" }, OWNER] },
  });
});

test("an answer that is cut off anywhere, or goes on after its end, is refused, whatever else is wrong", () => {
  const text = envelope({ included: `{"companies":[${COMPANY}]}`, usage: '{"used":1,}' }).trim();
  for (let end = 1; end < text.length; end += 1) expect(() => parseJson(text.slice(0, end))).toThrow(JsonSyntaxError);
  for (const more of ["}", ",", "{}", "x"]) expect(() => parseJson(text + more)).toThrow(JsonSyntaxError);
  expect(() => parseJson(text.slice(1, -1))).toThrow(JsonSyntaxError);
  for (const wrong of [{ data: OWNER }, { status: "fine" }, { included: "{owners:[]}" }])
    expect(() => parseJson(envelope(wrong))).toThrow(JsonSyntaxError);
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

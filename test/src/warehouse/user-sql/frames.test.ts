// Frames between the program and the process of a user's SQL.
import { describe, expect, test } from "vitest";
import { frameOf, frameReader } from "../../../../src/warehouse/user-sql/frames.ts";

const LIMITS = { bytes: 30_000_000, values: 1_000 };

const through = (bytes: Buffer, pieceBytes: number): readonly unknown[] => {
  const found: unknown[] = [];
  const take = frameReader<unknown>(LIMITS, (message) => found.push(message));
  for (let at = 0; at < bytes.length; at += pieceBytes) take(bytes.subarray(at, at + pieceBytes));
  return found;
};

const VALUES = {
  rows: [
    [1, -0, 0.5, null, true, 9007199254740993n, -(2n ** 100n)],
    [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY],
    ["", "\u0001b1", "\u0001", "ü\u{1f4a9}", '"\\\n\u0000', ["\u0001n1", [2n]], { "\u0001k": 3n, a: "x" }],
  ],
};

test.each([1, 2, 7, 1000])("values arrive exactly, in pieces of %i bytes", (pieceBytes) => {
  const frames = [frameOf(VALUES), frameOf({ kind: "next" }), frameOf(VALUES)];
  const found = through(Buffer.concat(frames), pieceBytes);
  expect(found).toEqual([VALUES, { kind: "next" }, VALUES]);
  expect(Object.is(found[0], found[2])).toBe(false);
});

test("a key of any name is plain data", () => {
  const [found] = through(frameOf(JSON.parse('{"rows":[{"__proto__":{"polluted":1},"n":1}]}')), 9);
  expect(JSON.stringify(found)).toBe('{"rows":[{"__proto__":{"polluted":1},"n":1}]}');
  expect(Reflect.get({}, "polluted")).toBeUndefined();
});

describe("bytes that are no frames end the reading", () => {
  const head = (length: number, marks: number) =>
    Buffer.from([...new Uint8Array(new Uint32Array([length]).buffer), marks]);
  test.each([
    ["a frame beyond the limit", head(2 ** 31, 0)],
    ["text that is no JSON", Buffer.concat([head(3, 0), Buffer.from("}{x")])],
    ["a mark without a number", Buffer.concat([head(7, 1), Buffer.from('"\\u0001'.slice(0, 7))])],
    ["more values than a message has", frameOf({ rows: Array.from({ length: 1_001 }, () => 1) })],
    ["a value that is nested too deep", frameOf(JSON.parse(`${"[".repeat(200)}${"]".repeat(200)}`))],
    ["a bigint of letters", Buffer.concat([head(10, 1), Buffer.from('"\\u0001bx"')])],
  ])("%s", (_name, bytes) => {
    expect(() => through(bytes, 100)).toThrow();
  });
});

test("values of forged frames that are as large as they may be are refused before they are parsed, in little time", () => {
  const million = 1_000_000;
  const frames = [
    `[${"[],".repeat(8 * million)}0]`,
    `${"[".repeat(12 * million)}${"]".repeat(12 * million)}`,
    `{${'"a":{},'.repeat(3 * million)}"b":0}`,
  ];
  for (const text of frames) {
    const frame = Buffer.concat([
      Buffer.from(new Uint32Array([text.length]).buffer),
      Buffer.from([1]),
      Buffer.from(text),
    ]);
    const before = process.cpuUsage();
    expect(() => through(frame, 65_536)).toThrow(RangeError);
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1000).toBeLessThan(1_500);
  }
});

test("a text of quotes and brackets counts as one value", () => {
  const message = { rows: [['"[{,"\\'.repeat(5_000), "\\", '\\"']] };
  expect(through(frameOf(message), 65_536)).toEqual([message]);
});

test("pieces of one byte take no more memory than they hold", () => {
  const message = { rows: [["x".repeat(300_000)]] };
  expect(through(frameOf(message), 1)).toEqual([message]);
});

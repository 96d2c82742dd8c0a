// Rows of a user's statement in answers of limited size: no row is lost, none is too large.
import { expect, test } from "vitest";
import type { OutValue } from "../../../../src/warehouse/duckdb/out-values.ts";
import { batchesOf, TooLarge } from "../../../../src/warehouse/duckdb/row-batches.ts";

/** A result of these chunks of rows. */
const resultOf = (chunks: readonly (readonly (readonly string[])[])[]) => {
  const left = [...chunks];
  return {
    returnType: 3,
    fetchChunk: async () => {
      const rows = left.shift();
      return rows === undefined ? null : { rowCount: rows.length, getRowValues: (index: number) => rows[index] ?? [] };
    },
  };
};
const asIs = (value: unknown): OutValue => String(value);
const answers = async (chunks: Parameters<typeof resultOf>[0], most = 1_000_000, fromDuck = asIs) => {
  const found: number[] = [];
  for await (const rows of batchesOf(resultOf(chunks), most, fromDuck)) found.push(rows.length);
  return found;
};
const wide = (characters: number) => ["x".repeat(characters)];

test("small rows of several chunks are one answer; an empty result is none", async () => {
  expect(await answers([[["a"], ["b"]], [["c"]]])).toEqual([3]);
  expect(await answers([])).toEqual([]);
  expect(await answers([[]])).toEqual([]);
});

test("an answer ends with the row that fills it", async () => {
  expect(await answers([[wide(200_000), wide(200_000), wide(10)]])).toEqual([2, 1]);
  expect(await answers([[wide(300_000)], [wide(300_000)]])).toEqual([1, 1]);
});

test.each<[string, OutValue, number]>([
  ["a character", "x", 33],
  ["a sign of another alphabet", "€", 33],
  ["a quote, which an answer escapes", '"', 33],
  ["a control character, as six", "\u0001", 40],
  ["a list, for each of its values", [[], ["x"]], 32 * 4 + 1],
  ["a struct, for each of its members", { a: 1, b: null }, 32 * 3],
])("counts %s", async (_, value, characters) => {
  const as = () => value;
  // A row has two of its own.
  expect(await answers([[["a"]]], characters + 2, as)).toEqual([1]);
  await expect(answers([[["a"]]], characters + 1, as)).rejects.toThrow(TooLarge);
});

test("a row with too many characters ends it, also one that no text can hold", async () => {
  await expect(answers([[["a"], wide(100)]], 50)).rejects.toThrow(TooLarge);
  const tooLong = () => {
    throw new RangeError("Invalid string length");
  };
  await expect(answers([[["a"]]], 50, tooLong)).rejects.toThrow(TooLarge);
  const other = () => {
    throw new TypeError("no");
  };
  await expect(answers([[["a"]]], 50, other)).rejects.toThrow(TypeError);
});

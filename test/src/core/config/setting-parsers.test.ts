import { expect, test } from "vitest";
import type { z } from "zod";
import {
  flaw,
  isLoopbackHost,
  keyProblem,
  listenText,
  many,
  one,
  PLAN_RATES,
  pairs,
  parseListen,
  rateLimit,
  retentionDays,
  shown,
  timeLimit,
  whole,
  yesNo,
} from "../../../../src/core/config/setting-parsers.ts";

// Setting `rate_limit`.

const meant = (value: string | number) => rateLimit.safeParse(value);

test("a plan's name stands for its requests per minute, in any case; auto and enterprise for what the service grants", () => {
  for (const [name, rate] of Object.entries(PLAN_RATES)) expect(meant(name.toUpperCase()).data).toBe(rate);
  for (const name of ["auto", " Enterprise "]) expect(meant(name)).toMatchObject({ success: true, data: null });
});

test("requests per minute may be a fraction, above zero and up to a million", () => {
  expect([meant("0.5").data, meant(90).data, meant("1000000").data]).toEqual([0.5, 90, 1_000_000]);
  for (const value of ["0", "-1", "1e3", "1000001", "", "ten"]) expect(meant(value).success, value).toBe(false);
});

/** The parsed value, or the messages of a refusal. */
const read = (schema: z.ZodType, value: unknown): unknown => {
  const parsed = schema.safeParse(value);
  return parsed.success ? parsed.data : { refused: parsed.error.issues.map(({ message }) => message) };
};

test("a message repeats a short value, and of a long one, which may be a token, only its length", () => {
  expect(shown("maybe")).toBe('"maybe"');
  expect(shown("x".repeat(40))).toBe(`"${"x".repeat(40)}"`);
  expect(shown("x".repeat(41))).toBe("a value of 41 characters");
  expect(read(yesNo, "s".repeat(60))).toEqual({ refused: ["a value of 60 characters is not yes or no"] });
});

test("one value is read without the spaces around it; a parser may give a reason of its own", () => {
  const even = one("an even number", (text) => {
    const value = whole(text, 0);
    if (value === 13) return flaw("13 brings bad luck");
    return value !== null && value % 2 === 0 ? value : null;
  });
  expect(read(even, " 12 ")).toBe(12);
  expect(read(even, 12)).toBe(12);
  expect(read(even, "11")).toEqual({ refused: ['"11" is not an even number'] });
  expect(read(even, "13")).toEqual({ refused: ["13 brings bad luck"] });
  expect(read(even, ["12"])).toEqual({ refused: ["is a list or map, but one value is expected"] });
});

test("several values are a list or a text with commas; duplicates and empty ones are dropped, every fault is named", () => {
  const lower = many((text) => (text === "no" || text === "never" ? flaw(`not ${text}`) : text.toLowerCase()));
  expect(read(lower, " B, a,,b ,A")).toEqual(["b", "a"]);
  expect(read(lower, ["x, y", 5, true])).toEqual(["x, y", "5", "true"]);
  expect(read(lower, "")).toEqual([]);
  expect(read(lower, "no,a,never")).toEqual({ refused: ["not no", "not never"] });
  expect(read(lower, { a: 1 })).toEqual({ refused: ["is a map, but a list is expected"] });
});

test("pairs are a map or a text with commas; a value may hold the sign between name and value", () => {
  const lengths = pairs((name, value) => (name === "" ? flaw("a name is missing") : value.length));
  expect(read(lengths, "a=xyz, b = p=q ,")).toEqual({ a: 3, b: 3 });
  expect(read(lengths, { " a ": "xy", c: 12345 })).toEqual({ a: 2, c: 5 });
  expect(read(lengths, "a=x,=y")).toEqual({ refused: ["a name is missing"] });
  expect(read(lengths, ["a=x"])).toEqual({ refused: ["is a list, but a map is expected"] });
});

test.each([
  ["12", 1, 20, 12],
  ["1_000", 0, 5000, 1000],
  ["0", 1, 20, null],
  ["21", 1, 20, null],
  ["-3", 0, 20, null],
  ["1.5", 0, 20, null],
  ["1e3", 0, 5000, null],
  ["_1", 0, 20, null],
  ["NaN", 0, 20, null],
  ["0x10", 0, 20, null],
  ["٣", 0, 20, null],
  ["9007199254740993", 0, Number.MAX_SAFE_INTEGER, null],
])("whole number %j from %d to %d is %s", (text, least, most, value) => {
  expect(whole(text, least, most)).toBe(value);
});

test("yes and no have several words, and every one of them is a whole word", () => {
  expect(["1", "True", "yes", "ON"].map((text) => read(yesNo, text))).toEqual([true, true, true, true]);
  expect(["0", "False", "no", "OFF"].map((text) => read(yesNo, text))).toEqual([false, false, false, false]);
  expect(read(yesNo, true)).toBe(true);
  expect(read(yesNo, "yess")).toEqual({ refused: ['"yess" is not yes or no'] });
});

test("keep is no limit, and zero is none: it would remove everything", () => {
  expect(["keep", "None", "30"].map((text) => read(retentionDays, text))).toEqual([null, null, 30]);
  expect(read(retentionDays, "0")).toMatchObject({ refused: [expect.stringContaining("a whole number of days")] });
  expect(read(retentionDays, "36501")).toMatchObject({ refused: [expect.any(String)] });
  expect(["none", "OFF", "15m"].map((text) => read(timeLimit, text))).toEqual([null, null, 900_000]);
  expect(read(timeLimit, "0s")).toMatchObject({ refused: [expect.stringContaining("a duration like")] });
});

// Server keys that people choose.

test.each(["7f3c9a1be0d24c58a6b1f09d3e7c2a41", "Correct-Horse-Battery-9"])("%s is taken", (key) => {
  expect(keyProblem(key)).toBeNull();
});

test.each([
  ["short-1234567", /16 or more/],
  ["with spaces in between them", /no spaces/],
  ["aaaaaaaaaaaaaaaaaaaaaaaa", /easy to guess/],
  ["abababababababababababab", /easy to guess/],
])("%s is refused, without naming it", (key, problem) => {
  expect(keyProblem(key)).toMatch(problem);
  expect(keyProblem(key)).not.toContain(key);
});

test.each([
  ["8737", "127.0.0.1:8737"],
  [" LOCALHOST:0 ", "localhost:0"],
  ["0.0.0.0:80", "0.0.0.0:80"],
  ["[::1]:80", "[::1]:80"],
  ["65535", "127.0.0.1:65535"],
])("%s listens at %s", (text, address) => {
  const parsed = parseListen(text);
  expect(parsed === null ? null : listenText(parsed)).toBe(address);
});

test.each(["65536", "", ":80", "::1:80", "host", "host:", "a b:80", "host:123456"])("%j is no address", (text) => {
  expect(parseListen(text)).toBeNull();
});

test.each([
  ["localhost", true],
  ["api.localhost", true],
  ["[::1]", true],
  ["::1", true],
  ["127.9.8.7", true],
  ["0.0.0.0", false],
  ["127.0.0.1.example", false],
  ["localhost.example", false],
])("%s is this machine alone: %s", (host, alone) => {
  expect(isLoopbackHost(host)).toBe(alone);
});

// Lossless JSON: the same as the native parser wherever that one is exact, exact where it is not. Shows P12.
import fc from "fast-check";
import { expect, test } from "vitest";
import { JsonSyntaxError, MAX_DEPTH, parseJson } from "../../../src/api/lossless-json.ts";
import { ExactNumber, exactJson, type JsonValue } from "../../../src/core/json.ts";

test("any JSON value that a double can hold comes back as the native parser gives it", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
      const text = JSON.stringify(value);
      expect(JSON.parse(exactJson(parseJson(text)))).toEqual(JSON.parse(text));
    }),
    { numRuns: 500 },
  );
});

const tree = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.oneof(fc.string({ unit: "binary" }), fc.boolean(), fc.constant(null), fc.maxSafeInteger()),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((n) => (n === 0 ? 0 : n)),
    fc.bigInt({ min: 2n ** 53n, max: 2n ** 80n }),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(fc.oneof(fc.string(), fc.constantFrom("__proto__", "constructor", "toString")), tie("value"), {
      maxKeys: 4,
      noNullPrototype: true,
    }),
  ),
})).value;

test("any value with integers of any size survives writing and reading", () => {
  fc.assert(
    fc.property(tree, (value) => {
      expect(exactJson(parseJson(exactJson(value)))).toBe(exactJson(value));
    }),
    { numRuns: 500 },
  );
});

test("whatever the text, it is parsed or refused by a JsonSyntaxError", () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.json().map((text) => text.slice(1)),
        fc.stringMatching(/^[[\]{}",:0-9eE+\-.\\ ]*$/),
      ),
      (text) => {
        const attempt = () => {
          try {
            parseJson(text);
          } catch (error) {
            if (!(error instanceof JsonSyntaxError)) throw error;
          }
        };
        expect(attempt).not.toThrow();
      },
    ),
    { numRuns: 1_000 },
  );
});

test("integers are bigint from 2^53 on, in both signs, at every depth", () => {
  expect(parseJson("[9007199254740991,9007199254740992,9007199254740993,-9007199254740993]")).toEqual([
    9007199254740991,
    9007199254740992n,
    9007199254740993n,
    -9007199254740993n,
  ]);
  expect(parseJson(`{"a":[{"b":${"9".repeat(400)}}]}`)).toEqual({ a: [{ b: BigInt("9".repeat(400)) }] });
});

test("digits within a text, a quote after backslashes, and decimals that a double holds are read as they are", () => {
  const text = '{"a":"1234567890123456789","b\\\\":0.12345678901234568,"c":"\\"12345678901234567\\""}';
  expect(parseJson(text)).toEqual(JSON.parse(text));
  expect(parseJson('{"a":"\\\\","b":12345678901234567890}')).toEqual({ a: "\\", b: 12345678901234567890n });
});

test("a number beyond the range of a double keeps its text", () => {
  expect(parseJson('{"a":1e999,"b":-1E+400,"c":1e300,"d":1e-999}')).toEqual({
    a: "1e999",
    b: "-1E+400",
    c: 1e300,
    d: new ExactNumber("1e-999"),
  });
});

test("a fraction or an exponent that no double holds keeps its digits; one that a double holds is a number", () => {
  const texts = [
    "0.1234567890123456789",
    "-3.14159265358979323846",
    "9007199254740993.5",
    "1234567890123456789e3",
    "1e-400",
  ];
  for (const text of texts) expect(exactJson(parseJson(`[${text}]`))).toBe(`[${text}]`);
  expect(parseJson("[0.1, 86.80, 1e5, 2.50e2, 0.30000000000000004, 53.68421052631579, 1.0000000000000000000]")).toEqual(
    [0.1, 86.8, 100000, 250, 0.30000000000000004, 53.68421052631579, 1],
  );
});

test("every number of up to 30 digits comes back with its value", () => {
  const digits = (most: number) => fc.stringMatching(new RegExp(`^[0-9]{1,${most}}$`));
  const literal = fc
    .tuple(
      fc.boolean(),
      digits(20),
      fc.option(digits(25), { nil: null }),
      fc.option(fc.integer({ min: -40, max: 40 }), { nil: null }),
    )
    .map(([minus, whole, fraction, power]) =>
      [
        minus ? "-" : "",
        String(BigInt(whole)),
        fraction === null ? "" : `.${fraction}`,
        power === null ? "" : `e${power}`,
      ].join(""),
    );
  /** The number as a whole number of 10^-90. */
  const scaled = (text: string) => {
    const [, minus, whole = "", fraction = "", power = "0"] =
      /^(-?)(\d+)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
    return (minus === "-" ? -1n : 1n) * BigInt(whole + fraction) * 10n ** BigInt(90 + Number(power) - fraction.length);
  };
  fc.assert(
    fc.property(literal, (text) => {
      expect(scaled(exactJson(parseJson(`[${text}]`)).slice(1, -1))).toBe(scaled(text));
    }),
    { numRuns: 2_000 },
  );
});

test("names of the prototype are ordinary names, by either parser", () => {
  for (const value of ["1", "12345678901234567890"]) {
    const parsed = parseJson(`{"__proto__":{"polluted":${value}},"constructor":2}`);
    expect(Object.keys(parsed ?? {})).toEqual(["__proto__", "constructor"]);
    expect(exactJson(parsed)).toBe(`{"__proto__":{"polluted":${value}},"constructor":2}`);
  }
  expect("polluted" in {}).toBe(false);
});

test("a byte order mark is skipped; an empty text is named as such", () => {
  expect(parseJson('\uFEFF{"a":1}')).toEqual({ a: 1 });
  expect(() => parseJson("\uFEFF \n")).toThrow(/empty/);
});

test("nesting beyond the limit stays text, and never ends in a stack overflow", () => {
  const nested = (depth: number, core = "1") => "[".repeat(depth) + core + "]".repeat(depth);
  expect(parseJson(nested(MAX_DEPTH))).toBeInstanceOf(Array);
  expect(parseJson(nested(MAX_DEPTH, "12345678901234567890"))).toBeInstanceOf(Array);
  expect(exactJson(parseJson(nested(MAX_DEPTH + 2)))).toBe(nested(MAX_DEPTH, '"[[1]]"'));
  expect(exactJson(parseJson(nested(1_000_000))).length).toBe(2_000_003);
  for (const text of ["[".repeat(2_000_000), '{"a":'.repeat(500_000), `${nested(MAX_DEPTH + 1)}]`]) {
    expect(() => parseJson(text)).toThrow(/levels deep/);
  }
});

test("of a name that stands twice the last one counts, by either parser", () => {
  expect(parseJson('{"a":1,"a":2}')).toEqual({ a: 2 });
  expect(parseJson('{"a":12345678901234567890,"a":2}')).toEqual({ a: 2 });
});

test("NaN and Infinity, which some writers put into JSON, keep their text; in strings and in broken JSON nothing changes", () => {
  const text = '{"a":NaN,"b":[-Infinity,Infinity],"c":"NaN \\" Infinity","d":12345678901234567890}';
  expect(parseJson(text)).toEqual({
    a: "NaN",
    b: ["-Infinity", "Infinity"],
    c: 'NaN " Infinity',
    d: 12_345_678_901_234_567_890n,
  });
  for (const broken of ['{"a":NaN', "[NaNs]", "[1,]", '{NaN:1}{"a":"'])
    expect(() => parseJson(broken)).toThrow(JsonSyntaxError);
  expect(() => parseJson("[nil, NaN]")).toThrow(/nil, NaN/);
});

// The quick way through the usual forms of a time says what the thorough way says. Other forms: normalize-record.test.ts.
import fc from "fast-check";
import { expect, test } from "vitest";
import { filterDate, isoTime, parseTime } from "../../../src/core/time.ts";

const aTime = fc
  .record({ at: fc.date({ noInvalidDate: true }), withMs: fc.boolean() })
  .map(({ at, withMs }) => (withMs ? at.toISOString() : `${at.toISOString().slice(0, 19)}Z`));

/** The same instant in a form that only the thorough way reads. */
const elsewise = (text: string) => text.replace(/Z$/, "+00:00");

test("a time in its usual form is the instant that the same time with an offset is", () => {
  fc.assert(
    fc.property(aTime, (text) => {
      expect(parseTime(text)).toEqual(parseTime(elsewise(text)));
    }),
    {
      numRuns: 2_000,
      examples: [["2024-02-29T00:00:00Z"], ["2023-02-28T23:59:59.999Z"], ["1900-02-28T00:00:00.000Z"]],
    },
  );
});

test("a usual form with one character changed is read, or refused, as the thorough way does", () => {
  fc.assert(
    fc.property(
      aTime,
      fc.nat({ max: 22 }),
      fc.constantFrom(..."0123456789-:.TtZz +x\u0660"),
      (text, position, char) => {
        const changed = `${text.slice(0, position)}${char}${text.slice(position + 1)}`;
        fc.pre(changed.endsWith("Z"));
        expect(parseTime(changed)).toEqual(parseTime(elsewise(changed)));
      },
    ),
    { numRuns: 5_000 },
  );
});

test("the basic form is the same instant as the extended one; eight digits alone are no time", () => {
  const pairs = [
    ["20260304T050607Z", "2026-03-04T05:06:07Z"],
    ["20260304T0506", "2026-03-04T05:06"],
    ["20260304t050607.123456+0530", "2026-03-04T05:06:07.123456+05:30"],
    ["20260304T050607,5-08", "2026-03-04T05:06:07.5-08"],
  ] as const;
  for (const [basic, extended] of pairs) {
    expect(parseTime(basic)).not.toBeNull();
    expect(parseTime(basic)).toEqual(parseTime(extended));
  }
  for (const other of ["20260304", "20260230T050607Z", "20260304T2506Z", "20260304050607"])
    expect(parseTime(other)).toBeNull();
});

test("a filter gets a date alone where the time is midnight, else the whole time", () => {
  expect(filterDate(Date.UTC(2026, 0, 31))).toBe("2026-01-31");
  expect(filterDate(Date.UTC(2026, 0, 31, 12))).toBe("2026-01-31T12:00:00.000Z");
  expect(filterDate(Date.UTC(1969, 11, 31))).toBe("1969-12-31");
});

test("a time that no date holds is written as the nearest one", () => {
  expect([1e300, -1e300, Number.POSITIVE_INFINITY, Number.NaN].map(isoTime)).toEqual([
    "+275760-09-13T00:00:00.000Z",
    "-271821-04-20T00:00:00.000Z",
    "+275760-09-13T00:00:00.000Z",
    "1970-01-01T00:00:00.000Z",
  ]);
});

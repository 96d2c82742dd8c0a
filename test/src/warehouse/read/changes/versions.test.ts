// A record of the change feed as its reader gets it: every digit, and times as text.
import { expect, test } from "vitest";
import { ExactNumber } from "../../../../../src/core/json.ts";
import { recordOf } from "../../../../../src/warehouse/read/changes/versions.ts";

test("times become ISO text with their microseconds; all else stays", () => {
  expect(recordOf("signals", '{"id":1,"date":1700000000000123,"headline":"1700000000000123","_extra":null}')).toEqual({
    id: 1,
    date: "2023-11-14T22:13:20.000123Z",
    headline: "1700000000000123",
    _extra: null,
  });
  expect(recordOf("signals", '{"id":1,"date":null}')).toEqual({ id: 1, date: null });
});

test("numbers that a double cannot hold keep their digits", () => {
  expect(recordOf("signals", '{"id":9007199254740993}')).toEqual({ id: 9007199254740993n });
  expect(recordOf("signals", '{"id":9007199254740991}')).toEqual({ id: 9007199254740991 });
  expect(recordOf("signals", '{"id":1,"_extra":"{\\"x\\":0.12345678901234567}"}')).toEqual({
    id: 1,
    _extra: { x: new ExactNumber("0.12345678901234567") },
  });
});

test("what is no object is no record", () => {
  expect(() => recordOf("signals", "[]")).toThrow(TypeError);
});

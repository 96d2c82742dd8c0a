import * as client from "@duckdb/node-api";
import { expect, test } from "vitest";
import { readerOf } from "../../../../src/warehouse/duckdb/out-values.ts";

const { fromDuck, isoOfMicros } = readerOf(client);
const at = (text: string, micros = 0) => BigInt(Date.parse(text)) * 1000n + BigInt(micros);
const time = (micros: bigint) => new client.DuckDBTimestampTZValue(micros);

test("a BIGINT is a number while that is exact, also at both ends, else a bigint", () => {
  const last = BigInt(Number.MAX_SAFE_INTEGER);
  expect([last, -last, last + 1n, -last - 1n].map((value) => fromDuck(value, "ms"))).toEqual([
    Number.MAX_SAFE_INTEGER,
    Number.MIN_SAFE_INTEGER,
    9007199254740992n,
    -9007199254740992n,
  ]);
});

test("a time is ms with the microseconds as fraction, or ISO text with three digits, six where they are needed", () => {
  const micros = at("2026-01-31T12:00:00.123Z", 456);
  expect(fromDuck(time(micros), "ms")).toBe(Date.UTC(2026, 0, 31, 12, 0, 0, 123) + 0.456);
  expect(fromDuck(time(micros), "iso")).toBe("2026-01-31T12:00:00.123456Z");
  expect(fromDuck(new client.DuckDBTimestampValue(micros - 456n), "iso")).toBe("2026-01-31T12:00:00.123Z");
  expect(isoOfMicros(at("2026-01-31T12:00:00.123Z", 6))).toBe("2026-01-31T12:00:00.123006Z");
});

test("before 1970 the microseconds count forward from the millisecond before", () => {
  expect(isoOfMicros(-1n)).toBe("1969-12-31T23:59:59.999999Z");
  expect(isoOfMicros(-1000n)).toBe("1969-12-31T23:59:59.999Z");
  expect(isoOfMicros(-1001n)).toBe("1969-12-31T23:59:59.998999Z");
});

test("infinite times, and those beyond JavaScript's dates, are text", () => {
  expect(fromDuck(client.DuckDBTimestampTZValue.PosInf, "ms")).toBe("infinity");
  expect(fromDuck(client.DuckDBTimestampTZValue.NegInf, "iso")).toBe("-infinity");
  expect(fromDuck(client.DuckDBDateValue.PosInf, "iso")).toBe("infinity");
  expect(fromDuck(client.DuckDBDateValue.NegInf, "ms")).toBe("-infinity");
  expect(fromDuck(new client.DuckDBDateValue(20_000), "ms")).toBe("2024-10-04");
  const last = 8_640_000_000_000_000_000n;
  expect(isoOfMicros(last)).toBe("+275760-09-13T00:00:00.000Z");
  expect(isoOfMicros(last + 1000n)).toBe(String(time(last + 1000n)));
});

test("lists, arrays, structs, maps and unions are plain values all the way down", () => {
  const inner = client.structValue({ at: time(at("2026-01-31T00:00:00Z")), big: 2n ** 60n });
  expect(fromDuck(client.listValue([inner, null]), "iso")).toEqual([
    { at: "2026-01-31T00:00:00.000Z", big: 2n ** 60n },
    null,
  ]);
  expect(fromDuck(client.arrayValue([1n, 2n]), "ms")).toEqual([1, 2]);
  expect(fromDuck(client.mapValue([{ key: 1, value: client.listValue(["a"]) }]), "ms")).toEqual({ 1: ["a"] });
  expect(fromDuck(client.unionValue("number", 7n), "ms")).toBe(7);
});

test("everything else is DuckDB's own text", () => {
  expect(fromDuck(new client.DuckDBDateValue(0), "iso")).toBe("1970-01-01");
  expect(fromDuck(new client.DuckDBIntervalValue(1, 2, 0n), "ms")).toBe("1 month 2 days");
});

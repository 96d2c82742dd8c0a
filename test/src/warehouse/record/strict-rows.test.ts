// Misfits: records that a strict table does not take, and the reason, in words without a value.
import { describe, expect, test } from "vitest";
import { forgottenRecord } from "../../../../src/core/forgotten.ts";
import type { JsonObject } from "../../../../src/core/json.ts";
import {
  createNormalizer,
  EVOLVING,
  frozenMisfit,
  misfitOf,
  tableStrictness,
} from "../../../../src/warehouse/record/normalize-record.ts";
import { aLoad, aSignal } from "../checkpoints.ts";

const misfit = (more: JsonObject) => {
  const load = aLoad("signals", []);
  const row = createNormalizer("signals", load)(aSignal(1, more));
  return row.kind === "reject" ? row.reason : misfitOf(row);
};

describe("a record", () => {
  test("fits with every value that its columns hold, also a new value of an enumeration or a finer time", () => {
    expect(misfit({})).toBeNull();
    expect(misfit({ type: "brand-new" })).toBeNull();
    expect(misfit({ date: "2025-01-01T00:00:00.1234567Z" })).toBeNull();
  });

  test("does not fit with a field without a column, or a value that its column cannot hold", () => {
    expect(misfit({ surprise: "secret value" })).toBe("no column holds surprise");
    expect(misfit({ date: "some day" })).toBe("no column holds date");
  });

  test("names five fields at most", () => {
    const many = Object.fromEntries(["a", "b", "c", "d", "e", "f", "g"].map((name) => [`new_${name}`, 1]));
    expect(misfit(many)).toBe("no column holds new_a, new_b, new_c, new_d, new_e and 2 more");
  });
});

describe("a frozen table", () => {
  const frozen = tableStrictness({ signals: "freeze" });
  const found = (records: readonly JsonObject[], strictness = frozen) =>
    frozenMisfit([aLoad("signals", [aSignal(1), ...records])], strictness);

  test("takes no response with a misfit, or a record without its key", () => {
    expect(found([])).toBeNull();
    expect(found([aSignal(2, { surprise: 1 })])).toEqual({ table: "signals", detail: "no column holds surprise" });
    expect(found([aSignal(null)])).toMatchObject({ table: "signals" });
  });

  test("takes the place of an erased contact", () => {
    expect(
      frozenMisfit([aLoad("contacts", [forgottenRecord("h")])], tableStrictness({ contacts: "freeze" })),
    ).toBeNull();
  });

  test("says nothing about other tables", () => {
    expect(found([aSignal(2, { surprise: 1 })], EVOLVING)).toBeNull();
    expect(found([aSignal(2, { surprise: 1 })], tableStrictness({ signals: "reject" } as const))).toBeNull();
  });
});

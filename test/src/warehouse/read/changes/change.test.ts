// Tables of the change feed, by the names that a reader gives.
import { expect, test } from "vitest";
import { TABLE_NAMES } from "../../../../../src/catalog/tables.ts";
import { changeTables } from "../../../../../src/warehouse/read/changes/change.ts";

test("no name means every table, and names mean those", () => {
  expect(changeTables([])).toEqual(TABLE_NAMES);
  expect(changeTables(["signals", "accounts"])).toEqual(["signals", "accounts"]);
});

test("a table that is not mirrored is refused, with those that are", () => {
  const refused = expect.objectContaining({
    code: "USAGE",
    message: expect.stringMatching(/no mirrored table nothing; .*accounts/),
  });
  expect(() => changeTables(["signals", "nothing"])).toThrow(refused);
});

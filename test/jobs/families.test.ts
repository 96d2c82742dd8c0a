// Which streams belong to which family.
import { expect, test } from "vitest";
import { FAMILIES, familiesOf } from "../../jobs/families.ts";
import { STREAM_NAMES } from "../../src/catalog/streams.ts";

test("every stream belongs to exactly one family", () => {
  expect(FAMILIES.flatMap(({ streams }) => streams).sort()).toEqual([...STREAM_NAMES].sort());
  expect(familiesOf(["signal_counts", "usage"]).map(({ family }) => family)).toEqual(["signals", "usage"]);
});

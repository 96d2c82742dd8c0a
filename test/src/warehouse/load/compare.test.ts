// Records beside the mirror, field by field: what differs, what is missing, and what is no difference.
import { expect, test } from "vitest";
import { compareLoad, countByValue, mirroredBeside, sampleIds } from "../../../../src/warehouse/load/compare.ts";
import { EVOLVING } from "../../../../src/warehouse/record/normalize-record.ts";
import { aCheckpoint, aLoad, aSignal, aWarehouse } from "../builders.ts";

test("fields that differ are named with both values; absent records by their ids; nothing is changed", async () => {
  const { database, commit } = await aWarehouse();
  await commit(aCheckpoint([aLoad("signals", [aSignal(1, { headline: "old" }), aSignal(2), aSignal(30)])]));
  const asked = [aSignal(1, { headline: "new", surprise: 1 }), aSignal(2), aSignal(3)];
  const { ids, fields, absent } = await compareLoad(database, aLoad("signals", asked), EVOLVING);
  expect([ids, absent]).toEqual([["1", "2", "3"], ["3"]]);
  expect(fields).toEqual([
    { id: "1", field: "_extra", mirror: null, api: '{"surprise":1}' },
    { id: "1", field: "headline", mirror: "old", api: "new" },
  ]);
  expect(await sampleIds(database, "signals", 1, 9)).toHaveLength(3);
});

test("ids beside the given ones, within numbers; samples that a seed repeats; counts by value", async () => {
  const { database, commit } = await aWarehouse();
  const types = ["a", "b", "b", "c"];
  await commit(
    aCheckpoint([
      aLoad(
        "signals",
        types.map((type, index) => aSignal(index + 1, { type })),
      ),
    ]),
  );
  expect(await mirroredBeside(database, "signals", ["2"])).toEqual(["1", "3", "4"]);
  expect(await mirroredBeside(database, "signals", ["2"], { between: [2n, 3n] })).toEqual(["3"]);
  expect(await mirroredBeside(database, "signals", [], { between: [null, 1n] })).toEqual(["1"]);
  const drawn = await sampleIds(database, "signals", 7, 2);
  expect(await sampleIds(database, "signals", 7, 2)).toEqual(drawn);
  expect(drawn).toHaveLength(2);
  expect(Object.fromEntries(await countByValue(database, "signals", "type"))).toEqual({ a: 1, b: 2, c: 1 });
});

import { expect, test } from "vitest";
import { type TableName, tableSpec } from "../../../../src/catalog/tables.ts";
import { forgottenRecord } from "../../../../src/core/forgotten.ts";
import { collectBatch } from "../../../../src/warehouse/load/collect-batch.ts";
import type { TableLoad } from "../../../../src/warehouse/record/checkpoint.ts";
import { aLoad, aSignal } from "../checkpoints.ts";

const collected = (table: TableName, loads: readonly TableLoad[], strictness?: "evolve" | "reject") =>
  collectBatch(
    table,
    loads.map((load, index) => ({ load, index })),
    strictness,
  );
const cellOf = (table: TableName, cells: readonly unknown[] | undefined, field: string) =>
  cells?.[tableSpec(table).fields.findIndex(({ name }) => name === field)];

test("a part of a record over the whole one is still a whole one, in either order", () => {
  const whole = aLoad("signals", [aSignal(1)]);
  const part = aLoad("signals", [{ id: 1, headline: "new" }], { asked: new Set() });
  const isFull = (...loads: TableLoad[]) => collected("signals", loads).rows.map(({ row }) => row.full);
  expect([isFull(whole, part), isFull(part, whole), isFull(part)]).toEqual([[true], [true], [false]]);
});

test("two different records with one key in one answer: neither is newer, so the one that loses is kept as a reject", () => {
  const load = aLoad("signals", [aSignal(1, { headline: "a" }), aSignal(2), aSignal(1, { headline: "b" })]);
  const { rows, rejects } = collected("signals", [load]);
  expect(rows).toHaveLength(2);
  expect(rejects).toMatchObject([
    { position: 0, seen: false, reject: { reason: "another record of the same answer has this key" } },
  ]);
  expect(rejects[0]?.reject.record).toContain('"headline":"a"');
  // The same record twice loses nothing.
  expect(collected("signals", [aLoad("signals", [aSignal(1), aSignal(1)])]).rejects).toEqual([]);
});

test("a record that only comes along never replaces one of the row's own list, whichever came first", () => {
  const own = aLoad("signals", [aSignal(1, { headline: "own" })]);
  const along = aLoad("signals", [aSignal(1, { headline: "along" })], { knownOnly: true });
  for (const loads of [
    [own, along],
    [along, own],
  ]) {
    const { rows } = collected("signals", loads);
    expect(rows.map(({ row }) => cellOf("signals", row.cells, "headline"))).toEqual(["own"]);
  }
  const alone = collected("signals", [along]);
  expect([alone.rows.length, [...alone.knownOnly]]).toEqual([1, [0]]);
});

test("a walk has seen each of its keys once, with the company where the key has one; rejects without a key are not seen", () => {
  const filings = aLoad("filings", [{ id: 1 }, { id: 2 }, { id: 1 }, { headline: "no id" }], {
    fromPath: { companyId: "c_1" },
    walkId: "w",
  });
  const { seen, rejects } = collected("filings", [filings]);
  expect(seen).toEqual([
    { walkId: "w", companyId: "c_1", id: "1" },
    { walkId: "w", companyId: "c_1", id: "2" },
  ]);
  expect(rejects.map(({ position, seen: isSeen }) => [position, isSeen])).toEqual([[3, false]]);
  const [signal] = collected("signals", [aLoad("signals", [aSignal(1)], { walkId: "w" })]).seen;
  expect(signal).toEqual({ walkId: "w", companyId: "", id: "1" });
});

test("a strict table refuses a record with an unknown field, but its walk has seen the key, so the stored row stays", () => {
  const load = aLoad("signals", [aSignal(1, { surprise: 1 }), aSignal(2)], { walkId: "w" });
  const strict = collected("signals", [load], "reject");
  expect(strict.rows).toHaveLength(1);
  expect(strict.rejects).toMatchObject([{ seen: true, reject: { reason: "no column holds surprise" } }]);
  expect(strict.seen.map(({ id }) => id)).toEqual(["1", "2"]);
  const evolving = collected("signals", [load]);
  expect([evolving.rows.length, evolving.rejects]).toEqual([2, []]);
  expect(evolving.rows[0]?.row.extra.get("surprise")).toBe("1");
});

test("an unknown field is noted once with how often it occurred, and a column of free text does not fill the notes", () => {
  const unknown = collected("signals", [
    aLoad(
      "signals",
      [1, 2, 3].map((id) => aSignal(id, { surprise: id })),
    ),
  ]);
  expect(unknown.drift).toMatchObject([{ kind: "unknown_field", field: "surprise", occurrences: 3 }]);
  const many = Array.from({ length: 250 }, (_, id) => aSignal(id, { [`surprise_${id}`]: id }));
  expect(collected("signals", [aLoad("signals", many)]).drift).toHaveLength(200);
});

test("a placeholder of an erased contact is neither a row nor a reject nor a key that was seen", () => {
  const load = aLoad("contacts", [forgottenRecord("abc"), { id: "c" }], { walkId: "w" });
  const { rows, rejects, seen } = collected("contacts", [load]);
  expect([rows.length, rejects, seen.map(({ id }) => id)]).toEqual([1, [], ["c"]]);
});

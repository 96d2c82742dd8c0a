// Seeded randomness: the same on every machine, within its bounds.
import { expect, test } from "vitest";
import { createRandom, hash } from "../../../src/sandbox/random.ts";

test("a seed gives the same sequence from one version to the next, another seed another one", () => {
  const { next } = createRandom("7/contacts/12");
  const first = [next(), next(), next()].map((value) => value.toFixed(6));
  expect(first).toEqual(["0.355976", "0.907203", "0.322056"]);
  expect(createRandom("7/contacts/13").next().toFixed(6)).not.toBe(first[0]);
  expect(hash("acme.com")).toBe(1_961_245_322);
});

test("whole numbers reach both ends and no further", () => {
  const { int } = createRandom("ends");
  expect([...new Set(Array.from({ length: 200 }, () => int(3, 5)))].sort()).toEqual([3, 4, 5]);
});

test("a chance of nothing never comes true, one of everything always", () => {
  const { chance, maybe } = createRandom("chance");
  const draws = Array.from({ length: 100 }, () => [chance(0), chance(1), maybe(0, "x"), maybe(1, "x")]);
  expect(new Set(draws.map(String))).toEqual(new Set(["false,true,,x"]));
  const often = Array.from({ length: 1000 }, () => chance(0.25)).filter(Boolean).length;
  expect(often).toBeGreaterThan(200);
  expect(often).toBeLessThan(300);
});

test("a sample holds no element twice, and all of them where more are asked for", () => {
  const list = ["a", "b", "c", "d", "e"];
  for (let nth = 0; nth < 50; nth++) {
    const { sample } = createRandom(`sample ${nth}`);
    expect(new Set(sample(list, 3)).size).toBe(3);
    expect(sample(list, 9).toSorted()).toEqual(list);
  }
  expect(new Set(Array.from({ length: 50 }, (_, nth) => createRandom(`${nth}`).sample(list, 1)[0])).size).toBe(5);
});

test("an id has its length in letters and digits; nothing is picked from nothing", () => {
  expect(createRandom("id").id(24)).toMatch(/^[a-zA-Z0-9]{24}$/);
  expect(() => createRandom("none").pick([])).toThrow(RangeError);
});

// Sentences from templates.
import { expect, test } from "vitest";
import { fill, paragraphs, sentences } from "../../../../src/sandbox/content/speech.ts";
import { createRandom } from "../../../../src/sandbox/random.ts";

const random = () => createRandom("prose");

test("a slot gets its value, and one of several values is picked at each use", () => {
  expect(fill("{company} and {company}.", { company: "Acme" }, random())).toBe("Acme and Acme.");
  const picked = fill("{who}".repeat(40), { who: ["a", "b"] }, random());
  expect(picked).toMatch(/^[ab]{40}$/);
  expect(new Set(picked).size).toBe(2);
});

test("figures are drawn anew each time, and a slot without a value is a fault", () => {
  expect(fill("{percent} of {millions}", {}, random())).toMatch(/^\d+% of \$\d+ million$/);
  expect(() => fill("{nobody}", {}, random())).toThrow("{nobody}");
});

test("no sentence comes twice before all have come once", () => {
  const bank = ["a", "b", "c", "d"];
  const found = sentences(bank, 6, {}, random());
  expect(found).toHaveLength(6);
  expect(new Set(found.slice(0, 4)).size).toBe(4);
});

test("paragraphs have three to six sentences, and about as many words as are asked for", () => {
  const bank = Array.from({ length: 9 }, () => "Some words that make a sentence of ten words here.");
  const found = paragraphs(bank, 200, {}, random());
  const counts = found.map((paragraph) => paragraph.split(".").length - 1);
  expect(Math.min(...counts)).toBeGreaterThanOrEqual(3);
  expect(Math.max(...counts)).toBeLessThanOrEqual(6);
  const words = found.join(" ").split(" ").length;
  expect(words).toBeGreaterThan(180);
  expect(words).toBeLessThan(300);
});

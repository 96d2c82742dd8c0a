// Names of generated people.
import { describe, expect, test } from "vitest";
import { personNames } from "../../../../src/sandbox/content/person-names.ts";

describe("names", () => {
  test.each([
    ["en", ["Arden Kessler", "Mitchell Lind-Kuvalis", "Antonietta Kutch"]],
    ["cs", ["Arsen Smolka", "Řehořka Bílek", "Fabián Vaculíková"]],
    ["es", ["Mónica Quintana Zamudio", "Jordi Cortéz Madrid", "Rafael Aranda Delapaz"]],
    ["ja", ["久子 白石", "結愛 長田", "未来 田口"]],
  ] as const)("a seed gives the same names of %s in every version", (locale, expected) => {
    expect(personNames(locale, 7, 3).map(({ first, last }) => `${first} ${last}`)).toEqual(expected);
  });

  test("a longer list begins like a shorter one, and another seed gives other names", () => {
    const ten = personNames("de", 1, 10);
    expect(personNames("de", 1, 1000).slice(0, 10)).toEqual(ten);
    expect(personNames("de", 2, 10)).not.toEqual(ten);
  });
});

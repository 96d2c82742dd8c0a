import { expect, test } from "vitest";
import { closest, didYouMean } from "../../../../src/core/text/did-you-mean.ts";

const known = ["accounts", "contacts", "signals", "news_articles", "signal_counts"];

test.each([
  ["a letter left out", "acounts", "accounts"],
  ["a letter too many", "signnals", "signals"],
  ["another letter", "cantacts", "contacts"],
  ["two neighbours swapped, which counts as one edit", "conatcts", "contacts"],
  ["a hyphen for an underscore, and capitals", "News-Articles", "news_articles"],
])("%s finds the name", (_, typed, name) => {
  expect(closest(typed, known)).toBe(name);
});

test("no name is suggested where more than a third of the letters is wrong, and one edit is always near enough", () => {
  expect(closest("filings", known)).toBeNull();
  expect(closest("sixxxls", known)).toBeNull();
  expect(closest("ab", ["ac"])).toBe("ac");
  expect(closest("ab", ["cd"])).toBeNull();
  expect(closest("anything", [])).toBeNull();
});

test("of several near names the nearest is suggested, and of equally near ones the first", () => {
  expect(closest("signal", ["signals", "signal_counts"])).toBe("signals");
  expect(closest("cat", ["bat", "hat"])).toBe("bat");
});

test("the suggestion ends a sentence, or adds nothing", () => {
  expect(`There is no stream acounts.${didYouMean("acounts", known)}`).toBe(
    "There is no stream acounts. Did you mean accounts?",
  );
  expect(didYouMean("filings", known)).toBe("");
});

// Whose form it is that a list was returned in after refusals.
import { expect, test } from "vitest";
import { initialShape } from "../../../../../src/sync/list/form.ts";
import { Forms, isOneOfMany } from "../../../../../src/sync/run/state/forms.ts";
import type { OpenList } from "../../../../../src/sync/run/state/open-list.ts";
import { aList } from "../a-list.ts";

type Kind = "list" | "record";
const listOf = (stream: "signals" | "filings", kind: Kind = "list") =>
  aList({ stream, scope: stream === "filings" ? "c_1" : "", mode: kind === "list" ? "walk" : "detail" });
const lists = (count: number): readonly OpenList[] => Array.from({ length: count }, () => listOf("filings"));
const small = initialShape(50);
const noForms = () => new Forms(new Map(), { largestPage: 1000, rowScope: {}, remember: async () => undefined });

test("a list of the organization is the only one of its kind; records and lists of companies are some of many", () => {
  expect(isOneOfMany(listOf("signals"))).toBe(false);
  expect(isOneOfMany(listOf("signals", "record"))).toBe(true);
  expect(isOneOfMany(listOf("filings"))).toBe(true);
});

test("the first form that is returned is the stream's, and later ones are each list's own", () => {
  const forms = noForms();
  const [first, second, third] = [listOf("filings"), listOf("filings"), listOf("filings")];
  forms.try(first, small);
  expect(forms.of(first)).toBe(small);
  expect(forms.returned(first, small)).toBe("stream");
  expect(forms.hasOwn(first)).toBe(false);
  forms.try(second, small);
  expect(forms.returned(second, small)).toBe("own");
  expect(forms.of(second)).toBe(small);
  expect(forms.returned(third, initialShape(1000))).toBe("stream");
});

test("a record says nothing of the lists of its stream", () => {
  const forms = noForms();
  forms.returned(listOf("signals", "record"), small);
  const list = listOf("signals");
  forms.try(list, small);
  expect(forms.returned(list, small)).toBe("stream");
});

test("other forms are tried for three lists in vain, for one once another was returned; who has begun may go on", () => {
  const forms = noForms();
  for (const list of lists(3)) {
    expect(forms.mayTry(list)).toBe(true);
    forms.try(list, small);
    forms.giveUp(list);
  }
  expect(forms.mayTry(listOf("filings"))).toBe(false);

  const others = noForms();
  const [begun, failed] = [listOf("filings"), listOf("filings")];
  others.returned(listOf("filings"), small);
  others.try(failed, small);
  others.try(begun, small);
  others.giveUp(failed);
  expect([others.mayTry(begun), others.mayTry(listOf("filings"))]).toEqual([true, false]);
});

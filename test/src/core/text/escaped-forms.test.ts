// A text is found in every form in which a writer may have written it, and no other text is.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  ESCAPED_SIGN,
  formsInBytes,
  formsOf,
  isWord,
  longestForm,
  samePartOf,
} from "../../../../src/core/text/escaped-forms.ts";
import { visible, withTexts } from "../../../../src/core/text/shown-text.ts";

// Text from outside must not steer a terminal, wherever it is shown.

const STEERS = /(?![\t\n]|\r\n)\p{Cc}/u;

test("no control character is left but line ends and tabs; other text stays as it is", () => {
  expect(visible("a\u001b]0;owned\u0007b\u009b2J\tü\r\n")).toBe("a\\u001b]0;owned\\u0007b\\u009b2J\tü\r\n");
  expect(visible("safe\rfake\r")).toBe("safe\\u000dfake\\u000d");
  fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => !STEERS.test(visible(text))));
});

test("the texts and names of JSON are changed, and nothing else", () => {
  const hostile = "\u001b[2J";
  expect(withTexts({ [hostile]: [hostile, 1, null, { a: true }] }, visible)).toEqual({
    "\\u001b[2J": ["\\u001b[2J", 1, null, { a: true }],
  });
});

const whole = (text: string) => new RegExp(`^(?:${formsOf(text)})$`, "u");

describe("forms of an id", () => {
  test.each([
    ["ada.lovelace@example.com", "ada.lovelace@example.com"],
    ["ada.lovelace@example.com", "ada.lovelace%40example.com"],
    ["ada.lovelace@example.com", "ada%2Elovelace%2540example.com"],
    ["urn:person:778899", "urn%3Aperson%3a778899"],
    ["urn:person:778899", "urn:person%3A778899"],
    ["c/slash id", "c%2Fslash%20id"],
    ["c/slash id", "c%2fslash+id"],
    ["c/slash id", "c\\/slash id"],
    ["çö?&#", "%C3%A7%C3%B6%3F%26%23"],
    ["çö?&#", "ç%c3%b6%3F&#"],
    ["çö?&#", "\\u00e7\\u00F6?\\u0026#"],
    ['a"b\\c', 'a\\"b\\\\c'],
    ["a+b", "a%2Bb"],
    ["a+b", "a\\u002Bb"],
    ["a😀", "a%F0%9F%98%80"],
    ["a😀", "a\\ud83d\\ude00"],
  ])("%s is also %s", (id, form) => {
    expect(whole(id).test(form)).toBe(true);
  });

  test.each([
    ["ada.lovelace@example.com", "adaXlovelace@example.com"],
    ["urn:person:778899", "urn%3Bperson%3A778899"],
    ["contact-21", "contact21"],
    ["Ada@example", "ada@example"],
    ["a+b", "a b"],
  ])("%s is not %s", (id, other) => {
    expect(whole(id).test(other)).toBe(false);
  });
});

test("the longest part that no writer escapes is searched for first", () => {
  expect(["urn:person:778899", "çö?&#", "id"].map(samePartOf)).toEqual(["person", "", "id"]);
});

/** A text without halves of characters, which no file can hold. */
const aText = fc.string({ unit: "binary", minLength: 1 }).filter((text) => text.isWellFormed());

test("any text is found as written, encoded for a URL, in a form, and in JSON, also as bytes, and none is longer than said", () => {
  fc.assert(
    fc.property(aText, (text) => {
      const inJson = JSON.stringify(text).slice(1, -1);
      const inForm = new URLSearchParams([["", text]]).toString().slice(1);
      for (const form of [text, encodeURIComponent(text), inForm, inJson]) {
        expect(whole(text).test(form)).toBe(true);
        expect(new RegExp(`^(?:${formsInBytes(text)})$`).test(Buffer.from(form).toString("latin1"))).toBe(true);
        expect(form).toContain(samePartOf(text));
        expect(Buffer.byteLength(form)).toBeLessThanOrEqual(longestForm(text));
      }
    }),
  );
});

test.each([
  ["/", true],
  ["%2F", true],
  ["%3d", true],
  ["%252F", true],
  ["\\u0022", true],
  ["\\n", true],
  ["x", false],
  ["é", false],
  ["%41", false],
  ["%5A", false],
  ["2F", false],
])("an id after %s begins a word: %s", (before, isOne) => {
  expect(isWord(`${before}id `, before.length, before.length + 2)).toBe(isOne);
});

test("an id before a letter or a digit is a part of a word", () => {
  expect(["id", "id%40", "ida", "id9", "idé"].map((text) => isWord(text, 0, 2))).toEqual([
    true,
    true,
    false,
    false,
    false,
  ]);
  expect(new RegExp(`^${ESCAPED_SIGN}$`).test("%30")).toBe(false);
});

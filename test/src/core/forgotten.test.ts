// Placeholders for erased contacts, and ids that are taken out of texts: all of them, and nothing that only looks alike.
import { describe, expect, test } from "vitest";
import {
  createIdEraser,
  forgottenHash,
  forgottenId,
  forgottenRecord,
  isForgottenId,
  mapTexts,
} from "../../../src/core/forgotten.ts";

test("a placeholder is known by its form alone; a record with more in it is none", () => {
  expect(forgottenHash(forgottenRecord("h"))).toBe("h");
  expect(forgottenHash({ ...forgottenRecord("h"), name: "x" })).toBeNull();
  for (const value of [null, "h", [], {}, { $forgotten: 7 }]) expect(forgottenHash(value)).toBeNull();
  expect([isForgottenId(forgottenId("h")), isForgottenId("h")]).toEqual([true, false]);
});

test("texts are mapped wherever they are, names of members too; an unchanged value stays the same object", () => {
  const value = { a: ["x", { x: 1 }], b: 2 };
  expect(mapTexts(value, (text) => (text === "x" ? "y" : text))).toEqual({ a: ["y", { y: 1 }], b: 2 });
  expect(mapTexts(value, (text) => text)).toBe(value);
});

const LONG = "contact-21";
const eraser = createIdEraser(
  new Map([
    [LONG, "#1"],
    ["p_7", "#2"],
    ["a+b/c d.", "#3"],
  ]),
);

describe("anywhere", () => {
  test.each([
    [`the id ${LONG}, twice: ${LONG}`, "the id #1, twice: #1"],
    [`${LONG}0 and x${LONG} are others`, `${LONG}0 and x${LONG} are others`],
    // A short id occurs by chance; only a path says that it is a contact's.
    ["p_7 is short", "p_7 is short"],
    ["/v1/contacts/p_7?x=1", "/v1/contacts/#2?x=1"],
    ["/v1/contacts/p_77", "/v1/contacts/p_77"],
    ["/v1/signals/p_7", "/v1/signals/p_7"],
    [`/v1/contacts/${encodeURIComponent("a+b/c d.")}`, "/v1/contacts/#3"],
  ])("%s", (text, clean) => {
    expect(eraser.anywhere(text)).toBe(clean);
  });
});

describe("among texts of contacts", () => {
  test.each([
    ["p_7", "#2"],
    ['{"id":"p_7","of":["p_7","p_8"]}', '{"id":"#2","of":["#2","p_8"]}'],
    ['{"cut off p_7', '{"cut off p_7'],
    [`{"id": "${LONG}"} `, '{"id": "#1"} '],
    // What is not a text stays digit for digit.
    [
      '{"contact":"p_7","accountId":9007199254740993,"at":1e400}',
      '{"contact":"#2","accountId":9007199254740993,"at":1e400}',
    ],
    ['{"q\\"p_7":"p_7","p_7":"[\\"p_7\\"]"}', '{"q\\"p_7":"#2","#2":"[\\"#2\\"]"}'],
    ["plain p_7", "plain p_7"],
  ])("%s", (text, clean) => {
    expect(eraser.among(text)).toBe(clean);
  });
});

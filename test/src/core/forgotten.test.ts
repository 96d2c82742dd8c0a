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
    ["ada@example.com", "#4"],
    ["ç?&", "#5"],
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
    // The service may escape more, less, or in small letters.
    ["GET /v1/contacts/a%2bb%2fc+d%2E", "GET /v1/contacts/#3"],
    ["GET /v1/emails?contactId=ada%40example.com&page=2", "GET /v1/emails?contactId=#4&page=2"],
    ["?next=%2Fv1%2Fcontacts%2Fada%2540example.com", "?next=%2Fv1%2Fcontacts%2F#4"],
    ["Hada%40example.com and ada%40example.community", "Hada%40example.com and ada%40example.community"],
    ["/v1/contacts/%c3%a7%3F&", "/v1/contacts/#5"],
    ["/v1/emails?contactId=p_7&page=2", "/v1/emails?contactId=#2&page=2"],
    ["/v1/emails?contactId=p_77 of %C3%A7%3F%26", "/v1/emails?contactId=p_77 of %C3%A7%3F%26"],
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
    ['{"contact":"%C3%A7%3F%26","of":"\\u00e7?&"}', '{"contact":"#5","of":"#5"}'],
    ['{"path":"\\/v1\\/contacts\\/ada\\u0040example.com"}', '{"path":"/v1/contacts/#4"}'],
  ])("%s", (text, clean) => {
    expect(eraser.among(text)).toBe(clean);
  });
});

test("a text that may hold an id holds it in some form, also as JSON; one that cannot is told apart at once", () => {
  for (const text of ["/v1/contacts/ada%40example.com", '"ada\\u0040example.com"', "Hp_7x"])
    expect([text, eraser.mayHold(text)]).toEqual([text, true]);
  expect(eraser.mayHold("ada at example.com")).toBe(false);
});

// Matches are found wherever the chunks end, each with the bytes around it.
import { expect, test } from "vitest";
import { formOf, matchesIn } from "../../../../src/warehouse/forget/search-bytes.ts";

async function* inChunks(text: string, size: number): AsyncIterable<Buffer> {
  for (let at = 0; at < text.length; at += size) yield Buffer.from(text.slice(at, at + size));
}
const found = async (text: string, size: number, words = false) =>
  (await matchesIn(inChunks(text, size), [formOf("contact-21")], { words })).map((hex) =>
    Buffer.from(hex, "hex").toString(),
  );

test("every match is found once, with eight bytes before and after, however the text is cut", async () => {
  const text = "contact-21 abcdefgh contact-21contact-21 and the end contact-21";
  const whole = await found(text, text.length);
  expect(whole).toEqual([
    "contact-21 abcdefg",
    "bcdefgh contact-21contact-",
    "ntact-21contact-21 and the",
    "the end contact-21",
  ]);
  for (let size = 1; size < text.length; size += 1) expect(await found(text, size), `${size}`).toEqual(whole);
});

test("words: a match beside a letter or a digit does not count", async () => {
  const text = "contact-213 (contact-21) xcontact-21 contact-21";
  for (const size of [1, 7, text.length]) expect(await found(text, size, true), `${size}`).toHaveLength(2);
});

test("a text is found in every form of JSON and of a URL; a short one is not searched for", async () => {
  const matches = async (text: string, searched: string) =>
    (await matchesIn(inChunks(text, 5), [formOf(searched)], { words: true })).length;
  for (const form of [
    'a"b c/ü',
    'a\\"b c\\/\\u00fc',
    "a%22b%20c%2F%C3%BC",
    "a%22b+c%2f%c3%bc",
    "a%2522b%2520c%252F%25C3%25BC",
  ])
    expect([form, await matches(`%2Fcontacts%2F${form} `, 'a"b c/ü')]).toEqual([form, 1]);
  expect(await matches("%41a%22b+c%2fü", 'a"b c/ü')).toBe(0);
  expect(await matches("12345", "12345")).toBe(0);
});

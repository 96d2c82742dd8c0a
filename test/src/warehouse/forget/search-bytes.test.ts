// Matches are found wherever the chunks end, each with the bytes around it.
import { expect, test } from "vitest";
import { formsOf, matchesIn } from "../../../../src/warehouse/forget/search-bytes.ts";

async function* inChunks(text: string, size: number): AsyncIterable<Buffer> {
  for (let at = 0; at < text.length; at += size) yield Buffer.from(text.slice(at, at + size));
}
const found = async (text: string, size: number, words = false) =>
  (await matchesIn(inChunks(text, size), formsOf("contact-21"), { words })).map((hex) =>
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

test("a text in JSON and in a URL is searched for, too; a short one is not", () => {
  expect(formsOf('a"b c/d').map(String)).toEqual(['a"b c/d', 'a\\"b c/d', "a%22b%20c%2Fd"]);
  expect(formsOf("12345")).toEqual([]);
});

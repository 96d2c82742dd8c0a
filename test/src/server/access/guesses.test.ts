// Wrong keys, counted by address.
import { expect, test } from "vitest";
import { createGuesses } from "../../../../src/server/access/guesses.ts";

/** Results of so many wrong keys at one moment. */
const guess = (guesses: ReturnType<typeof createGuesses>, address: string, times: number, now = 0) =>
  Array.from({ length: times }, () => guesses.isTooMany(address, now));

test("twenty wrong keys a minute are borne, and the next minute begins anew", () => {
  const guesses = createGuesses();
  expect(guess(guesses, "192.0.2.1", 20)).not.toContain(true);
  expect(guess(guesses, "192.0.2.1", 1, 59_999)).toEqual([true]);
  expect(guess(guesses, "192.0.2.1", 1, 60_000)).toEqual([false]);
});

test("one IPv4 address is one however it is written; its neighbour is another", () => {
  const guesses = createGuesses();
  guess(guesses, "192.0.2.1", 20);
  expect(guess(guesses, "::FFFF:192.0.2.1", 1)).toEqual([true]);
  expect(guess(guesses, "192.0.2.2", 1)).toEqual([false]);
});

test("the addresses of one IPv6 network count together", () => {
  const guesses = createGuesses();
  for (let nth = 0; nth < 20; nth++) guesses.isTooMany(`2001:db8:0:1::${nth}`, 0);
  expect(guess(guesses, "2001:db8:0:1:ffff::1", 1)).toEqual([true]);
  expect(guess(guesses, "2001:db8:0:2::1", 1)).toEqual([false]);
});

test("ten thousand addresses are remembered, those that guessed last", () => {
  const guesses = createGuesses();
  guess(guesses, "first", 20);
  guess(guesses, "second", 20);
  for (let nth = 0; nth < 9_998; nth++) guesses.isTooMany(`a${nth}`, 0);
  expect(guess(guesses, "first", 1)).toEqual([true]);
  guesses.isTooMany("one more", 0);
  expect(guess(guesses, "second", 1)).toEqual([false]);
  expect(guess(guesses, "first", 1)).toEqual([true]);
});

// Sessions: how long they hold, and that nobody can make one.
import { describe, expect, test } from "vitest";
import { Secret } from "../../../../src/core/secret.ts";
import { createGuesses, SESSION_MS } from "../../../../src/server/access/sessions.ts";
import { checksOf, sessionOf } from "./open-session.ts";

// Wrong keys, counted by address.

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

const key = new Secret("0123456789abcdef0123456789abcdef");
const other = new Secret("fedcba9876543210fedcba9876543210");

describe("a session", () => {
  const { sessions } = checksOf(key);
  const value = sessionOf(key, 1000);

  test("holds for its time and not longer", () => {
    expect(sessions.find(value, 1000 + SESSION_MS - 1)).toMatchObject({ id: "server", role: "operate" });
    expect(sessions.find(value, 1000 + SESSION_MS)).toBeNull();
  });

  test("ends with its logout, and no other one does", () => {
    const logged = sessionOf(key, 1000);
    sessions.end(logged, 1001);
    expect(sessions.find(logged, 1001)).toBeNull();
    expect(sessions.find(value, 1001)).not.toBeNull();
  });

  test.each([
    ["made with another key", sessionOf(other, 1000)],
    ["whose end was moved", value.replace(/\.\d+\./, ".99999999999999.")],
    ["of another holder", value.replace(/^server/, "abc")],
    ["without a seal", value.slice(0, value.lastIndexOf("."))],
    ["that is empty", ""],
  ])("%s is none", (_, forged) => {
    expect(sessions.find(forged, 1000)).toBeNull();
  });
});

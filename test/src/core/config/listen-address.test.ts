// Where the server listens, and whether only this machine can reach it.
import { expect, test } from "vitest";
import { isLoopbackHost, keyProblem, listenText, parseListen } from "../../../../src/core/config/setting-parsers.ts";

// Server keys that people choose.

test.each(["7f3c9a1be0d24c58a6b1f09d3e7c2a41", "Correct-Horse-Battery-9"])("%s is taken", (key) => {
  expect(keyProblem(key)).toBeNull();
});

test.each([
  ["short-1234567", /16 or more/],
  ["with spaces in between them", /no spaces/],
  ["aaaaaaaaaaaaaaaaaaaaaaaa", /easy to guess/],
  ["abababababababababababab", /easy to guess/],
])("%s is refused, without naming it", (key, problem) => {
  expect(keyProblem(key)).toMatch(problem);
  expect(keyProblem(key)).not.toContain(key);
});

test.each([
  ["8737", "127.0.0.1:8737"],
  [" LOCALHOST:0 ", "localhost:0"],
  ["0.0.0.0:80", "0.0.0.0:80"],
  ["[::1]:80", "[::1]:80"],
  ["65535", "127.0.0.1:65535"],
])("%s listens at %s", (text, address) => {
  const parsed = parseListen(text);
  expect(parsed === null ? null : listenText(parsed)).toBe(address);
});

test.each(["65536", "", ":80", "::1:80", "host", "host:", "a b:80", "host:123456"])("%j is no address", (text) => {
  expect(parseListen(text)).toBeNull();
});

test.each([
  ["localhost", true],
  ["api.localhost", true],
  ["[::1]", true],
  ["::1", true],
  ["127.9.8.7", true],
  ["0.0.0.0", false],
  ["127.0.0.1.example", false],
  ["localhost.example", false],
])("%s is this machine alone: %s", (host, alone) => {
  expect(isLoopbackHost(host)).toBe(alone);
});

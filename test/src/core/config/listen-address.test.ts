// Where the server listens, and whether only this machine can reach it.
import { expect, test } from "vitest";
import { isLoopbackHost, listenText, parseListen } from "../../../../src/core/config/listen-address.ts";

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

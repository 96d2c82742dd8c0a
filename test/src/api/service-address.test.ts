// Address and token as a user may write them, and what must not leave this machine.
import { expect, test } from "vitest";
import { targetOf } from "../../../src/api/client.ts";
import { parseBase, parseToken } from "../../../src/api/transport.ts";
import { Secret } from "../../../src/core/secret.ts";

const codeOf = (work: () => unknown): unknown => {
  try {
    return work();
  } catch (error) {
    return error instanceof Error && "code" in error ? error.code : error;
  }
};
const base = (url: string, plain = false) => codeOf(() => parseBase(url, plain).href);

test.each([
  ["https://api.example/v2", "https://api.example/v2"],
  ["http://localhost:8080", "http://localhost:8080/"],
  ["http://api.localhost", "http://api.localhost/"],
  ["http://127.8.9.1", "http://127.8.9.1/"],
  ["http://[::1]:9", "http://[::1]:9/"],
  ["http://api.example", "TOKEN_OVER_PLAIN_HTTP"],
  ["http://127.0.0.1.example", "TOKEN_OVER_PLAIN_HTTP"],
  ["http://localhost.example", "TOKEN_OVER_PLAIN_HTTP"],
  ["ftp://api.example", "CONFIG_INVALID"],
  ["api.example", "CONFIG_INVALID"],
  ["https://user@api.example", "CONFIG_INVALID"],
  ["https://:pass@api.example", "CONFIG_INVALID"],
])("%s: %s", (url, expected) => {
  expect(base(url)).toBe(expected);
});

test("plain HTTP crosses the network only where that is allowed", () => {
  expect(base("http://api.example", true)).toBe("http://api.example/");
});

test("a token is taken without the spaces around it, and only if a header can carry it", () => {
  expect(parseToken(" t0ken\n")).toBe("t0ken");
  expect(parseToken(new Secret("t0ken"))).toBe("t0ken");
  expect(codeOf(() => parseToken(" "))).toBe("TOKEN_MISSING");
  for (const token of ["two words", "ü", "a\u0000b"]) expect(codeOf(() => parseToken(token))).toBe("CONFIG_INVALID");
});

test("a target has its query encoded as every server reads it", () => {
  const call = { endpoint: "listSignals", path: "/v1/signals", query: { a: "x y+z&", b: "\ud800" } } as const;
  expect(targetOf("/v2", call)).toBe("/v2/v1/signals?a=x%20y%2Bz%26&b=%EF%BF%BD");
  expect(targetOf("", { ...call, query: {} })).toBe("/v1/signals");
});

// Sessions: how long they hold, and that nobody can make one.
import { describe, expect, test } from "vitest";
import { Secret } from "../../../../src/core/secret.ts";
import { SESSION_MS } from "../../../../src/server/access/sessions.ts";
import { checksOf, sessionOf } from "./open-session.ts";

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

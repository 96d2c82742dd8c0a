// The token from configuration, file or command; failures say where, never what.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { resolveToken } from "../../../../../src/core/config/secrets.ts";
import { Secret } from "../../../../../src/core/secret.ts";

const folder = mkdtempSync(join(tmpdir(), "duckmirror-token-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const path = join(folder, "token");
const inFile = (text: string) => {
  writeFileSync(path, text);
  return { kind: "file", path } as const;
};

test.each([
  ["a configured token, as it is", () => ({ kind: "value", value: new Secret("abc.def") }) as const],
  ["a file, without its line end and a leading Bearer", () => inFile("Bearer abc.def\n")],
  ["what a command prints", () => ({ kind: "command", command: "printf ' abc.def\\n'" }) as const],
])("takes %s", async (_, source) => {
  expect((await resolveToken({ token: source() })).reveal()).toBe("abc.def");
});

test("runs a list of program and arguments without a shell", async () => {
  const command = ["printf", "%s", "$HOME;a"];
  expect((await resolveToken({ token: { kind: "command", command } })).reveal()).toBe("$HOME;a");
});

test("says that none is configured", async () => {
  await expect(resolveToken({ token: null })).rejects.toMatchObject({ code: "TOKEN_MISSING", exitCode: 2 });
});

test("names a file that cannot be read or is empty", async () => {
  await expect(resolveToken({ token: { kind: "file", path: "/no/such/file" } })).rejects.toMatchObject({
    code: "TOKEN_FILE_UNREADABLE",
    message: expect.stringContaining("/no/such/file"),
  });
  await expect(resolveToken({ token: inFile("\n") })).rejects.toMatchObject({
    code: "CONFIG_INVALID",
    message: expect.stringContaining(`${path} holds no token`),
  });
});

test("repeats neither what a file held nor what a failing command printed", async () => {
  await expect(resolveToken({ token: inFile("first-secret\nsecond-secret\n") })).rejects.not.toThrow(/-secret/);
  const command = "echo leaked-secret; echo leaked-secret >&2; exit 3";
  const error: unknown = await resolveToken({ token: { kind: "command", command } }).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: "TOKEN_COMMAND_FAILED", message: expect.stringContaining("ended with 3") });
  expect(String(error)).not.toContain("leaked-secret");
  expect(error).not.toHaveProperty("cause");
});

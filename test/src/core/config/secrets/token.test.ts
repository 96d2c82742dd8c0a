// The token from configuration, file or command; failures say where, never what.
import { describe, expect, test } from "vitest";
import { resolveToken, type TokenIo } from "../../../../../src/core/config/secrets/token.ts";
import { Secret } from "../../../../../src/core/secret.ts";

const io = (given: Partial<TokenIo>): TokenIo => ({
  readText: () => Promise.reject(new Error("no file was expected to be read")),
  runCommand: () => Promise.reject(new Error("no command was expected to run")),
  ...given,
});

describe("resolveToken", () => {
  test("takes a configured token as it is", async () => {
    const token = await resolveToken({ token: { kind: "value", value: new Secret("abc.def") } }, io({}));
    expect(token.reveal()).toBe("abc.def");
  });

  test("reads a file without its line end and without a leading Bearer", async () => {
    const files = io({ readText: async (path) => (path === "/run/token" ? "Bearer abc.def\n" : "wrong file") });
    expect((await resolveToken({ token: { kind: "file", path: "/run/token" } }, files)).reveal()).toBe("abc.def");
  });

  test("takes what a command prints", async () => {
    expect((await resolveToken({ token: { kind: "command", command: "printf ' abc.def\\n'" } })).reveal()).toBe(
      "abc.def",
    );
  });

  test("runs a list of program and arguments without a shell", async () => {
    const command = ["printf", "%s", "$HOME;a"];
    expect((await resolveToken({ token: { kind: "command", command } })).reveal()).toBe("$HOME;a");
  });

  test("says that none is configured", async () => {
    await expect(resolveToken({ token: null }, io({}))).rejects.toMatchObject({ code: "TOKEN_MISSING", exitCode: 2 });
  });

  test("names a file that cannot be read or is empty", async () => {
    await expect(resolveToken({ token: { kind: "file", path: "/no/such/file" } })).rejects.toMatchObject({
      code: "TOKEN_FILE_UNREADABLE",
      message: expect.stringContaining("/no/such/file"),
    });
    await expect(
      resolveToken({ token: { kind: "file", path: "/t" } }, io({ readText: async () => "\n" })),
    ).rejects.toMatchObject({ code: "CONFIG_INVALID", message: expect.stringContaining("/t holds no token") });
  });

  test("repeats neither what a file held nor what a failing command printed", async () => {
    const two = io({ readText: async () => "first-secret\nsecond-secret\n" });
    await expect(resolveToken({ token: { kind: "file", path: "/t" } }, two)).rejects.not.toThrow(/-secret/);
    const failing = {
      token: { kind: "command", command: "echo leaked-secret; echo leaked-secret >&2; exit 3" },
    } as const;
    const error: unknown = await resolveToken(failing).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "TOKEN_COMMAND_FAILED", message: expect.stringContaining("ended with 3") });
    expect(String(error)).not.toContain("leaked-secret");
    expect(error).not.toHaveProperty("cause");
  });
});

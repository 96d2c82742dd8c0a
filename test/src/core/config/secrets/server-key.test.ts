// Where the server listens and what protects it.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { resolveConfig } from "../../../../../src/core/config/config.ts";
import { resolveServerKey } from "../../../../../src/core/config/secrets.ts";

const KEY = "0123456789abcdef0123456789abcdef";
const folder = mkdtempSync(join(tmpdir(), "duckmirror-key-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const given = (env: Record<string, string>) =>
  resolveConfig({
    flags: {},
    env,
    file: null,
    cwd: folder,
    vocabulary: { streams: [], content: [], comesWith: {}, fields: {} },
  });

describe("the key", () => {
  test("is not needed on this machine alone, and is on any other address", async () => {
    expect(await resolveServerKey(given({}))).toBeNull();
    await expect(resolveServerKey(given({ DUCKMIRROR_LISTEN: "0.0.0.0:8737" }))).rejects.toMatchObject({
      code: "SERVER_KEY_MISSING",
      exitCode: 2,
    });
  });

  test("comes from the environment or from a file, whose line end does not count", async () => {
    expect((await resolveServerKey(given({ DUCKMIRROR_SERVER_KEY: KEY })))?.reveal()).toBe(KEY);
    writeFileSync(join(folder, "key"), `${KEY}\n`);
    const config = given({ DUCKMIRROR_SERVER_KEY_FILE: "key", DUCKMIRROR_LISTEN: "0.0.0.0:1" });
    expect((await resolveServerKey(config))?.reveal()).toBe(KEY);
  });

  test("that is short, missing or more than one word is refused without being repeated", async () => {
    expect(() => given({ DUCKMIRROR_SERVER_KEY: "hunter2" })).toThrow(/16 or more/);
    expect(() => given({ DUCKMIRROR_SERVER_KEY: "hunter2" })).not.toThrow(/hunter2/);
    for (const [name, text] of [
      ["nowhere", null],
      ["empty", ""],
      ["short", "hunter2"],
      ["words", `${KEY} ${KEY}`],
    ] as const) {
      if (text !== null) writeFileSync(join(folder, name), text);
      const failure = await resolveServerKey(given({ DUCKMIRROR_SERVER_KEY_FILE: name })).catch((error) => error);
      expect(failure).toMatchObject({ code: "CONFIG_INVALID" });
      expect(failure.message).not.toMatch(/hunter2|0123456789/);
    }
  });

  test("named keys are enough for others to reach the server", async () => {
    expect(await resolveServerKey(given({ DUCKMIRROR_LISTEN: "0.0.0.0:1" }), true)).toBeNull();
  });
});

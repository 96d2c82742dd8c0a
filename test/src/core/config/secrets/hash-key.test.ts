// The key of hashed fields: read only where a field is hashed, and never shown.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { resolveHashKey } from "../../../../../src/core/config/secrets.ts";
import { Secret } from "../../../../../src/core/secret.ts";
import { configOf } from "../../../../support/given-config.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});
const fileOf = (text: string): string => {
  const folder = mkdtempSync(join(tmpdir(), "duckmirror-key-"));
  folders.push(folder);
  writeFileSync(join(folder, "key"), text);
  return join(folder, "key");
};
const KEY = "0123456789abcdef";
const hashFields = configOf("exclude_fields: contacts.email\n").excludeFields;
const from = (hashKey: Parameters<typeof resolveHashKey>[0]["hashKey"]) => resolveHashKey({ hashFields, hashKey });

test("is not asked for where no field is hashed", async () => {
  expect(await resolveHashKey({ hashFields: [], hashKey: { kind: "file", path: "/none" } })).toBeNull();
});

test("comes from the setting, or from a file without the spaces around it", async () => {
  expect((await from({ kind: "value", value: new Secret("k") }))?.reveal()).toBe("k");
  expect((await from({ kind: "file", path: fileOf(`\n${KEY} \n`) }))?.reveal()).toBe(KEY);
});

test("that is missing, unreadable, short or more than a key is refused, without being named", async () => {
  await expect(from(null)).rejects.toMatchObject({ code: "CONFIG_INVALID" });
  await expect(from({ kind: "file", path: "/none/key" })).rejects.toMatchObject({ code: "CONFIG_INVALID" });
  for (const text of ["", KEY.slice(1), `${KEY}\n${KEY}`]) {
    const failure = await from({ kind: "file", path: fileOf(text) }).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "CONFIG_INVALID" });
    if (text !== "") expect(String(failure)).not.toContain(text);
  }
});

// duckmirror key: named keys of the server, which are shown once.
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { hashOfKey, keysPath } from "../../../../../src/server/access/key-store.ts";
import { aFolder, type CliSetup, cli } from "../../../../support/cli.ts";

const NOW = Date.UTC(2026, 10, 21);
const DAY_MS = 86_400_000;

/** A data directory and its commands; `days`: how far the clock has moved on. */
const rig = () => {
  const dataDir = join(aFolder(), "data");
  const state = { days: 0 };
  const clock: NonNullable<CliSetup["clock"]> = { now: () => NOW + state.days * DAY_MS, sleep: async () => undefined };
  const key = (...argv: readonly string[]) => cli(["key", ...argv], { env: { DUCKMIRROR_DATA_DIR: dataDir }, clock });
  const listed = async () => JSON.parse((await key("list", "--json")).out);
  return { dataDir, key, listed, state };
};

test("a key is printed once, alone on stdout; the file holds only its hash, for the owner's eyes", async () => {
  const { key, dataDir } = rig();
  const added = await key("add", "grafana", "--role", "metrics");
  expect(added.code).toBe(0);
  const text = added.out.trim();
  expect(text).toMatch(/^\S{40,}$/);
  expect(added.err).toContain("only time");
  const file = readFileSync(keysPath(dataDir), "utf8");
  expect(file).not.toContain(text);
  expect(file).toContain(hashOfKey(text));
  expect(statSync(keysPath(dataDir)).mode & 0o077).toBe(0);
  expect((await key("list")).out).not.toContain(text);
});

test("as JSON a key comes with its name, role and end", async () => {
  const { key } = rig();
  const { out, err } = await key("add", "ann", "--role", "operate", "--expires", "90d", "--json");
  expect(JSON.parse(out)).toEqual({
    name: "ann",
    role: "operate",
    expires_at: new Date(NOW + 90 * DAY_MS).toISOString(),
    key: expect.any(String),
  });
  expect(err).toBe("");
});

test("the list shows each key with its state: active, expired or revoked", async () => {
  const { key, listed, state } = rig();
  expect((await key("list")).out).toBe("There is no key.\n");
  await key("add", "stays", "--role", "read");
  await key("add", "ends", "--role", "read", "--expires", "2d");
  await key("add", "left", "--role", "read");
  await key("revoke", "left");
  const states = async () =>
    (await listed()).map(({ name, state: now }: { name: string; state: string }) => `${name} ${now}`);
  expect(await states()).toEqual(["stays active", "ends active", "left revoked"]);
  state.days = 2;
  expect(await states()).toEqual(["stays active", "ends expired", "left revoked"]);
});

test("a name belongs to one active key; after its end or revocation it is free", async () => {
  const { key, state } = rig();
  await key("add", "ann", "--role", "read", "--expires", "2d");
  expect(await key("add", "ann", "--role", "read")).toMatchObject({ code: 2, out: "" });
  state.days = 2;
  expect((await key("add", "ann", "--role", "read")).code).toBe(0);
  expect((await key("revoke", "ann")).code).toBe(0);
  expect((await key("add", "ann", "--role", "read")).code).toBe(0);
});

test("a key that does not exist cannot be revoked", async () => {
  const { key } = rig();
  expect(await key("revoke", "nobody")).toMatchObject({ code: 2, err: expect.stringContaining("nobody") });
});

test.each([
  [["add"], "one name"],
  [["add", "ann"], "--role"],
  [["add", "ann", "--role", "admin"], "read, operate, metrics"],
  [["add", "ann", "--role", "read", "--expires", "soon"], "soon"],
  [["add", "ann", "--role", "read", "--expires", "0d"], "0d"],
  [["add", "two words", "--role", "read"], "letters"],
  [["add", "a".repeat(65), "--role", "read"], "64"],
  [["drop", "ann"], "revoke NAME"],
])("%j is refused, and no key is created", async (argv, named) => {
  const { key, listed } = rig();
  const { code, err, out } = await key(...argv);
  expect([code, out]).toEqual([2, ""]);
  expect(err).toContain(named);
  expect(await listed()).toEqual([]);
});

test("the text of a key in place of its name is refused, and shows up nowhere in the audit trail", async () => {
  const { key, dataDir } = rig();
  const text = (await key("add", "ann", "--role", "read")).out.trim();
  expect(await key("revoke", text)).toMatchObject({ code: 2, err: expect.stringContaining("key list") });
  const trail = readFileSync(join(dataDir, "state", "audit", "2026-11-21.jsonl"), "utf8");
  expect(trail).toContain('"key add"');
  expect(trail).not.toContain(text);
});

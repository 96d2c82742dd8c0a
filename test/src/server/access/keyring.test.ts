// Who holds a key: the configured one, and the named ones as the key file has them now.
import { rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Secret } from "../../../../src/core/secret.ts";
import { addKey, createKeyring, keysPath, revokeKey } from "../../../../src/server/access/key-store.ts";
import { aFolder } from "../../../support/cli.ts";

const CONFIGURED = "Zm9vYmFyYmF6cXV4MDEyMzQ1";
const rig = (configured: string | null = null) => {
  const path = keysPath(join(aFolder(), "data"));
  const faults: unknown[] = [];
  const ring = createKeyring(
    configured === null ? null : new Secret(configured),
    path,
    (error) => void faults.push(error),
  );
  const add = async (name: string, expiresAt: number | null = null) =>
    (await addKey(path, { name, role: "read", expiresAt }, 0)).reveal();
  return { path, ring, faults, add };
};

test("without any key none is required, and no text is one", () => {
  const { ring } = rig();
  expect(ring.required()).toBe(false);
  expect([ring.holderOf("", 0), ring.holderOf("x", 0), ring.holder("server", 0)]).toEqual([null, null, null]);
});

test("the configured key may do everything, and nothing but its whole text is that key", () => {
  const { ring } = rig(CONFIGURED);
  expect(ring.required()).toBe(true);
  expect(ring.holderOf(CONFIGURED, 0)).toMatchObject({ role: "operate" });
  for (const text of ["", CONFIGURED.slice(1), `${CONFIGURED} `, CONFIGURED.toLowerCase()])
    expect(ring.holderOf(text, 0)).toBeNull();
});

test("a key that is added while the server runs is valid at once, with its own role", async () => {
  const { ring, add } = rig(CONFIGURED);
  const key = await add("ann");
  expect(ring.holderOf(key, 0)).toMatchObject({ name: "ann", role: "read" });
  expect(ring.holderOf(CONFIGURED, 0)).toMatchObject({ role: "operate" });
});

test("a key ends at its time and when it is revoked, and its sessions with it", async () => {
  const { ring, add, path } = rig();
  const [key, other] = [await add("ann", 1_000), await add("bea")];
  const id = ring.holderOf(key, 0)?.id ?? "";
  expect(ring.holder(id, 999)).toMatchObject({ name: "ann" });
  expect([ring.holderOf(key, 1_000), ring.holder(id, 1_000)]).toEqual([null, null]);
  const otherId = ring.holderOf(other, 0)?.id ?? "";
  await revokeKey(path, "bea", 500);
  expect([ring.holderOf(other, 600), ring.holder(otherId, 600)]).toEqual([null, null]);
});

test("after the last key was revoked, one is still required: the server does not open", async () => {
  const { ring, add, path } = rig();
  await add("ann");
  await revokeKey(path, "ann", 0);
  expect(ring.required()).toBe(true);
});

test("the hash that the file holds is no key", async () => {
  const { ring, add } = rig();
  const key = await add("ann");
  const hash = ring.holderOf(key, 0)?.sealedWith ?? "";
  expect(hash).not.toBe(key);
  expect(ring.holderOf(hash, 0)).toBeNull();
});

test("a key file that is damaged opens nothing, is reported once, and is read again when it is mended", async () => {
  const { ring, add, path, faults } = rig(CONFIGURED);
  const key = await add("ann");
  expect(ring.holderOf(key, 0)).not.toBeNull();
  writeFileSync(path, '{"v":1,"keys":[');
  expect([ring.holderOf(key, 0), ring.holderOf(key, 0), ring.required()]).toEqual([null, null, true]);
  expect(faults).toHaveLength(1);
  expect(ring.holderOf(CONFIGURED, 0)).not.toBeNull();
  rmSync(path);
  const again = await add("ann");
  expect(ring.holderOf(again, 0)).toMatchObject({ name: "ann" });
});

test("without a configured key, a damaged or vanished key file does not open the server", async () => {
  const damaged = rig();
  await damaged.add("ann");
  writeFileSync(damaged.path, "x");
  expect(damaged.ring.required()).toBe(true);
  const vanished = rig();
  const key = await vanished.add("ann");
  expect(vanished.ring.holderOf(key, 0)).not.toBeNull();
  rmSync(vanished.path);
  expect([vanished.ring.required(), vanished.ring.holderOf(key, 0)]).toEqual([true, null]);
});

test("a link in the place of the key file is not followed", async () => {
  const mine = rig();
  const key = await mine.add("ann");
  const { ring, path, faults, add } = rig();
  await add("bea");
  rmSync(path);
  symlinkSync(mine.path, path);
  expect(ring.holderOf(key, 0)).toBeNull();
  expect(faults).toHaveLength(1);
});

// What a redactor removes, by the configuration and the list of erased contacts.
import { createHmac } from "node:crypto";
import { expect, test } from "vitest";
import { hasherOf, redactorOf } from "../../jobs/engine.ts";
import type { ForgottenEntry, ForgottenList } from "../../src/warehouse/archive/forgotten-list.ts";
import { configOf } from "../support/given-config.ts";

const KEY = "0123456789abcdef0123456789abcdef";
const HASHING = `hash_fields: contacts.email\nhash_key: ${KEY}\n`;
const ANN = { id: "p1", email: "ann@a.example", lastName: "Ash" };
const hmac = (text: string) => createHmac("sha256", KEY).update(text).digest("hex");

/** A list on which these contacts are. */
const listOf = (...ids: readonly string[]): ForgottenList => {
  const entry: ForgottenEntry = { hash: "0".repeat(64), forgotten_at: "2026-01-01T00:00:00Z", done: true };
  return {
    entries: ids.map(() => entry),
    hashOf: () => entry.hash,
    find: (id) => (ids.includes(id) ? entry.hash : null),
  };
};

test("without fields to remove or hash, and without erased contacts, nothing is redacted", async () => {
  expect(await redactorOf(configOf(null), listOf())).toBeNull();
});

test("excluded fields are removed, and no other", async () => {
  const redact = await redactorOf(configOf("exclude_fields: contacts.email\n"), listOf());
  expect(redact?.({ data: [ANN] }, "listContacts")).toEqual({ data: [{ id: "p1", lastName: "Ash" }] });
});

test("hashed fields are replaced by a hash under the configured key", async () => {
  const config = configOf(HASHING);
  const redact = await redactorOf(config, listOf());
  expect(redact?.({ data: [ANN] }, "listContacts")).toEqual({
    data: [{ ...ANN, email: `hmac-sha256:${hmac(ANN.email)}` }],
  });
  expect((await hasherOf(config))?.("x")).toBe(hmac("x"));
});

test("no hash function is there without a field to hash", async () => {
  expect(await hasherOf(configOf("exclude_fields: contacts.email\n"))).toBeNull();
});

test("hashed fields without a key are refused", async () => {
  await expect(redactorOf(configOf("hash_fields: contacts.email\n"), listOf())).rejects.toMatchObject({
    code: "CONFIG_INVALID",
  });
});

test("an erased contact is redacted, although no field is configured, and others are not", async () => {
  const redact = await redactorOf(configOf(null), listOf("p1"));
  const bea = { id: "p2", lastName: "Birch" };
  const cleaned = JSON.stringify(redact?.({ data: [ANN, bea] }, "listContacts"));
  expect(cleaned).not.toContain("Ash");
  expect(cleaned).not.toContain(ANN.email);
  expect(cleaned).toContain("Birch");
});

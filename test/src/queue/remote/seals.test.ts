// Seals between loader and fetchers: only who has the token of the organization writes and reads.
import { expect, test } from "vitest";
import { Secret } from "../../../../src/core/secret.ts";
import { createSeals } from "../../../../src/queue/remote/seals.ts";

const seals = createSeals(new Secret("token"), "org");
const others = { token: createSeals(new Secret("other"), "org"), organization: createSeals(new Secret("token"), "o2") };
const text = Buffer.from("what a page says");

test("a signature holds for its order alone, and for the holder of the token alone", () => {
  const signature = seals.sign("order 1");
  expect(createSeals(new Secret("token"), "org").isSignature(signature, "order 1")).toBe(true);
  expect(seals.isSignature(signature, "order 2")).toBe(false);
  for (const other of Object.values(others)) expect(other.isSignature(signature, "order 1")).toBe(false);
  for (const forged of ["", "x", signature.slice(0, -2), `${signature}AA`]) {
    expect(seals.isSignature(forged, "order 1")).toBe(false);
  }
});

test("a locked text opens at its place with the same token, and nowhere else", () => {
  const locked = seals.lock(text, "mirror delivery-1");
  expect(seals.unlock(locked, "mirror delivery-1")).toEqual(text);
  expect(seals.unlock(locked, "mirror delivery-2")).toBeNull();
  for (const other of Object.values(others)) expect(other.unlock(locked, "mirror delivery-1")).toBeNull();
});

test("a locked text does not show what it holds, is another each time, and no bit of it can be changed", () => {
  const locked = seals.lock(text, "p");
  expect(locked.includes("page")).toBe(false);
  expect(seals.lock(text, "p")).not.toEqual(locked);
  for (let at = 0; at < locked.length; at++) {
    const changed = Buffer.from(locked);
    changed[at] = (changed[at] ?? 0) ^ 1;
    expect(seals.unlock(changed, "p")).toBeNull();
  }
  expect(seals.unlock(locked.subarray(0, 27), "p")).toBeNull();
  expect(seals.unlock(Buffer.alloc(0), "p")).toBeNull();
});

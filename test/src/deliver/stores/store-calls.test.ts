// What stores of object storage have in common.
import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { pieceBytes, smallText, storeCalls } from "../../../../src/deliver/stores/object-store.ts";

const MIB = 2 ** 20;

test("a file is sent in as many pieces as the service takes, however large it is, and no piece is small", () => {
  for (const bytes of [20 * MIB, 5_000 * MIB, 5_000_000 * MIB]) {
    const piece = pieceBytes(bytes, 10_000);
    expect(Math.ceil(bytes / piece)).toBeLessThanOrEqual(10_000);
    expect(piece).toBeGreaterThanOrEqual(5 * MIB);
    expect(Number.isInteger(piece)).toBe(true);
  }
});

const missing = new Error("404");
const { call, found } = storeCalls(
  (error, name) => new Error(`${name}: ${String(error)}`),
  (error) => error === missing,
);

test("an error of the service becomes one for the user, a missing object none", async () => {
  const { signal } = new AbortController();
  await expect(call("lake", signal, () => Promise.reject(new Error("403")))).rejects.toThrow("lake: Error: 403");
  expect(await call("lake", signal, async () => 7)).toBe(7);
  expect(await found(() => Promise.reject(missing))).toBeNull();
  await expect(found(() => Promise.reject(new Error("403")))).rejects.toThrow("403");
});

test("an abort is its own reason, whatever the service's library makes of it", async () => {
  const stop = new AbortController();
  const reason = new Error("INTERRUPTED");
  const aborted = call("lake", stop.signal, () => {
    stop.abort(reason);
    return Promise.reject(new Error("Request aborted"));
  });
  await expect(aborted).rejects.toBe(reason);
  let called = false;
  const later = call("lake", stop.signal, async () => {
    called = true;
  });
  await expect(later).rejects.toBe(reason);
  expect(called).toBe(false);
});

test("a list without an end is refused after 64 MiB, and its reading ends", async () => {
  let [sent, isClosed] = [0, false];
  async function* endless() {
    try {
      for (;;) {
        sent += MIB;
        yield Buffer.alloc(MIB, "[1,");
      }
    } finally {
      isClosed = true;
    }
  }
  await expect(smallText(endless(), "lake", "home.json")).rejects.toMatchObject({
    code: "DESTINATION_FAILED",
    message: expect.stringContaining("home.json has more than 64 MiB"),
  });
  const nested = Buffer.alloc(12 * MIB, "[");
  await expect(smallText(Readable.from([nested]), "lake", "home.json")).rejects.toMatchObject({
    message: expect.stringContaining("home.json has more than 5000000 values"),
  });
  expect([sent, isClosed]).toEqual([65 * MIB, true]);
  expect(
    await smallText(Readable.from([Buffer.from("é").subarray(0, 1), Buffer.from("é").subarray(1)]), "lake", "k"),
  ).toBe("é");
});

// The coding of a body: what the client accepts, and brotli where it takes both alike.
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { codingFor, compressed } from "../../../src/replica/compress.ts";

test.each([
  [undefined, undefined],
  ["", undefined],
  ["identity", undefined],
  ["gzip", "gzip"],
  ["gzip, br", "br"],
  ["GZIP, BR;q=0.5", "gzip"],
  ["br;q=0.5, gzip;q=0.5", "br"],
  ["br;q=0, gzip", "gzip"],
  ["gzip;q=0", undefined],
  ["brotli, xgzip", undefined],
  [["gzip", "br;q=0"], "gzip"],
])("for accept-encoding %j it is %s", (accept, coding) => {
  expect(codingFor(accept, 1024)).toBe(coding);
});

test("a body of less than a KiB stays as it is", () => {
  expect(codingFor("br", 1023)).toBeUndefined();
});

test("each coding is the one that its name says", async () => {
  const body = Buffer.from("a".repeat(2000));
  expect(brotliDecompressSync(await compressed(body, "br"))).toEqual(body);
  expect(gunzipSync(await compressed(body, "gzip"))).toEqual(body);
});

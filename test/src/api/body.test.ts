// Bodies of responses: whatever a proxy did to the header, the text comes out, within its limit.

import { brotliCompressSync, gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { actualEncoding, asUtf8, decode, encodingOf, readWire } from "../../../src/api/body.ts";

const TEXT = '{"data":["ü"]}';
const LIMIT = 1_000;

test.each([
  [undefined, "identity"],
  ["", "identity"],
  ["Identity", "identity"],
  [" GZIP ", "gzip"],
  ["x-gzip", "gzip"],
  ["br", "br"],
  ["deflate", null],
  ["gzip, br", null],
])("the header %j means %s", (header, encoding) => {
  expect(encodingOf(header)).toBe(encoding);
});

test("a header given twice means neither", () => {
  expect(encodingOf(["gzip", "br"])).toBeNull();
});

test.each<[string, string, Buffer, string]>([
  ["gzip without a header", "", gzipSync(TEXT), "gzip"],
  ["JSON that a proxy unpacked", "gzip", Buffer.from(TEXT), ""],
  ["a list that a proxy unpacked, behind a mark of its byte order", "gzip", Buffer.from("\ufeff [1]"), ""],
  ["gzip with its header", "gzip", gzipSync(TEXT), "gzip"],
  ["damage, which is no JSON", "gzip", Buffer.from("damaged"), "gzip"],
  ["brotli, whose bytes nothing marks", "br", brotliCompressSync(TEXT), "br"],
])("%s", (_, header, bytes, encoding) => {
  expect(actualEncoding(header, bytes)).toBe(encoding);
});

describe("a decoded body", () => {
  test.each([
    ["identity", Buffer.from(TEXT)],
    ["gzip", gzipSync(TEXT)],
    ["br", brotliCompressSync(TEXT)],
  ] as const)("is text: %s", async (encoding, wire) => {
    expect(await decode(wire, encoding, LIMIT)).toEqual({ kind: "text", text: TEXT, bytes: Buffer.byteLength(TEXT) });
  });

  test("may be as long as the limit, and no longer", async () => {
    expect(await decode(gzipSync("x".repeat(LIMIT)), "gzip", LIMIT)).toMatchObject({ kind: "text" });
    expect(await decode(gzipSync("x".repeat(LIMIT + 1)), "gzip", LIMIT)).toEqual({ kind: "too_large" });
  });

  test("that is damaged is said to be; nothing is nothing, whatever its encoding", async () => {
    expect(await decode(gzipSync(TEXT).subarray(0, 12), "gzip", LIMIT)).toMatchObject({
      kind: "encoding",
      detail: expect.stringMatching(/^the gzip body is damaged or cut short: /),
    });
    expect(await decode(Buffer.alloc(0), "gzip", LIMIT)).toEqual({ kind: "text", text: "", bytes: 0 });
  });
});

describe("a body in another charset", () => {
  const latin = Buffer.from('{"name":"Zürich"}', "latin1");
  const utf8 = async (wire: Buffer, type: string, header = "") => (await asUtf8(wire, header, type, LIMIT))?.toString();

  test("becomes UTF-8, packed or not", async () => {
    expect(await utf8(latin, "application/json; charset=ISO-8859-1")).toBe('{"name":"Zürich"}');
    expect(await utf8(gzipSync(latin), 'application/json;charset="iso-8859-1"', "gzip")).toBe('{"name":"Zürich"}');
  });

  test.each([
    ["is UTF-8 all the same", Buffer.from('{"name":"Zürich"}'), "application/json; charset=iso-8859-1"],
    ["names no charset", latin, "application/json"],
    ["names UTF-8", latin, "application/json; charset=utf8"],
    ["names one that nobody knows", latin, "application/json; charset=klingon"],
  ])("stays as it is if it %s", async (_, wire, type) => {
    expect(await utf8(wire, type)).toBeUndefined();
  });

  test("that cannot be unpacked stays as it is", async () => {
    expect(await utf8(latin, "text/plain; charset=iso-8859-1", "gzip")).toBeUndefined();
    expect(await utf8(latin, "text/plain; charset=iso-8859-1", "deflate")).toBeUndefined();
  });
});

describe("what the network sends", () => {
  async function* pieces(sizes: readonly number[], fails = false) {
    for (const size of sizes) yield Buffer.alloc(size);
    if (fails) throw new Error("reset");
  }
  const read = async (sizes: readonly number[], fails = false) => {
    const { kind, bytes } = await readWire(pieces(sizes, fails), LIMIT);
    return [kind, bytes.length];
  };

  test("is read to its end, to the limit, or to where it broke", async () => {
    expect(await read([400, 600])).toEqual(["whole", 1_000]);
    expect(await read([400, 601])).toEqual(["too_large", 400]);
    expect(await read([400], true)).toEqual(["broken", 400]);
    expect(await read([])).toEqual(["whole", 0]);
  });
});

// Bodies of responses: whatever a proxy did to the header, the text comes out, within its limit.

import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { asUtf8, decode, type Encoding, isBare, readWire } from "../../../src/api/body.ts";

const TEXT = '{"data":["ü"]}';
const LIMIT = 1_000;

const unpacked = (wire: Buffer, header: string) => decode(wire, header, LIMIT);

test.each([
  ["", true],
  ["Identity", true],
  [" GZIP ", false],
  ["deflate", false],
])("the header %j names no encoding: %s", (header, bare) => {
  expect(isBare(header)).toBe(bare);
});

const PLAIN = Buffer.from(TEXT);

test.each<[string, string, Buffer, Encoding | null]>([
  ["gzip without a header", "", gzipSync(TEXT), "gzip"],
  ["JSON that a proxy unpacked", "gzip", PLAIN, "identity"],
  ["gzip with its header", "x-gzip", gzipSync(TEXT), "gzip"],
  ["brotli with its header", "BR", brotliCompressSync(TEXT), "br"],
  ["gzip named brotli", "br", gzipSync(TEXT), "gzip"],
  ["JSON named deflate", "deflate", PLAIN, "identity"],
  ["JSON with a name that is no encoding", "aws-chunked", PLAIN, "identity"],
  ["deflate with the header of zlib", "deflate", deflateSync(TEXT), null],
  ["deflate without it", "deflate", deflateRawSync(TEXT), null],
  ["deflate without a name", "", deflateSync(TEXT), null],
  ["gzip named deflate", "deflate", gzipSync(TEXT), "gzip"],
  ["gzip twice", "gzip, gzip", gzipSync(gzipSync(TEXT)), null],
  ["gzip twice, named once", "gzip", gzipSync(gzipSync(TEXT)), null],
  ["gzip once, named twice", "gzip, gzip", gzipSync(TEXT), "gzip"],
  ["brotli within gzip", "br, gzip", gzipSync(brotliCompressSync(TEXT)), null],
  ["UTF-16 with its mark", "", Buffer.from(`\ufeff${TEXT}`, "utf16le"), null],
])("%s becomes text", async (_, header, bytes, wire) => {
  expect(await unpacked(bytes, header)).toEqual({ kind: "text", text: TEXT, bytes: PLAIN.length, wire });
});

test("an encoding that nobody knows, or too many of them, is no text", async () => {
  const detail = "the body has the content encoding zstd";
  expect(await unpacked(Buffer.from("(\xb5/\xfd"), "zstd")).toEqual({ kind: "foreign", detail });
  const layers = [1, 2, 3, 4, 5].reduce((bytes) => gzipSync(bytes), PLAIN);
  expect(await unpacked(layers, "gzip")).not.toMatchObject({ text: TEXT });
});

test("each layer keeps to the limit", async () => {
  const bomb = gzipSync(gzipSync("x".repeat(LIMIT + 1)));
  expect(await unpacked(bomb, "gzip, gzip")).toEqual({ kind: "too_large" });
});

describe("a decoded body", () => {
  test("may be as long as the limit, and no longer", async () => {
    expect(await decode(gzipSync("x".repeat(LIMIT)), "gzip", LIMIT)).toMatchObject({ kind: "text" });
    expect(await decode(gzipSync("x".repeat(LIMIT + 1)), "gzip", LIMIT)).toEqual({ kind: "too_large" });
  });

  test("that is damaged is said to be; nothing is nothing, whatever its encoding", async () => {
    expect(await decode(gzipSync(TEXT).subarray(0, 12), "gzip", LIMIT)).toMatchObject({
      kind: "encoding",
      detail: expect.stringMatching(/^the gzip body is damaged or cut short: /),
    });
    expect(await decode(Buffer.alloc(0), "gzip", LIMIT)).toMatchObject({ kind: "text", text: "", bytes: 0 });
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
    const damaged = gzipSync(latin).subarray(1, 12);
    expect(await utf8(damaged, "text/plain; charset=iso-8859-1", "gzip")).toBeUndefined();
    expect(await utf8(damaged, "text/plain; charset=iso-8859-1", "zstd")).toBeUndefined();
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

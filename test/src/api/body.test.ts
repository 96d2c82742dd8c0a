// Bodies of responses: whatever a proxy did to the header, the text comes out, within its limit.

import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { decode, type Encoding, readWire } from "../../../src/api/body.ts";

const TEXT = '{"data":["ü"]}';
const LIMIT = 1_000;

const unpacked = (wire: Buffer, header: string) => decode(wire, { encoding: header }, LIMIT);

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
    expect(await unpacked(gzipSync("x".repeat(LIMIT)), "gzip")).toMatchObject({ kind: "text" });
    expect(await unpacked(gzipSync("x".repeat(LIMIT + 1)), "gzip")).toEqual({ kind: "too_large" });
  });

  test("that is damaged is said to be; nothing is nothing, whatever its encoding", async () => {
    expect(await unpacked(gzipSync(TEXT).subarray(0, 12), "gzip")).toMatchObject({
      kind: "encoding",
      detail: expect.stringMatching(/^the gzip body is damaged or cut short: /),
    });
    expect(await unpacked(Buffer.alloc(0), "gzip")).toMatchObject({ kind: "text", text: "", bytes: 0 });
  });
});

describe("a body in another charset", () => {
  const latin = Buffer.from('{"name":"Zürich"}', "latin1");
  const read = (wire: Buffer, contentType: string, encoding = "") => decode(wire, { encoding, contentType }, LIMIT);

  test("becomes text, packed or not, and is kept as it", async () => {
    const text = { text: '{"name":"Zürich"}', wire: null };
    expect(await read(latin, "application/json; charset=ISO-8859-1")).toMatchObject(text);
    expect(await read(gzipSync(latin), 'application/json;charset="iso-8859-1"', "gzip")).toMatchObject(text);
  });

  test.each([
    ["is UTF-8 all the same", Buffer.from('{"name":"Zürich"}'), "application/json; charset=iso-8859-1"],
    ["names no charset", latin, "application/json"],
    ["names UTF-8", latin, "application/json; charset=utf8"],
    ["names one that nobody knows", latin, "application/json; charset=klingon"],
  ])("is read as UTF-8 if it %s", async (_, wire, type) => {
    expect(await read(wire, type)).toMatchObject({ text: wire.toString("utf8"), wire: "identity" });
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

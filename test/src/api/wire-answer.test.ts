// A 200 as received becomes an outcome; the token never comes along.
import { deflateSync, gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { readWireAnswer, type WireAnswer } from "../../../src/api/body.ts";
import { hasMoreValues } from "../../../src/core/json.ts";

// Values of a text are counted before it is parsed.

test("values are counted, commas in strings are not", () => {
  const ones = JSON.stringify({ data: Array(1_000).fill(1) });
  expect([hasMoreValues(ones, 900), hasMoreValues(ones, 1_100)]).toEqual([true, false]);
  const prose = JSON.stringify({ data: ["a, [b], \\", `{"quoted": "x, y"},`.repeat(500)] });
  expect(hasMoreValues(prose, 10)).toBe(false);
});

test("a text that breaks off, or has few characters, has no more", () => {
  expect(hasMoreValues(`{"data":[${"1,".repeat(100)}"${"x".repeat(1_000)}`, 500)).toBe(false);
  expect(hasMoreValues("[1,2,3]", 100)).toBe(false);
});

const answer = (body: string | Buffer, contentEncoding = ""): WireAnswer => ({
  call: { endpoint: "listSignals", path: "/v1/signals", query: {} },
  status: 200,
  sentAt: 1,
  durationMs: 2,
  rate: null,
  contentEncoding,
  contentType: "application/json",
  bytes: Buffer.isBuffer(body) ? body : Buffer.from(body),
});
const scrub = (text: string) => text.replaceAll("t0ken", "***");
const read = (given: WireAnswer, limitBytes = 1_000) => readWireAnswer(given, { limitBytes, mostValues: 300, scrub });
const FOUND = '{"data":[{"id":1}],"meta":{}}';

test("a token that the service repeats is neither kept nor stored", async () => {
  const outcome = await read(answer(gzipSync('{"data":[{"id":"t0ken"}],"meta":{}}'), "gzip"));
  expect(outcome).toMatchObject({ kind: "ok", data: [{ id: "***" }], wire: { encoding: "identity" } });
  expect(outcome.kind === "ok" && outcome.wire.bytes.toString()).not.toContain("t0ken");
});

test.each([
  ["an HTML page", "<!doctype html><title>Sign in</title>", /HTML.*Sign in/],
  ["a title that steers terminals", "<html><title>A\u001b]0;x\u0007\u009bB</title>", /titled "A \]0;x B"/],
  ["an empty body", "", /empty/],
  ["an array", "[]", /an array/],
  ["no data", '{"meta":{}}', /no data/],
  ["an object where the list should be", '{"data":{}}', /not an array/],
  ["half a JSON text", '{"data":[', /not valid JSON/],
])("%s is invalid and keeps its bytes", async (_, body, detail) => {
  const invalid = {
    kind: "invalid",
    status: 200,
    detail: expect.stringMatching(detail),
    wire: { encoding: "identity" },
  };
  expect(await read(answer(body))).toMatchObject(invalid);
});

test("a paid body that is no envelope is kept, too", async () => {
  expect(await read(answer("<html>t0ken"))).toMatchObject({ kind: "invalid", wire: { encoding: "identity" } });
  expect(JSON.stringify(await read(answer("<html>t0ken")))).not.toContain("t0ken");
});

test("a body of another encoding than the archive knows is kept unpacked", async () => {
  expect(await read(answer(deflateSync(FOUND), "deflate"))).toMatchObject({
    kind: "ok",
    data: [{ id: 1 }],
    bytes: FOUND.length,
    wire: { bytes: Buffer.from(FOUND), encoding: "identity" },
  });
});

test("an unknown encoding, damage and size have outcomes of their own", async () => {
  expect(await read(answer("(\xb5/\xfd", "zstd"))).toMatchObject({
    kind: "invalid",
    detail: "the body has the content encoding zstd",
    wire: null,
  });
  expect(await read(answer("damaged", "gzip"))).toMatchObject({
    kind: "broken",
    reason: "encoding",
    reached: "unknown",
  });
  expect(await read(answer(gzipSync("x".repeat(2_000)), "gzip"))).toMatchObject({
    kind: "broken",
    reason: "too_large",
    status: 200,
    limitBytes: 1_000,
  });
});

test("a body of many small values is too large, however few its bytes", async () => {
  const body = JSON.stringify({ data: Array(400).fill(1) });
  expect(await read(answer(body))).toMatchObject({
    kind: "broken",
    reason: "too_large",
    detail: "the body exceeds 300 values",
  });
  expect(await read(answer(JSON.stringify({ data: Array(200).fill(1) })))).not.toMatchObject({ kind: "broken" });
});

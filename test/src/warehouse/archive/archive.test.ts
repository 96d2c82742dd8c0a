import { appendFileSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, gunzipSync, gzipSync } from "node:zlib";
import fc from "fast-check";
import { expect, test } from "vitest";
import { type ArchiveHeader, openArchive, type Wire } from "../../../../src/warehouse/archive/archive.ts";
import { readArchive, readIntents } from "../../../../src/warehouse/archive/read-archive.ts";
import { tempDir } from "../temp-dir.ts";

const NOW = Date.UTC(2025, 2, 4);

const aHeader = (requestId: string, bytes = 0, more: Partial<ArchiveHeader> = {}): ArchiveHeader => ({
  requestId,
  runId: "run-1",
  stream: "signals",
  scope: "",
  walkId: null,
  endpoint: "listSignals",
  url: "/v1/signals?page=1",
  detail: '{"page":1}',
  sentAt: NOW,
  receivedAt: NOW + 5,
  status: 200,
  bytes,
  ...more,
});

const plain = (text: string): Wire => ({ bytes: Buffer.from(text), encoding: "identity" });

const readAll = async (dir: string) => {
  const found: { id: string; body: string }[] = [];
  for await (const { header, body } of readArchive(dir)) found.push({ id: header.requestId, body: body.toString() });
  return found;
};

const archiveOf = async (dir: string, bodies: readonly string[]) => {
  const archive = openArchive({ dir, runId: "run-1", now: NOW });
  for (const [index, body] of bodies.entries()) {
    await archive.response(aHeader(`q${index}`, Buffer.byteLength(body)), plain(body));
  }
  await archive.flush();
  await archive.close();
  return join(dir, "2025-03", "run-1.ndjson.gz");
};

test("bodies come back as they were received, with their headers, in order", async () => {
  const dir = tempDir();
  await archiveOf(dir, ['{"data":[1]}', "", '{"text":"line\\nend"}\n\n', "{\n}\n"]);
  expect(await readAll(dir)).toEqual([
    { id: "q0", body: '{"data":[1]}' },
    { id: "q1", body: "" },
    { id: "q2", body: '{"text":"line\\nend"}\n\n' },
    { id: "q3", body: "{\n}\n" },
  ]);
});

test("a gzip body is archived byte for byte, a brotli one decoded", async () => {
  const dir = tempDir();
  const text = JSON.stringify({ data: "x".repeat(5000) });
  const gzipped = gzipSync(text, { level: 3 });
  const archive = openArchive({ dir, runId: "run-1", now: NOW });
  await archive.response(aHeader("gzip", text.length), { bytes: gzipped, encoding: "gzip" });
  await archive.response(aHeader("br", text.length), { bytes: brotliCompressSync(text), encoding: "br" });
  await archive.close();
  expect(readFileSync(join(dir, "2025-03", "run-1.ndjson.gz")).includes(gzipped)).toBe(true);
  expect(await readAll(dir)).toEqual([
    { id: "gzip", body: text },
    { id: "br", body: text },
  ]);
});

test("gzip of several members, with garbage after it, or that is no gzip at all does not hide what follows", async () => {
  const dir = tempDir();
  const archive = openArchive({ dir, runId: "run-1", now: NOW });
  const two = Buffer.concat([gzipSync("ab"), gzipSync("cd")]);
  const garbled = Buffer.concat([gzipSync("ab"), Buffer.from("xx")]);
  await archive.response(aHeader("two", 4), { bytes: two, encoding: "gzip" });
  await archive.response(aHeader("tail", 2), { bytes: garbled, encoding: "gzip" });
  await archive.response(aHeader("none", 5), { bytes: Buffer.from("plain"), encoding: "gzip" });
  await archive.response(aHeader("wrong length", 99), plain("four"));
  await archive.response(aHeader("last", 3), plain("end"));
  await archive.close();
  expect(await readAll(dir)).toEqual([
    { id: "two", body: "abcd" },
    { id: "tail", body: garbled.toString() },
    { id: "none", body: "plain" },
    { id: "wrong length", body: "four" },
    { id: "last", body: "end" },
  ]);
});

test("zcat prints header and body of each response on its own line", async () => {
  const file = await archiveOf(tempDir(), ['{"a":1}', '{"b":2}']);
  const lines = gunzipSync(readFileSync(file)).toString().trimEnd().split("\n");
  expect(lines).toHaveLength(4);
  expect(lines[1]).toBe('{"a":1}');
  expect(lines[3]).toBe('{"b":2}');
});

test("a file torn at any byte gives back every response that was whole", async () => {
  const dir = tempDir();
  const bodies = ["first body", "x".repeat(3000), "third"];
  const ends: number[] = [];
  const archive = openArchive({ dir, runId: "run-1", now: NOW });
  const file = join(dir, "2025-03", "run-1.ndjson.gz");
  for (const [index, body] of bodies.entries()) {
    await archive.response(aHeader(`q${index}`, body.length), plain(body));
    ends.push(statSync(file).size);
  }
  await archive.close();
  const whole = readFileSync(file);
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 0, max: whole.length }), async (cut) => {
      writeFileSync(file, whole);
      truncateSync(file, cut);
      const found = await readAll(dir);
      const complete = ends.filter((end) => end <= cut).length;
      // The last member is only a line end: a body can be whole although its record is not.
      expect(found.length).toBeGreaterThanOrEqual(complete);
      expect(found.map(({ body }) => body)).toEqual(bodies.slice(0, found.length));
    }),
    { numRuns: 150, verbose: 1 },
  );
});

test("a run that goes on after a crash writes a second file, and both are read in order", async () => {
  const dir = tempDir();
  const file = await archiveOf(dir, ["one"]);
  appendFileSync(file, gzipSync("torn").subarray(0, 9));
  const archive = openArchive({ dir, runId: "run-1", now: NOW });
  await archive.response(aHeader("later", 3), plain("two"));
  await archive.close();
  expect((await readAll(dir)).map(({ body }) => body)).toEqual(["one", "two"]);
});

test("responses appended at the same time do not mix", async () => {
  const dir = tempDir();
  const archive = openArchive({ dir, runId: "run-1", now: NOW });
  const bodies = Array.from({ length: 50 }, (_, i) => String(i).repeat(i * 100));
  await Promise.all(bodies.map((body, i) => archive.response(aHeader(`q${i}`, body.length), plain(body))));
  await archive.close();
  const found = await readAll(dir);
  expect(new Map(found.map(({ id, body }) => [id, body]))).toEqual(new Map(bodies.map((body, i) => [`q${i}`, body])));
});

test("intents are read back although the last line is torn, and files are for their owner only", async () => {
  const dir = tempDir();
  const archive = openArchive({ dir, runId: "run-1", now: NOW });
  const { requestId, runId, stream, scope, url, sentAt } = aHeader("q1");
  await archive.intent({ requestId, runId, stream, scope, url, sentAt });
  await archive.close();
  const file = join(dir, "2025-03", "run-1.intents.ndjson");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  appendFileSync(file, '{"requestId":"q2","run');
  expect(await readIntents(dir, "run-1")).toEqual([{ requestId, runId, stream, scope, url, sentAt }]);
  expect(await readIntents(dir, "run-2")).toEqual([]);
});

test("only the asked-for run is read, and a directory without an archive is empty", async () => {
  const dir = tempDir();
  await archiveOf(dir, ["one"]);
  const other: string[] = [];
  for await (const { header } of readArchive(dir, { runId: "run-2" })) other.push(header.requestId);
  expect(other).toEqual([]);
  expect(await readAll(join(dir, "nothing"))).toEqual([]);
});

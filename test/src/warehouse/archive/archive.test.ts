import { appendFileSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { brotliCompressSync, gunzipSync, gzipSync } from "node:zlib";
import fc from "fast-check";
import { expect, test } from "vitest";
import { appendingFile, openArchive, type Wire } from "../../../../src/warehouse/archive/archive.ts";
import { readArchive, readIntents } from "../../../../src/warehouse/archive/read-archive.ts";
import { aHeader } from "../../../support/memory-archive.ts";
import { tempDir } from "../temp-dir.ts";

test("records handed over at once stand whole, in the order of the calls, and none is acknowledged before it is written", async () => {
  const path = join(tempDir(), "records");
  const file = appendingFile(() => open(path, "ax"));
  const records = Array.from({ length: 200 }, (_, index) => `${String(index).repeat((index % 7) + 1)}\n`);
  await Promise.all(
    records.map(async (record) => {
      await file.append(Buffer.from(record));
      expect(readFileSync(path, "utf8")).toContain(record);
    }),
  );
  await file.flush();
  await file.close();
  expect(readFileSync(path, "utf8")).toBe(records.join(""));
});

test("when a write fails everything in it is refused, and what follows goes to a new file", async () => {
  const dir = tempDir();
  let opened = 0;
  const file = appendingFile(() => {
    opened += 1;
    // A file opened for reading refuses to be written to.
    return opened === 1 ? open(import.meta.filename, "r") : open(join(dir, `part-${opened}`), "ax");
  });
  const outcomes = await Promise.allSettled([file.append(Buffer.from("a")), file.append(Buffer.from("b"))]);
  expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  await file.append(Buffer.from("c"));
  await file.close();
  expect(readFileSync(join(dir, "part-2"), "utf8")).toBe("c");
});

/** A file whose calls are noted, and fail where `fails` says so. */
const aDisk = (fails: (call: string, nth: number) => boolean) => {
  const calls: string[] = [];
  let files = 0;
  const openFile = async (): Promise<FileHandle> => {
    files += 1;
    const name = String(files);
    const real = await open(join(tempDir(), name), "ax");
    const call = (what: string) => {
      calls.push(`${what} ${name}`);
      if (fails(what, calls.length)) throw Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
    };
    return Object.assign(real, {
      appendFile: async () => call("write"),
      datasync: async () => call("sync"),
    });
  };
  return { calls, file: appendingFile(openFile) };
};

test("what was written before a write that fails is still made durable by the next flush", async () => {
  const { calls, file } = aDisk((_, nth) => nth === 2);
  await file.append(Buffer.from("a"));
  await expect(file.append(Buffer.from("b"))).rejects.toMatchObject({ code: "DISK_FULL" });
  await file.flush();
  expect(calls).toEqual(["write 1", "write 1", "sync 1"]);
  await file.append(Buffer.from("c"));
  await file.flush();
  expect(calls.slice(3)).toEqual(["write 2", "sync 2"]);
  await file.close();
});

test("after a flush that failed no later one succeeds: the system may have dropped what was not on the disk", async () => {
  const { calls, file } = aDisk((what) => what === "sync");
  await file.append(Buffer.from("a"));
  await expect(file.flush()).rejects.toThrow("no space left");
  await expect(file.flush()).rejects.toThrow("no space left");
  await file.append(Buffer.from("b"));
  await expect(file.flush()).rejects.toThrow("no space left");
  expect(calls).toEqual(["write 1", "sync 1", "write 1"]);
  await file.close();
});

const NOW = Date.UTC(2025, 2, 4);

const headerOf = (requestId: string, bytes = 0) => aHeader({ requestId, bytes, runId: "run-1", sentAt: NOW });
const plain = (text: string): Wire => ({ bytes: Buffer.from(text), encoding: "identity" });

const readAll = async (dir: string) => {
  const found: { id: string; body: string }[] = [];
  for await (const { header, body } of readArchive(dir)) found.push({ id: header.requestId, body: body.toString() });
  return found;
};

const archiveOf = async (dir: string, bodies: readonly string[]) => {
  const archive = openArchive({ dir, runId: "run-1", now: NOW });
  for (const [index, body] of bodies.entries()) {
    await archive.response(headerOf(`q${index}`, Buffer.byteLength(body)), plain(body));
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
  await archive.response(headerOf("gzip", text.length), { bytes: gzipped, encoding: "gzip" });
  await archive.response(headerOf("br", text.length), { bytes: brotliCompressSync(text), encoding: "br" });
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
  await archive.response(headerOf("two", 4), { bytes: two, encoding: "gzip" });
  await archive.response(headerOf("tail", 2), { bytes: garbled, encoding: "gzip" });
  await archive.response(headerOf("none", 5), { bytes: Buffer.from("plain"), encoding: "gzip" });
  await archive.response(headerOf("wrong length", 99), plain("four"));
  await archive.response(headerOf("last", 3), plain("end"));
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
    await archive.response(headerOf(`q${index}`, body.length), plain(body));
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
  await archive.response(headerOf("later", 3), plain("two"));
  await archive.close();
  expect((await readAll(dir)).map(({ body }) => body)).toEqual(["one", "two"]);
});

test("intents are read back although the last line is torn, and files are for their owner only", async () => {
  const dir = tempDir();
  const archive = openArchive({ dir, runId: "run-1", now: NOW });
  const { requestId, runId, stream, scope, url, sentAt } = headerOf("q1");
  await archive.intent({ requestId, runId, stream, scope, url, sentAt });
  await archive.close();
  const file = join(dir, "2025-03", "run-1.intents.ndjson");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  appendFileSync(file, '{"requestId":"q2","run');
  expect(await readIntents(dir, "run-1")).toEqual([{ requestId, runId, stream, scope, url, sentAt }]);
  expect(await readIntents(dir, "run-2")).toEqual([]);
});

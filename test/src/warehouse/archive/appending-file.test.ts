import { readFileSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { appendingFile } from "../../../../src/warehouse/archive/appending-file.ts";
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

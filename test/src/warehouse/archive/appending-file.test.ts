import { readFileSync } from "node:fs";
import { open } from "node:fs/promises";
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

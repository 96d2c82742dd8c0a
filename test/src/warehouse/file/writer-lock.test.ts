// One writer of a data directory, in this process and, by the kernel's lock, in all (kills: warehouse/crash.long.test.ts).
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { enterDataDir, takeWriterLock } from "../../../../src/warehouse/file/working-file.ts";
import { tempDir } from "../temp-dir.ts";

test("a second writer is refused until the first one is done, by whatever path it comes", async () => {
  const dir = tempDir();
  const linked = `${dir}-link`;
  symlinkSync(dir, linked);
  const lock = await takeWriterLock(join(dir, "writer.lock"), dir);
  for (const path of [dir, linked])
    await expect(takeWriterLock(join(path, "writer.lock"), path)).rejects.toMatchObject({ code: "WRITER_BUSY" });
  await lock.release();
  await (await takeWriterLock(join(linked, "writer.lock"), linked)).release();
});

test("a lock that cannot be taken is not held", async () => {
  const dir = tempDir();
  // A folder is no file that DuckDB opens.
  await expect(takeWriterLock(dir, dir)).rejects.not.toMatchObject({ code: "WRITER_BUSY" });
  await (await takeWriterLock(join(dir, "..", `${dir.split("/").at(-1)}.lock`), dir)).release();
});

test("a lock file that is damaged is named, since it holds nothing that a replay could bring back", async () => {
  const dir = tempDir();
  mkdirSync(join(dir, "state"));
  writeFileSync(join(dir, "state", "writer.lock"), "4711");
  await expect(enterDataDir(dir)).rejects.toMatchObject({ code: "LOCK_DAMAGED" });
});

// Directories of a test or of a test file, removed after it.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, onTestFinished } from "vitest";

const aDir = (atEnd: (end: () => void) => void): string => {
  const dir = mkdtempSync(join(tmpdir(), "duckmirror-warehouse-"));
  atEnd(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
};

/** Path of a fresh directory that goes away when the running test ends. */
export const tempDir = (): string => aDir(onTestFinished);

/** Path of a fresh directory that goes away after the last test of the file. */
export const dirForFile = (): string => aDir(afterAll);

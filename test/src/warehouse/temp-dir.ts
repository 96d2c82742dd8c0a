// A directory of its own for each test, removed after it.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** Path of a fresh directory that goes away when the running test ends. */
export const tempDir = (): string => {
  const dir = mkdtempSync(join(tmpdir(), "duckmirror-warehouse-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
};

// Folders that a test may fill; removed when the file is done.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

export const tempFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), "duckmirror-acceptance-"));
  folders.push(folder);
  return folder;
};

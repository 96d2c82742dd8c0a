// Pieces on a disk that fills up: the system may take the first bytes of a write without an error.
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { tempDir } from "../../warehouse/temp-dir.ts";

const child = fileURLToPath(new URL("pieces-child.ts", import.meta.url));

/** Writes a copy and a pack of 700,000 bytes where no file may grow beyond `blocks` of 512 bytes. */
const writtenWithin = (blocks: number): unknown => {
  const folder = tempDir();
  const source = join(folder, "source");
  writeFileSync(source, randomBytes(700_000));
  const limited = `ulimit -f ${blocks}; exec "$0" --import tsx "$@"`;
  return JSON.parse(
    execFileSync("/bin/sh", ["-c", limited, process.execPath, child, source, folder], { encoding: "utf8" }),
  );
};

test("a disk that takes only a part of the last piece fails the copy and the pack", () => {
  expect(writtenWithin(4_000)).toEqual({ copy: "written", pack: "written" });
  const full = expect.stringMatching(/EFBIG|file too large/i);
  expect(writtenWithin(1_200)).toEqual({ copy: full, pack: full });
});

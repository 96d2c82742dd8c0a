// The error of a file that could not be written says what to do: free space, or look at permissions.
import { expect, test } from "vitest";
import { unwritable } from "../../../../src/core/state/unwritable.ts";

const systemError = (code: string) => Object.assign(new Error(`${code}: no luck, write`), { code });

test.each([
  ["ENOSPC", "DISK_FULL", 1],
  ["EDQUOT", "DISK_FULL", 1],
  ["EROFS", "DATA_DIR_UNWRITABLE", 2],
  ["EACCES", "DATA_DIR_UNWRITABLE", 2],
])("%s is %s", (code, error, exitCode) => {
  const cause = systemError(code);
  expect(unwritable("/data", cause)).toMatchObject({ code: error, exitCode, cause });
  expect(unwritable("/data", cause).message).toContain(cause.message);
});

// A data directory whose path DuckDB would read in another way is refused before anything is written there.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { enterDataDir } from "../../../../src/warehouse/file/working-file.ts";
import { aFolder } from "../../../support/cli.ts";

test("a question mark in the path is refused by its name", async () => {
  const folder = join(aFolder(), "who?", "data");
  await expect(enterDataDir(folder)).rejects.toMatchObject({ code: "DATA_DIR_NAME", exitCode: 2 });
  expect(existsSync(folder)).toBe(false);
});

import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { childProgram, packageVersion, programFile } from "../../../src/core/program-files.ts";

test("files of the program are found from its root, wherever the code that asks for them is", () => {
  for (const path of ["package.json", "sql/migrations/0001_tables.sql", "src/server/page/index.html"]) {
    expect([path, existsSync(programFile(path))]).toEqual([path, true]);
  }
});

test("from the sources, a program in a process of its own gets a loader of TypeScript", () => {
  const [flag, loader, file] = childProgram("src/warehouse/user-sql/program");
  expect(flag).toBe("--import");
  expect(loader).toContain("tsx");
  expect(file).toMatch(/\/src\/warehouse\/user-sql\/program\.ts$/);
});

test("the version is that of the manifest", () => {
  expect(packageVersion()).toMatch(/^\d+\.\d+\.\d+/);
});

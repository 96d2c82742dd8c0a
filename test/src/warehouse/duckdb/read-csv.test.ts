// CSV of whatever separator and quotes, as text.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readCsv } from "../../../../src/cli/options/company-inputs.ts";
import { isCode } from "../../../../src/core/errors.ts";
import { tempDir } from "../temp-dir.ts";

const fileOf = (text: string): string => {
  const file = join(tempDir(), "list.csv");
  writeFileSync(file, text);
  return file;
};

test("columns by the first line, values as text; an empty one is none", async () => {
  const { columns, rows } = await readCsv(fileOf('domain;name\nacme.com;"Acme; Inc"\n007;\n'));
  expect(columns).toEqual(["domain", "name"]);
  expect(rows).toEqual([
    ["acme.com", "Acme; Inc"],
    ["007", null],
  ]);
});

test("a file that is not there is no CSV, in one line", async () => {
  const failure = await readCsv(join(tempDir(), "none.csv")).catch((error: unknown) => error);
  expect(failure).toSatisfy((error) => isCode(error, "USAGE"));
  expect(String(failure)).toMatch(/none\.csv cannot be read as CSV: [^\n]+$/);
});

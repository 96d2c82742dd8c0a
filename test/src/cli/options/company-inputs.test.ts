// Companies named by arguments, a file, a CSV column or stdin.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readInputs } from "../../../../src/cli/options/company-inputs.ts";
import { aFolder } from "../../../support/cli.ts";

/** Inputs by arguments and a list; `stdin`: the list comes from there instead of a file. */
const read = (wish: Partial<Parameters<typeof readInputs>[0]>, list?: string, from: "file" | "stdin" = "file") => {
  const cwd = aFolder();
  if (list !== undefined && from === "file") writeFileSync(join(cwd, "list.txt"), list);
  const file = from === "stdin" ? "-" : "list.txt";
  return readInputs(
    { args: [], ...(list === undefined ? {} : { file }), ...wish },
    { cwd, terminal: { readInput: async () => list ?? "" } },
  );
};
const refusal = (text: string | RegExp) => ({ code: "USAGE", context: { detail: expect.stringMatching(text) } });

test("arguments come first, then the lines of the list, each company once", async () => {
  expect(await read({ args: ["b.example", "a.example"] }, "c.example\nb.example\n")).toEqual([
    "b.example",
    "a.example",
    "c.example",
  ]);
});

test("empty lines, comments, spaces, a byte order mark and Windows' line ends are no companies", async () => {
  const list = "\uFEFFa.example\r\n\r\n# not this one\r\n  b.example  \r\n";
  expect(await read({}, list)).toEqual(["a.example", "b.example"]);
  expect(await read({}, list, "stdin")).toEqual(["a.example", "b.example"]);
});

test("a list of several columns is refused: one of them must be named", async () => {
  for (const list of ["a.example,1\nb.example,2\n", "a.example;1\n", "a.example\t1\n"])
    await expect(read({}, list)).rejects.toMatchObject(refusal(/several columns.*--column/));
});

test.each(["domain", "Company ID", "company_name", "Website", "companies"])(
  "a first line that looks like a column's head is refused: %s",
  async (head) => {
    await expect(read({}, `${head}\na.example\n`)).rejects.toMatchObject(refusal(`--column "${head}"`));
  },
);

test("a single line is a company, even if it looks like a head; so is a company whose name contains such a word", async () => {
  expect(await read({}, "domain\n")).toEqual(["domain"]);
  expect(await read({}, "domain.example\nb.example\n")).toEqual(["domain.example", "b.example"]);
});

test("a column of a CSV is read by its head; cells without text are left out", async () => {
  const csv = 'name,domain\n"Acme, Inc.",a.example\nNone,\nBravo, b.example \n';
  expect(await read({ column: "domain" }, csv)).toEqual(["a.example", "b.example"]);
  expect(await read({ column: "domain" }, csv, "stdin")).toEqual(["a.example", "b.example"]);
});

test("a CSV whose lines end in two ways is read whole", async () => {
  const csv = "domain,n\r\na.example,1\r\nb.example,2\nc.example,3\r\n";
  expect(await read({ column: "domain" }, csv)).toEqual(["a.example", "b.example", "c.example"]);
});

test("a column that the CSV does not have is refused, with the one that was probably meant", async () => {
  await expect(read({ column: "domian" }, "name,domain\nAcme,a.example\n")).rejects.toMatchObject(
    refusal(/no column domian \(name, domain\).*domain/),
  );
});

test("a column without a file is refused, and so is a file that cannot be read", async () => {
  await expect(read({ args: ["a.example"], column: "domain" })).rejects.toMatchObject(refusal("--file"));
  await expect(read({ file: "missing.txt" })).rejects.toMatchObject(refusal("missing.txt"));
});

test("no company at all is refused, and the message names the list that held none", async () => {
  await expect(read({})).rejects.toMatchObject(refusal("no company"));
  await expect(read({}, "# nobody\n")).rejects.toMatchObject(refusal("list.txt"));
});

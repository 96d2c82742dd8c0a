// duckmirror follow, unfollow, following: lists from files and stdin, and what is printed.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { aFolder, cli } from "../../../../support/cli.ts";

const setup = () => {
  const cwd = aFolder();
  return { cwd, env: { DUCKMIRROR_DATA_DIR: join(cwd, "data") } };
};
const followed = async (where: ReturnType<typeof setup>) => {
  const { code, out } = await cli(["following", "--json"], where);
  expect(code).toBe(0);
  return JSON.parse(out).map(({ input }: { input: string }) => input);
};

test("follows inputs of every kind, and lists them before any sync", async () => {
  const where = setup();
  const inputs = [
    "co_1042",
    "example.com",
    "https://www.example.com/about?x=1",
    "ACME",
    "https://network.example/company/acme",
    "https://funding.example/organization/acme",
  ];
  const run = await cli(["follow", ...inputs, "--json"], where);
  expect([run.code, JSON.parse(run.out)]).toEqual([0, { added: inputs, known: [] }]);
  expect(await followed(where)).toEqual(inputs);
  const table = await cli(["following"], where);
  expect(table.out).toContain("pending");
  const again = await cli(["follow", "ACME"], where);
  expect(again.out).toBe("0 companies added (1 input followed before).\n");
});

test("reads a list of lines, a column of a CSV, and stdin", async () => {
  const where = setup();
  writeFileSync(join(where.cwd, "list.txt"), "\uFEFFone.example\r\n\r\n# two\nthree.example\n");
  writeFileSync(join(where.cwd, "crm.csv"), 'Name;Website\n"A; Inc"; a.example \r\nB;\nC;c.example\n');
  expect((await cli(["follow", "--file", "list.txt"], where)).out).toBe("2 companies added.\n");
  expect((await cli(["follow", "--file", "crm.csv", "--column", "Website"], where)).code).toBe(0);
  expect((await cli(["follow", "--file", "-"], { ...where, input: "d.example\n" })).code).toBe(0);
  const piped = { ...where, input: 'site,n\n"e.example",1\n' };
  expect((await cli(["follow", "--file", "-", "--column", "site"], piped)).code).toBe(0);
  // A single line is a company, even if it looks like a head; so is one whose name contains such a word.
  for (const input of ["domain\n", "domain.example\n  one.example  \n"])
    expect((await cli(["follow", "--file", "-"], { ...where, input })).code).toBe(0);
  expect(await followed(where)).toEqual(
    ["one", "three", "a", "c", "d", "e", "domain", "domain"].map((name, nth) => (nth === 6 ? name : `${name}.example`)),
  );
});

test("says that no sync reads an input that the scope leaves out, and why it stays pending", async () => {
  const where = setup();
  const env = { ...where.env, DUCKMIRROR_SCOPE: `{"companies": {"accounts_only": true}}` };
  const run = await cli(["follow", "a.example"], { ...where, env });
  expect(run.err).toContain("No sync reads them: the setting `scope`");
  const { out } = await cli(["following", "--json"], { ...where, env });
  expect(JSON.parse(out)).toMatchObject([
    { status: "pending", error: "not asked for: the setting `scope` has `companies: {accounts_only: true}`" },
  ]);
  expect((await cli(["follow", "b.example"], where)).err).toContain(
    "The next `duckmirror sync` reads them; `duckmirror following` then names those that the service does not know.",
  );
});

test("unfollows, and says what it did", async () => {
  const where = setup();
  await cli(["follow", "a.example", "b.example"], where);
  const run = await cli(["unfollow", "a.example", "--erase", "--json"], where);
  expect([run.code, JSON.parse(run.out)]).toEqual([0, { removed: ["a.example"], erased: null }]);
  expect(await followed(where)).toEqual(["b.example"]);
  expect((await cli(["unfollow", "b.example"], where)).out).toBe("1 company is no longer followed.\n");
  expect((await cli(["following"], where)).out).toContain("No company is followed");
});

test.each<[string[], string]>([
  [["follow"], "no company was given"],
  [["follow", "--column", "x", "a"], "--column names a column of --file"],
  [["follow", "--file", "missing.txt"], "missing.txt cannot be read"],
  [["follow", "--file", "two.csv"], "several columns"],
  [["follow", "--file", "two.csv", "--column", "webiste"], "Did you mean website?"],
  [["follow", "--file", "tabs.csv"], "several columns"],
  [["follow", "--file", "nobody.txt"], "nobody.txt"],
  ...["Domain", "Company ID", "company_name", "Website", "companies"].map((head): [string[], string] => [
    ["follow", "--file", `${head}.csv`],
    `"${head}", looks like the head of a column: name it with --column "${head}"`,
  ]),
  [["follow", ".."], "names no company"],
  [["unfollow", "a.example"], "a.example is not followed"],
])("%j is refused with code 2", async (argv, named) => {
  const where = setup();
  writeFileSync(join(where.cwd, "two.csv"), "name,website\nA,a.example\n");
  writeFileSync(join(where.cwd, "tabs.csv"), "a.example\t1\n");
  writeFileSync(join(where.cwd, "nobody.txt"), "# nobody\n");
  const [, , name = ""] = argv;
  if (named.includes("the head of")) writeFileSync(join(where.cwd, name), `${name.replace(".csv", "")}\na.example\n`);
  const run = await cli(argv, where);
  expect([run.code, run.out]).toEqual([2, ""]);
  expect(run.err).toContain(named);
  expect(await followed(where)).toEqual([]);
});

import { join } from "node:path";
import { expect, test } from "vitest";
import { startSandbox } from "../../../../../src/sandbox/sandbox.ts";
import { aContactsMirror, aFolder, cli, cliIn } from "../../../../support/cli.ts";
import { forFile } from "../../../../support/for-file.ts";

const sandbox = await forFile(startSandbox({ seed: 3, accounts: 2, plan: "enterprise", maxPerPage: 100, threads: 1 }));

test("forget asks before it erases, prints what it looked through, and says it again as JSON", async () => {
  const { env, run, json } = await aContactsMirror(sandbox);
  const idsOf = async () => {
    const rows = await json("query", "select id from contacts order by id limit 2");
    return rows.map(({ id }: { id: unknown }) => String(id));
  };
  const [first = "", second = ""] = await idsOf();

  for (const more of [[], ["--resume"]]) {
    const refused = await run("forget", first, ...more);
    expect([refused.code, refused.err]).toEqual([2, expect.stringContaining("confirm with --yes")]);
  }
  expect((await cli(["forget", first], { env, answers: ["no"] })).code).toBe(0);
  expect(await idsOf()).toContain(first);

  const asked = await cli(["forget", first], { env, answers: ["yes"] });
  expect(asked.code, asked.err).toBe(0);
  expect(asked.out).toMatch(/^1 contact forgotten: 1 row, /);
  expect(asked.out).toContain("no trace of the contact's own records");
  expect(await idsOf()).not.toContain(first);

  const forget = (...words: readonly string[]) => json("forget", ...words, "--quiet");
  expect(await forget(second, "--yes")).toMatchObject({ contacts: 1, rows: { current: 1 }, scan: { left: [] } });
  expect(await forget("nobody-9", second, "--yes")).toMatchObject({ contacts: 0, kept_out: 2, rows: { current: 0 } });
  const said = await run("forget", "nobody-9", "--yes", "--quiet");
  expect(said.out).toMatch(/^0 contacts forgotten: .*\nnot mirrored, but kept out from now on: 1 contact\n/);
  expect(await forget("--resume")).toMatchObject({ contacts: 0, rows: { current: 0 } });
  expect((await run("sync", "--full", "--quiet")).code).toBe(0);
  expect((await idsOf()).some((id: string) => id === first || id === second)).toBe(false);
});

test("forget without a contact, or with an address nobody has, says what to do", async () => {
  const { run } = cliIn({ env: { DUCKMIRROR_DATA_DIR: join(aFolder(), "data") } });
  expect((await run("forget", "--yes")).err).toContain("give the id or e-mail address");
  const unknown = await run("forget", "nobody@example.com", "--yes");
  expect([unknown.code, unknown.err]).toEqual([2, expect.stringContaining("CONTACT_UNKNOWN")]);
});

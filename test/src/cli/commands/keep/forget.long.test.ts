import { join } from "node:path";
import { expect, test } from "vitest";
import { startSandbox } from "../../../../../src/sandbox/sandbox.ts";
import { aContactsMirror, aFolder, cli } from "../../../../support/cli.ts";
import { forFile } from "../../../../support/for-file.ts";

const sandbox = await forFile(startSandbox({ seed: 3, accounts: 2, plan: "enterprise", maxPerPage: 100, threads: 1 }));

test("forget asks before it erases, prints what it looked through, and says it again as JSON", async () => {
  const { env } = await aContactsMirror(sandbox);
  const idsOf = async () => {
    const { out } = await cli(["query", "select id from contacts order by id limit 2", "--format", "ndjson"], { env });
    return out
      .trim()
      .split("\n")
      .map((line) => String(JSON.parse(line).id));
  };
  const [first = "", second = ""] = await idsOf();

  const refused = await cli(["forget", first], { env });
  expect([refused.code, refused.err]).toEqual([2, expect.stringContaining("confirm with --yes")]);
  expect((await cli(["forget", first], { env, answers: ["no"] })).code).toBe(0);
  expect(await idsOf()).toContain(first);

  const asked = await cli(["forget", first], { env, answers: ["yes"] });
  expect(asked.code, asked.err).toBe(0);
  expect(asked.out).toMatch(/^1 contact forgotten: 1 row, /);
  expect(asked.out).toContain("no trace of the contact's own records");
  expect(await idsOf()).not.toContain(first);

  const json = await cli(["forget", second, "--yes", "--json", "--quiet"], { env });
  expect(JSON.parse(json.out)).toMatchObject({ contacts: 1, rows: { current: 1 }, scan: { left: [] } });
  const stranger = await cli(["forget", "nobody-9", second, "--yes", "--json", "--quiet"], { env });
  expect(JSON.parse(stranger.out)).toMatchObject({ contacts: 0, kept_out: 2, rows: { current: 0 } });
  const said = await cli(["forget", "nobody-9", "--yes", "--quiet"], { env });
  expect(said.out).toMatch(/^0 contacts forgotten: .*\nnot mirrored, but kept out from now on: 1 contact\n/);
  const again = await cli(["forget", "--resume", "--json"], { env });
  expect(JSON.parse(again.out)).toMatchObject({ contacts: 0, rows: { current: 0 } });
  expect((await cli(["sync", "--full", "--quiet"], { env })).code).toBe(0);
  expect((await idsOf()).some((id) => id === first || id === second)).toBe(false);
});

test("forget without a contact, or with an address nobody has, says what to do", async () => {
  const dataDir = join(aFolder(), "data");
  const env = { DUCKMIRROR_DATA_DIR: dataDir };
  expect((await cli(["forget", "--yes"], { env })).err).toContain("give the id or e-mail address");
  const unknown = await cli(["forget", "nobody@example.com", "--yes"], { env });
  expect([unknown.code, unknown.err]).toEqual([2, expect.stringContaining("CONTACT_UNKNOWN")]);
});

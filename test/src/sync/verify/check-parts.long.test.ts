// verify --counts: counts of parts find a row that went and one that came although the whole list's count agrees.
import { expect, test } from "vitest";
import { z } from "zod";
import { startSandbox } from "../../../../src/sandbox/sandbox.ts";
import { afterTest } from "../../../support/after-test.ts";
import { aPlaceFor, cli } from "../../../support/cli.ts";

const report = z.object({
  credits: z.object({ spent: z.number() }),
  checks: z.array(z.object({ check: z.string(), note: z.string().nullable(), credits: z.number() })),
  differences: z.array(
    z.object({
      kind: z.string(),
      key: z.string().nullable(),
      field: z.string().nullable(),
      mirror: z.string().nullable(),
      api: z.string().nullable(),
      repaired: z.boolean(),
    }),
  ),
});

/** A sandbox of about forty pages of signals, and a mirror of these. */
const mirrored = async () => {
  const sandbox = await startSandbox({ accounts: 14, seed: 3, maxPerPage: 10, requestsPerMinute: 1_000_000 });
  afterTest(() => sandbox.close());
  const { env } = aPlaceFor(sandbox, { DUCKMIRROR_STREAMS: "signals", DUCKMIRROR_RATE_LIMIT: "1000000" });
  expect((await cli(["sync", "--quiet"], { env })).code).toBe(0);
  const verify = async (...argv: readonly string[]) => {
    const { code, out, err } = await cli(["verify", "--json", "--quiet", ...argv], { env });
    if (out === "") throw new Error(err);
    return { code, ...report.parse(JSON.parse(out)) };
  };
  const ids = async (sql: string) =>
    (await sandbox.database.query(sql, [], z.object({ id: z.string() }))).map(({ id }) => id);
  return { sandbox, env, verify, ids };
};

/** Deletes one signal and adds another, with the dates of an old one: no reading of changes shows either. */
const exchange = async ({ sandbox, ids }: Awaited<ReturnType<typeof mirrored>>) => {
  const news = await ids("SELECT CAST(id AS VARCHAR) AS id FROM signals WHERE type = 'relevant-news' ORDER BY date");
  const [gone = "", pattern = ""] = [news[10], news.at(-10)];
  const [added = ""] = await ids("SELECT CAST(max(id) + 1 AS VARCHAR) AS id FROM signals");
  await sandbox.database.run(
    `INSERT INTO signals SELECT * REPLACE (${added} AS id) FROM signals WHERE id = ${pattern}`,
  );
  await sandbox.database.run(`DELETE FROM signals WHERE id = ${gone}`);
  return { gone, added };
};

const keyed = ({ differences }: z.infer<typeof report>) =>
  differences.flatMap(({ kind, key, repaired }) => (key === null ? [] : [`${kind} ${key} ${repaired}`])).sort();

test("a signal that went and one that came are found and repaired by counts of parts, within the credits", async () => {
  const mirror = await mirrored();
  const { verify } = mirror;
  const equal = await verify("--counts", "--max-credits", "12");
  expect({ code: equal.code, differences: equal.differences }).toEqual({ code: 0, differences: [] });
  expect(equal.credits.spent).toBe(12);
  expect(equal.checks.find(({ check }) => check === "parts")?.note).toMatch(
    /^1\d of 1\d parts agree by count, .*; counts prove no values, and a row that came and one that went balance within a part of up to \d+ rows$/,
  );

  const { gone, added } = await exchange(mirror);
  // A sync sees nothing: the count is the same, and no change is dated later.
  expect((await cli(["sync", "--quiet"], { env: mirror.env })).code).toBe(0);
  const found = await verify("--counts", "--max-credits", "24");
  expect(keyed(found)).toEqual([`missing ${added} false`, `vanished ${gone} false`].sort());
  const ranges = found.differences.filter(({ field }) => field?.startsWith("date=") === true);
  expect(ranges.map(({ mirror: own, api }) => Number(own) - Number(api)).sort()).toEqual([-1, 1]);
  expect(found.credits.spent).toBeLessThanOrEqual(24);

  const repaired = await verify("--counts", "--repair", "--max-credits", "24");
  expect(keyed(repaired)).toEqual([`missing ${added} true`, `vanished ${gone} true`].sort());
  expect(repaired.credits.spent).toBeLessThanOrEqual(24);
  const again = await verify("--counts", "--max-credits", "24");
  expect(again.differences).toEqual([]);
});

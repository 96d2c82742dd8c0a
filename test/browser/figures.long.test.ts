// Ten figures of the page against SQL on the same snapshot, over a mirror with a random history.
import { randomInt } from "node:crypto";
import { afterAll, expect, test } from "vitest";
import { z } from "zod";
import { openDatabase } from "../../src/warehouse/duckdb/database.ts";
import { mirrorForFile } from "../src/server/served-mirror.ts";
import { aProfile, rigForFile } from "./page-rig.ts";

const accounts = 2 + randomInt(12);
const mirror = await mirrorForFile(accounts);
for (let run = 0; run < 1 + randomInt(3); run++) {
  await mirror.sandbox.evolve(1 + randomInt(20));
  await mirror.sync();
}
const database = await openDatabase(mirror.snapshot, { readOnly: true, threads: 1 });
const rig = await rigForFile();
afterAll(() => database.close());

const sql = async (text: string): Promise<number> => {
  const [row] = await database.query(text, [], z.object({ figure: z.number() }));
  return row?.figure ?? Number.NaN;
};
/** The first number in a text, as the page writes it. */
const numberIn = (text: string | null): number => Number(/[\d,]+(\.\d+)?/.exec(text ?? "")?.[0].replaceAll(",", ""));

test("ten figures are what SQL says", async () => {
  const { url } = await rig.serve({ profiles: [aProfile(mirror.snapshot)] });
  const { page } = await rig.open(url);
  const shown = async (path: string, selector: string, at = 0) => {
    await page.goto(`${url}${path}`);
    await page.locator("#content[data-complete]").waitFor();
    return page.locator(selector).nth(at).textContent();
  };
  const figure = async (path: string, selector: string, at = 0) => numberIn(await shown(path, selector, at));
  const total = await sql("SELECT sum(row_count)::BIGINT AS figure FROM marts.freshness");
  const best = await sql("SELECT id AS figure FROM accounts ORDER BY main_score DESC NULLS LAST, id LIMIT 1");
  const last = "(SELECT run_id FROM sync.runs ORDER BY started_at DESC, run_id DESC LIMIT 1)";
  const lastCredits = await sql(
    `SELECT count(*) AS figure FROM sync.requests WHERE charge = 'spent' AND run_id = ${last}`,
  );

  expect.soft(await figure("/", ".row-total")).toBe(total);
  expect.soft(await figure("/tables", ".row-total")).toBe(total);
  expect
    .soft(await figure("/", "#credits-left"))
    .toBe(await sql("SELECT remaining AS figure FROM usage_snapshots ORDER BY captured_at DESC LIMIT 1"));
  expect.soft(numberIn(/, (\d+) credits?,/.exec((await shown("/", "#syncs p")) ?? "")?.[1] ?? "")).toBe(lastCredits);
  expect
    .soft(await figure("/tables/contacts", ".facts dd", 1))
    .toBe(await sql("SELECT count(*) AS figure FROM contacts"));
  expect
    .soft(await figure("/tables/contacts", "#columns tbody tr:nth-child(8) .number"))
    .toBe(await sql("SELECT floor(100 * count(change_type) / count(*))::BIGINT AS figure FROM contacts"));
  expect.soft(await figure("/accounts", ".lead")).toBe(await sql("SELECT count(*) AS figure FROM accounts"));
  const score = await sql(`SELECT coalesce(main_score, -1) AS figure FROM accounts WHERE id = ${best}`);
  expect.soft(await figure(`/accounts/${best}`, "#score")).toBeCloseTo(score, 1);
  const events = await sql(`SELECT count(*) AS figure FROM signals WHERE account_id = ${best}`);
  const button = page.locator("#timeline").getByRole("button", { name: /\d+ events/ });
  expect.soft(events === 0 ? 0 : numberIn(await button.textContent())).toBe(events);
  expect.soft(await figure("/runs", ".lead")).toBe(await sql("SELECT count(*) AS figure FROM sync.runs"));
  expect
    .soft(await figure("/credits", "table tbody tr:first-child .number"))
    .toBe(
      await sql(
        "SELECT count(*) AS figure FROM sync.requests WHERE charge = 'spent' AND started_at::DATE = (SELECT max(started_at::DATE) FROM sync.requests)",
      ),
    );
});

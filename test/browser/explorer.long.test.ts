// The explorer in a real browser: one result or error at a time, rows of one line, sort, filter, downloads, links, feedback.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { mirrorForFile } from "../src/server/served-mirror.ts";
import { aProfile, rigForFile, seriousFindings } from "./page-rig.ts";

let sent: unknown[] = [];

const mirror = await mirrorForFile(12);
const rig = await rigForFile();
const sendFeedback = async (feedback: unknown) => {
  sent.push(feedback);
  return { receipt: {}, credits: 1 };
};
const server = await rig.serve({ profiles: [aProfile(mirror.snapshot, { sendFeedback })] });

const editor = (page: Page) => page.locator(".editor .cm-content");

const write = async (page: Page, sql: string) => {
  await editor(page).click();
  await page.keyboard.press("Control+a");
  await page.keyboard.press("Delete");
  // As pasted: typing would complete words and close brackets.
  await page.keyboard.insertText(sql);
};

const ask = async (sql: string) => {
  const opened = await rig.open(`${server.url}/explorer`);
  await opened.page.locator("#explorer[data-editor]").waitFor();
  await write(opened.page, sql);
  await opened.page.keyboard.press("Control+Enter");
  return opened;
};

const rows = (page: Page) => page.locator("#result-table .grid-row:not(.grid-heads)");

test("a row of the widest view is one line, and unfolds with its JSON as a tree", async () => {
  const { page, complaints } = await ask("select * from marts.account_360");
  await rows(page).nth(3).waitFor();
  expect((await rows(page).first().boundingBox())?.height).toBeLessThanOrEqual(30);
  await page.locator("#result-table").focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.locator(".unfolded ul.json li").first().waitFor();
  expect(await seriousFindings(page)).toEqual([]);
  expect(complaints).toEqual([]);
  if (process.env.DUCKMIRROR_SCREENSHOTS === "1") {
    const folder = fileURLToPath(new URL("../../docs/screenshots", import.meta.url));
    await page.screenshot({ path: join(folder, "explorer-1280-light.png") });
  }
});

test("of five thousand rows only those in sight are in the page; sort and filter see all", async () => {
  const { page } = await ask("select range as n, 'row ' || range as name from range(5000)");
  await rows(page).first().waitFor();
  expect(await rows(page).count()).toBeLessThan(80);
  await page.locator("#result-table").getByRole("button", { name: /^n / }).click();
  await page.locator("#result-table").getByRole("button", { name: /^n / }).click();
  await expect.poll(() => rows(page).first().textContent()).toMatch(/^4999row 4999$/);
  await page.getByLabel("Show rows that hold").fill("row 123");
  await page.getByText("11 of 5,000 rows").waitFor();
});

test("an error replaces the result, with its caret under the place, and no hint for a terminal", async () => {
  const { page } = await ask("select 1 as one");
  await rows(page).first().waitFor();
  await write(page, "select nme from accounts");
  await page.keyboard.press("Control+Enter");
  await expect.poll(() => page.locator("#query-problem").textContent()).toContain("nme");
  expect(await page.locator("#result-table").count()).toBe(0);
  expect(await page.locator("#query-problem").textContent()).not.toContain("duckmirror ");
  const [, line = "", caret = ""] =
    /\n(LINE 1: .*)\n( *)\^/.exec((await page.locator("#query-problem pre").textContent()) ?? "") ?? [];
  expect(line.slice(caret.length)).toMatch(/^nme/);
  expect(
    await page
      .locator("#query-problem pre")
      .evaluate((pre) => pre.ownerDocument.defaultView?.getComputedStyle(pre).fontFamily),
  ).toContain("monospace");
  await write(page, "delete from accounts");
  await page.keyboard.press("Control+Enter");
  await expect.poll(() => page.locator("#query-problem").textContent()).toContain("may run");
});

test("a new run ends the one before it; Stop ends it, too", async () => {
  const { page } = await ask("select count(*) from range(100000000000) a, range(1000) b");
  await page.getByText("Running …").waitFor();
  await write(page, "select 42 as answer");
  await page.keyboard.press("Control+Enter");
  await expect.poll(() => page.locator("#result-table").textContent()).toContain("42");
  await write(page, "select count(*) from range(100000000000) a, range(1000) b");
  await page.keyboard.press("Control+Enter");
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByText("Stopped.").waitFor();
});

test("of two statements the one at the cursor runs, and the page says so", async () => {
  const { page } = await ask("select 1 as first_one;\nselect 2 as second_one");
  await expect.poll(() => page.locator("#result-table").textContent()).toContain("second_one");
  await page.getByText("This ran one of 2 statements").waitFor();
});

test("tables, columns and functions are completed", async () => {
  const { page } = await ask("select 1");
  await rows(page).first().waitFor();
  await write(page, "select * from acco");
  await page.keyboard.press("Control+Space");
  await page.locator(".cm-tooltip-autocomplete li", { hasText: "accounts" }).first().waitFor();
  await page.keyboard.press("Escape");
  await write(page, "select main_ from accounts");
  for (let at = 0; at < " from accounts".length; at++) await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("Control+Space");
  await page.locator(".cm-tooltip-autocomplete li", { hasText: "main_score" }).first().waitFor();
});

test("the address reopens the statement, and a saved query asks for its parameters", async () => {
  const { page } = await ask("select name from accounts where name <> $other order by name limit 3");
  await page.getByLabel("$other").fill("it's");
  await page.locator("#run-query").click();
  await rows(page).nth(2).waitFor();
  await page.locator(".keep summary").click();
  await page.getByLabel("Name of the query").fill("three names");
  await page.getByRole("button", { name: "Save" }).click();
  await page.goto("about:blank");
  await page.goBack();
  await page.locator("#explorer[data-editor]").waitFor();
  expect(await editor(page).textContent()).toContain("where name <> $other");
  await page.locator("#saved").selectOption({ label: "three names" });
  await page.getByLabel("$other").waitFor();
});

test("CSV, JSON and Parquet hold every row as it is, also those beyond the ones shown", async () => {
  const { page, complaints } = await ask(
    `select 'a "b", c' as text, 9007199254740993 + i as big, null as nothing from range(6000) t(i)`,
  );
  await page.getByText("5,000 rows (there are more: a download has all of them)").waitFor();
  const saved = async (name: string) => {
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name, exact: true }).click(),
    ]);
    await page.getByText(/6,000 rows, .*iB\./).waitFor();
    return file.path();
  };
  const csv = readFileSync(await saved("CSV"), "utf8").split("\r\n");
  expect([csv.length, csv[1]]).toEqual([6002, '"a ""b"", c",9007199254740993,']);
  const json = readFileSync(await saved("JSON"), "utf8");
  expect(json).toContain('{"text":"a \\"b\\", c","big":9007199254740993,"nothing":null}');
  expect(JSON.parse(json)).toHaveLength(6000);
  expect(
    readFileSync(await saved("Parquet"))
      .subarray(0, 4)
      .toString(),
  ).toBe("PAR1");
  expect(complaints).toEqual([]);
});

test("all rows of a table are downloaded from its page, and a refusal is shown there", async () => {
  const { page } = await rig.open(`${server.url}/tables/accounts`);
  const [file] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Parquet", exact: true }).click(),
  ]);
  expect(file.suggestedFilename()).toBe("accounts.parquet");
  await page.getByText(/^12 rows, .*iB\.$/).waitFor();
  await page.route("**/api/download", (route) =>
    route.fulfill({ status: 429, json: { error: { code: "BUSY", message: "Others are running.", hint: "Wait." } } }),
  );
  await page.getByRole("button", { name: "CSV", exact: true }).click();
  await page.getByText("Others are running. Wait.").waitFor();
});

test("a question is answered as a plot that says what it shows", async () => {
  const { page, complaints } = await ask("select type, count(*) as signals from signals group by type order by 2 desc");
  await rows(page).first().waitFor();
  await page.getByRole("button", { name: "Chart" }).click();
  await page.locator("#result-plot canvas").waitFor();
  expect(await page.locator("#result-plot figcaption").textContent()).toBe("signals by type");
  expect(await seriousFindings(page)).toEqual([]);
  expect(complaints).toEqual([]);
});

test("shows what a record holds as text, whatever it looks like", async () => {
  const { page } = await ask("select '<img src=x onerror=alert(1)><b>bold</b>' as name, 9007199254740993 as big");
  await rows(page).first().waitFor();
  expect(await rows(page).first().textContent()).toContain("<img src=x onerror=alert(1)><b>bold</b>");
  expect(await rows(page).first().textContent()).toContain("9007199254740993");
  expect(await rows(page).locator("img, b").count()).toBe(0);
});

test("feedback is one button that names its price, and shows what it sends", async () => {
  sent = [];
  const { page } = await ask("select id, name from accounts order by id limit 1");
  await page.getByRole("button", { name: "Send feedback to the service (1 credit)" }).click();
  await page.getByLabel("What is wrong or missing?").fill("The name is old");
  await page.getByRole("button", { name: "Send for one credit" }).click();
  await page.getByText("Sent. It cost 1 credit.").waitFor();
  expect(sent).toMatchObject([
    {
      message: "The name is old",
      category: "wrong-data",
      context: { record: { id: expect.any(Number), name: expect.any(String) } },
    },
  ]);
});

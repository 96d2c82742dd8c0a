// What people do on the page: tasks by keyboard alone, and a question of a new user.
import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { z } from "zod";
import { planJson, planSnapshotJob } from "../../jobs/plan.ts";
import { systemClock } from "../../src/core/clock.ts";
import { mirrorForFile } from "../src/server/served-mirror.ts";
import { aProfile, rigForFile, seriousFindings } from "./page-rig.ts";

const mirror = await mirrorForFile(40);
await mirror.sandbox.evolve(10);
await mirror.sync();
const rig = await rigForFile();
const plan = async (withContent: readonly string[]) =>
  planJson(await planSnapshotJob(mirror.config, { withContent }, systemClock));
const server = await rig.serve({
  profiles: [aProfile(mirror.snapshot, { plan, settings: () => mirror.config.shownSettings })],
});
const accounts = z.object({ accounts: z.array(z.object({ account_id: z.string(), name: z.string() })).min(1) });
const [account = { account_id: "", name: "" }] = accounts.parse(
  await (await fetch(`${server.url}/api/accounts`)).json(),
).accounts;

const MOST_TABS = 400;

/** Presses Tab until the focus is on an element that `wanted` names: a selector, or the text of a link or button. */
const tabTo = async (page: Page, wanted: string): Promise<void> => {
  const isThere = `(() => {
    const found = document.activeElement;
    if (found === null || found === document.body) return false;
    const wanted = ${JSON.stringify(wanted)};
    return wanted.startsWith("=") ? found.textContent.trim() === wanted.slice(1) : found.matches(wanted);
  })()`;
  for (let tabs = 0; tabs < MOST_TABS; tabs += 1) {
    if ((await page.evaluate(isThere)) === true) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`Tab does not reach ${wanted}`);
};

/**
 * Each step is a word and what belongs to it: `tab` to an element, a `key`, a text to `type`, a selector to `see`, or the
 * whole page `accessible`. What the last step sees is the end of the task.
 */
const TASKS: readonly (readonly [name: string, path: string, ...steps: string[]])[] = [
  ["skip to the content", "/", "tab .skip", "key Enter", "see #content:focus"],
  [
    "open every page",
    "/",
    ...["Tables", "Accounts", "Runs", "Credits", "Explorer", "Settings"].flatMap((title) => [
      `tab =${title}`,
      "key Enter",
      `see h1:text-is("${title}")`,
    ]),
  ],
  ["open the API reference", "/", "tab =API reference", "key Enter", "see details.route"],
  ["search from anywhere", "/runs", "key /", "type NAME", "see #found-0", "accessible", "key Enter", "see #timeline"],
  [
    "choose the second find",
    "/",
    ...["key /", "type a", "see #found-1", "key ArrowDown", "see #found-1[aria-selected=true]"],
  ],
  ["close the search", "/", "key /", "type a", "see #found-0", "key Escape", "see .found[hidden]"],
  ["switch to dark", "/", "tab #theme", "key Enter", "see html[data-theme=dark]"],
  ["unfold the tables of the overview", "/", "tab #fresh-line summary", "key Enter", "see #fresh-line[open]"],
  ["see where the credits go", "/", "tab =Where they go", "key Enter", "see #plan-card"],
  ["see what the last run did", "/", "tab =what it did", "key Enter", "see #changed"],
  ["open a table", "/tables", "tab #fresh a", "key Enter", "see #columns"],
  ["go back to all tables", "/tables/contacts", "tab .crumb a", "key Enter", "see #fresh"],
  ["download a table as CSV", "/tables/accounts", "tab =CSV", "key Enter", "see text=/^40 rows, .*B\\.$/"],
  [
    "open a table in the explorer",
    "/tables/accounts",
    ...["tab =Open in the explorer", "key Enter", "see #result-table .grid-row"],
  ],
  [
    "read earlier versions of a row",
    "/tables/accounts",
    ...["tab =History of its rows", "key Enter", "see #query-state"],
  ],
  ["filter the accounts", "/accounts", "tab #account-words", "type NAME", "see text=/^[1-9] accounts?,/"],
  ["open an account", "/accounts", "tab #accounts a", "key Enter", "see #timeline"],
  [
    "see one kind of event",
    "/accounts/ID",
    "tab #timeline fieldset button[aria-pressed=false]",
    "key Enter",
    "see #timeline fieldset button:not(:first-child)[aria-pressed=true]",
  ],
  ["see an account as a row", "/accounts/ID", "tab =As a row", "key Enter", "see #result-table .grid-row"],
  ["open a run by its bar", "/runs", "tab .timeline button", "key Enter", "see #changed"],
  [
    "open a run by its row, and the requests of one list",
    "/runs",
    ...["tab #runs a", "key Enter", "see #changed tbody tr, #changed .hint"],
    ...["tab =contacts", "key Enter", "see #requests:has-text('/v1/contacts')"],
  ],
  ["price more content", "/credits", "tab #content-choice input", "key Space", "see #yaml"],
  ["price fewer lists", "/credits", "tab #list-choice input", "key Space", "see #yaml"],
  ["run a statement", "/explorer", "tab .editor", "key Control+Enter", "see #result-table .grid-row"],
  ["leave the editor", "/explorer", "tab .editor", "tab #run-query", "see #run-query:focus"],
  [
    "unfold, sort and plot the rows of a result",
    "/explorer",
    ...["tab #run-query", "key Enter", "see #result-table"],
    ...["tab #result-table", "key ArrowDown", "key Enter", "see .unfolded", "accessible"],
    ...["tab button.head", "key Enter", "see [role=columnheader][aria-sort=ascending]"],
    ...["tab =Chart", "key Enter", "see #result-plot", "accessible"],
  ],
  [
    "filter the rows",
    "/explorer",
    ...["tab #run-query", "key Enter", "see #result-table"],
    ...["tab input[type=search]", "type zzzz", "see text=/^0 of /"],
  ],
  [
    "save a query",
    "/explorer",
    ...["tab .keep summary", "key Enter", "tab .keep input", "type mine"],
    ...["tab =Save", "key Enter", "see #saved option:text-is('mine')"],
  ],
  ["open a question", "/explorer", "tab #saved", "key ArrowDown", "see #query-state"],
  [
    "insert the name of a table",
    "/explorer",
    ...["tab nav.tree details details summary", "key Enter", "tab nav.tree button.link", "key Enter", "see .editor"],
  ],
  [
    "try a route of the API",
    "/reference",
    ...["tab details.route summary", "key Enter", "tab form.try button", "key Enter", "see text=/^Status \\d+/"],
  ],
];

test.each(TASKS.map(([name, ...task]) => ({ name, task })))("by keyboard alone: $name", async ({ task }) => {
  const [path = "", ...steps] = task;
  const { page, complaints } = await rig.open(`${server.url}${path.replace("ID", account.account_id)}`);
  if (path === "/explorer") await page.locator("#explorer[data-editor]").waitFor();
  if (path === "/explorer") await page.locator("nav.tree").waitFor();
  for (const step of steps) {
    const [, what, value = ""] = /^(\w+) ?(.*)$/.exec(step) ?? [];
    if (what === "tab") await tabTo(page, value);
    else if (what === "key") await page.keyboard.press(value);
    else if (what === "type") await page.keyboard.type(value.replace("NAME", account.name));
    else if (what === "accessible") expect(await seriousFindings(page)).toEqual([]);
    else {
      const state = value.includes("hidden") || value.includes("option") ? "attached" : "visible";
      await page.locator(value).first().waitFor({ state });
    }
  }
  expect(complaints.filter((text) => !/40\d/.test(text))).toEqual([]);
});

test("which funded accounts hire engineers, as a CSV: a question of the explorer, and a button", async () => {
  const { page } = await rig.open(server.url);
  await page.getByRole("link", { name: "Explorer" }).first().click();
  await page.locator("#explorer[data-editor]").waitFor();
  const question = page.locator("#saved option", { hasText: "raised money in the last 180 days and hire engineers" });
  await page.locator("#saved").selectOption((await question.getAttribute("value")) ?? "");
  await page.locator("#query-state").waitFor();
  const [file] = await Promise.all([
    page.waitForEvent("download"),
    page
      .getByRole("link", { name: "CSV" })
      .or(page.getByRole("button", { name: "CSV" }))
      .first()
      .click(),
  ]);
  expect(readFileSync(await file.path(), "utf8")).toMatch(
    /^account_name,latest_round,amount,raised_on,open_engineering_jobs,for_example\r\n/,
  );
});

// Every page in a real browser, over the mirror of a small sandbox: what it shows, at three widths, light and dark, by keyboard.
import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { planJson, planSnapshotJob } from "../../jobs/plan.ts";
import { isStreamName } from "../../src/catalog/streams.ts";
import { systemClock } from "../../src/core/clock.ts";
import type { DeliveryState } from "../../src/deliver/delivery-results.ts";
import { mirrorForFile } from "../src/server/served-mirror.ts";
import {
  aProfile,
  expectNoSidewaysScroll,
  expectWellDrawn,
  type Profile,
  rigForFile,
  seriousFindings,
} from "./page-rig.ts";

const first = z.object({ accounts: z.array(z.object({ account_id: z.string(), name: z.string() })).min(1) });
const ran = z.object({ runs: z.array(z.object({ run_id: z.string() })).min(1) });

const mirror = await mirrorForFile(12);
for (let run = 0; run < 4; run++) {
  await mirror.sandbox.evolve(10);
  await mirror.sync(run === 2 ? { full: true } : {});
}

const profile = (more: Partial<Profile> = {}) =>
  aProfile(mirror.snapshot, {
    plan: async (withContent: readonly string[], streams: readonly string[]) => {
      const chosen = streams.length === 0 ? mirror.config : { ...mirror.config, streams: streams.filter(isStreamName) };
      return planJson(await planSnapshotJob(chosen, { withContent }, systemClock));
    },
    settings: () => mirror.config.shownSettings,
    ...more,
  });

const rig = await rigForFile();
const server = await rig.serve({ profiles: [profile()] });
const get = async (path: string): Promise<unknown> => (await fetch(`${server.url}${path}`)).json();
const { accounts } = first.parse(await get("/api/accounts"));
const { runs } = ran.parse(await get("/api/runs"));
const account = accounts[0] ?? { account_id: "", name: "" };
/** Addresses of the pages, and the name of each for pictures. */
const pages: readonly (readonly [name: string, path: string])[] = [
  ["overview", "/"],
  ["tables", "/tables"],
  ["table", "/tables/contacts"],
  ["accounts", "/accounts"],
  ["account", `/accounts/${account.account_id}`],
  ["runs", "/runs"],
  ["run", `/runs/${runs[0]?.run_id}`],
  ["credits", "/credits"],
  ["explorer", "/explorer"],
  ["settings", "/settings"],
  ["reference", "/reference"],
];

/** Where screenshots for the documentation go; only written when asked for. */
const pictures =
  process.env.DUCKMIRROR_SCREENSHOTS === "1" ? fileURLToPath(new URL("../../docs/screenshots", import.meta.url)) : null;
if (pictures !== null) mkdirSync(pictures, { recursive: true });
const PICTURED = [
  "overview-1280-light",
  "overview-1280-dark",
  "overview-360-light",
  "account-1280-light",
  "run-1280-light",
];

/** 1280 pixels at 400% are 320. The other two are for pictures. */
const LOOKS: readonly (readonly [width: number, dark: boolean])[] = [
  [320, false],
  [768, false],
  [1280, true],
  ...(pictures === null ? [] : ([360, 1280] as const).map((width) => [width, false] as const)),
];

describe("every page", () => {
  test.each(LOOKS)(
    "at a width of %i, dark %s: accessible, nothing sticks out or moves, no console error",
    async (width, dark) => {
      for (const [name, path] of pages) {
        const opened = await rig.open(`${server.url}${path}`, { width, dark });
        const { page } = opened;
        if (name === "explorer") await page.locator("#explorer[data-editor]").waitFor();
        await expectWellDrawn(opened, name);
        const picture = `${name}-${width}-${dark ? "dark" : "light"}`;
        if (pictures !== null && PICTURED.includes(picture)) {
          await page.screenshot({ path: join(pictures, `${picture}.png`), fullPage: width === 360 });
        }
        await page.context().close();
      }
    },
  );

  test("an address that names nothing says so as a page", async () => {
    const { page } = await rig.open(server.url);
    const response = await page.goto(`${server.url}/nowhere/at/all`);
    expect(response?.status()).toBe(404);
    await page.getByText("There is no such page").waitFor();
  });

  test("shows a new publish without being loaded again", async () => {
    const { page } = await rig.open(`${server.url}/runs`);
    const before = await page.locator("#runs tbody tr").count();
    await mirror.sandbox.evolve(5);
    await mirror.sync();
    await expect.poll(() => page.locator("#runs tbody tr").count(), { timeout: 120_000 }).toBe(before + 1);
  });

  test("keeps the chosen theme", async () => {
    const { page } = await rig.open(server.url);
    await page.locator("#theme").click();
    await page.reload();
    expect(await page.evaluate("document.documentElement.dataset.theme")).toBe("dark");
  });
});

test("an account has a timeline that can be narrowed to one kind, and shows what changed since the last visit", async () => {
  const { page } = await rig.open(`${server.url}/accounts/${account.account_id}`);
  await page.getByText("Your next visit shows what is new since this one.").waitFor();
  const all = await page.locator("#timeline .events li").count();
  await page
    .locator("#timeline")
    .getByRole("button", { name: /\d+ events/ })
    .click();
  expect(await page.locator("#timeline .events li .badge").allInnerTexts()).toContain("event");
  expect(new Set(await page.locator("#timeline .events li .badge").allInnerTexts())).toEqual(new Set(["event"]));
  expect(all).toBeGreaterThan(0);
  await page.reload();
  await page.getByText(/\d+ changes? since your last visit\./).waitFor();
});

test("a table shows its columns with meaning and how often they are filled, and leads to the explorer", async () => {
  const { page } = await rig.open(`${server.url}/tables/contacts`);
  const id = page.locator("#columns tbody tr").first();
  expect(await id.textContent()).toMatch(/^idVARCHAR100%/);
  await page.getByRole("link", { name: "Open in the explorer" }).click();
  await page.locator("#result-table .grid-row").nth(2).waitFor();
});

test("another choice of content shows its price and prints the lines for duckmirror.yaml; nothing else changes", async () => {
  const { page, complaints } = await rig.open(`${server.url}/credits`);
  const choice = page.getByRole("checkbox", { name: /^signals\.fullContent/ });
  await choice.check();
  await expect.poll(() => page.locator("#content-choice").textContent()).toMatch(/signals\.fullContent .*credit/);
  expect(await page.locator("#yaml").textContent()).toBe("content:\n  - signals.fullContent");
  await choice.uncheck();
  expect(await page.locator("#yaml").count()).toBe(0);
  expect(complaints).toEqual([]);
});

test("another choice of lists shows its price beside the one in force, also of lists that are not due", async () => {
  const { page, complaints } = await rig.open(`${server.url}/credits`);
  const list = page.getByRole("checkbox", { name: /^signals / });
  expect(await page.locator("#list-choice label", { hasText: /^ ?earnings_calls/ }).textContent()).toMatch(
    /nothing is due now|credit/,
  );
  await list.uncheck();
  await expect
    .poll(() => page.locator("#plan-lead").textContent())
    .toMatch(/a day\. With the lists in force: \d+ credit/);
  expect(await page.locator("#yaml").textContent()).toMatch(/^streams:\n {2}- accounts\n(?!.*signals\n)/);
  await expect.poll(() => page.locator("#plan-card table").textContent()).not.toContain("signals");
  await list.check();
  expect(await page.locator("#yaml").count()).toBe(0);
  expect(complaints).toEqual([]);
});

test("settings are shown with where each comes from, and never a secret", async () => {
  const { page } = await rig.open(`${server.url}/settings`);
  const row = (name: string) => page.locator("#settings tbody tr", { has: page.getByText(name, { exact: true }) });
  expect(await row("rate_limit").textContent()).toContain("DUCKMIRROR_RATE_LIMIT");
  expect(await row("token").textContent()).toMatch(/^tokensetDUCKMIRROR_TOKEN/);
  expect(await page.content()).not.toContain(mirror.sandbox.token);
});

test("destinations say how far each is, and why a delivery fails; the overview points there", async () => {
  const totals = { deliveries: 1, failures: 3, ms: 10, written: 3, deleted: 0, bytes: 9 };
  const failing = { since: 0, at: Date.now(), code: "DESTINATION_AWAY", attempts: 3, givenUp: false };
  const publishedAt = statSync(mirror.snapshot).mtimeMs - 7_200_000;
  const held = { n: 3, publishedAt, deliveredAt: Date.now(), ms: 10, leftOut: [] };
  const deliveries = async (): Promise<readonly DeliveryState[]> => [
    { name: "crm", kind: "postgres", note: { v: 1, held, failing, totals } },
    { name: "lake", kind: "ducklake", note: null },
  ];
  const { url } = await rig.serve({ profiles: [profile({ deliveries })] });
  const { page, complaints } = await rig.open(url, { width: 360 });
  await page.locator("#attention").getByText("DESTINATION_AWAY").waitFor();
  await page.locator("#attention").getByRole("link", { name: "crm" }).click();
  const card = page.locator("#destinations-card");
  await expect.poll(() => card.textContent()).toContain("2 of 2 destinations without");
  const rows = card.locator("tbody tr");
  expect(await rows.nth(0).textContent()).toMatch(/crm.*failing: DESTINATION_AWAY, 3 attempts.*2h/);
  expect(await rows.nth(1).textContent()).toContain("never delivered");
  await expectNoSidewaysScroll(page);
  expect(await seriousFindings(page)).toEqual([]);
  expect(complaints).toEqual([]);
});

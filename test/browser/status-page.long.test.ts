// The status page in a real browser, over the mirror of a small sandbox.
import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { planJson, planSnapshotJob } from "../../jobs/plan.ts";
import { systemClock } from "../../src/core/clock.ts";
import type { DeliveryState } from "../../src/deliver/notes.ts";
import type { RunningServer } from "../../src/server/listen.ts";
import { type ServedMirror, serveMirror } from "../src/server/served-mirror.ts";
import { expectNoSidewaysScroll, type PageRig, seriousFindings, startPageRig } from "./page-rig.ts";

let mirror: ServedMirror;
let rig: PageRig;
let server: RunningServer;
let sent: unknown[] = [];

beforeAll(async () => {
  mirror = await serveMirror(12);
  for (let run = 0; run < 4; run++) {
    await mirror.sandbox.evolve(10);
    await mirror.sync(run === 2 ? { full: true } : {});
  }
  rig = await startPageRig();
  server = await rig.serve({ profiles: [profile()] });
});
afterAll(async () => {
  await rig.close();
  await mirror.close();
});

const profile = () => ({
  name: "default",
  snapshot: mirror.snapshot,
  ratePerMinute: 300,
  sendFeedback: async (feedback: unknown) => {
    sent.push(feedback);
    return { receipt: {}, credits: 1 };
  },
});

/** Where screenshots for the documentation go; only written when asked for. */
const pictures =
  process.env.DUCKMIRROR_SCREENSHOTS === "1" ? fileURLToPath(new URL("../../docs/screenshots", import.meta.url)) : null;
if (pictures !== null) mkdirSync(pictures, { recursive: true });

describe("the status page", () => {
  test.each([
    [360, false],
    [768, true],
    [1280, false],
    [1280, true],
  ])("at a width of %i, dark %s: complete, accessible, nothing sticks out, no console error", async (width, dark) => {
    const { page, complaints } = await rig.open(server.url, { width, dark });
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.locator("#result-table tbody tr").first().waitFor();
    expect(await page.locator("#fresh tbody tr").count()).toBe(16);
    expect(await page.locator("#timeline button").count()).toBe(5);
    await expectNoSidewaysScroll(page);
    expect(await seriousFindings(page)).toEqual([]);
    expect(complaints).toEqual([]);
    if (pictures !== null) {
      const path = join(pictures, `status-${width}-${dark ? "dark" : "light"}.png`);
      await page.screenshot({ path, fullPage: true });
    }
    await page.context().close();
  });

  test("shows the rows and credits that the snapshot holds", async () => {
    const { page } = await rig.open(server.url);
    const { limit } = mirror.sandbox.stats().credits;
    await expect.poll(() => page.locator("#tiles").textContent()).toContain(`of ${limit.toLocaleString("en-US")}`);
    await expect
      .poll(() => page.locator("#verdict").textContent())
      .toMatch(/^(Complete|\d+ of \d+ lists|Out of credits)/);
    expect(await page.locator("#verdict").getAttribute("data-level")).not.toBe("none");
    const accounts = page.locator("#fresh tbody tr", { hasText: "accounts" }).first();
    expect(await accounts.textContent()).toMatch(/accounts\s*1[0-9]/);
    await page.context().close();
  });

  test("shows how far each destination is, and why a delivery fails", async () => {
    const totals = { deliveries: 1, failures: 3, ms: 10, written: 3, deleted: 0, bytes: 9 };
    const failing = { since: 0, at: Date.now(), code: "DESTINATION_AWAY", attempts: 3, givenUp: false };
    const held = {
      n: 3,
      publishedAt: statSync(mirror.snapshot).mtimeMs - 7_200_000,
      deliveredAt: Date.now(),
      ms: 10,
      leftOut: [],
    };
    const deliveries = async (): Promise<readonly DeliveryState[]> => [
      { name: "crm", kind: "postgres", note: { v: 1, held, failing, totals } },
      { name: "lake", kind: "ducklake", note: null },
    ];
    const { url } = await rig.serve({ profiles: [{ ...profile(), deliveries }] });
    const { page, complaints } = await rig.open(url, { width: 360 });
    const card = page.locator("#destinations-card");
    await expect.poll(() => card.textContent()).toContain("2 of 2 destinations without");
    const rows = card.locator("tbody tr");
    expect(await rows.nth(0).textContent()).toMatch(/crm.*failing: DESTINATION_AWAY, 3 attempts.*2h/);
    expect(await rows.nth(1).textContent()).toContain("never delivered");
    await expectNoSidewaysScroll(page);
    expect(await seriousFindings(page)).toEqual([]);
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  test("leads from a run to its streams and requests, by keyboard alone, and back", async () => {
    const { page, complaints } = await rig.open(server.url);
    await page.locator("#runs tbody button").last().focus();
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "contacts" }).focus();
    await page.keyboard.press("Enter");
    await dialog.getByText("Requests of contacts").first().waitFor();
    await expect.poll(() => dialog.textContent()).toContain("/v1/contacts");
    expect(await seriousFindings(page)).toEqual([]);
    if (pictures !== null) await page.screenshot({ path: join(pictures, "run-1280.png") });
    await page.keyboard.press("Escape");
    expect(await dialog.isVisible()).toBe(false);
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  test("shows a new publish without being loaded again", async () => {
    const { page } = await rig.open(server.url);
    const before = await page.locator("#timeline button").count();
    await mirror.sandbox.evolve(5);
    await mirror.sync();
    await expect.poll(() => page.locator("#timeline button").count(), { timeout: 120_000 }).toBe(before + 1);
    await page.context().close();
  });

  test("keeps the chosen theme", async () => {
    const { page } = await rig.open(server.url);
    await page.locator("#theme").click();
    await page.reload();
    expect(await page.evaluate("document.documentElement.dataset.theme")).toBe("dark");
    await page.context().close();
  });
});

test("the cost of the next sync is shown with the content that the user chooses", async () => {
  const request = { streams: [], full: false, maxDurationMs: null, allowMassDelete: false };
  const plan = async (withContent: readonly string[]) =>
    planJson(await planSnapshotJob(mirror.config, { ...request, withContent }, systemClock));
  const planning = await rig.serve({ profiles: [{ ...profile(), plan }] });
  const { page, complaints } = await rig.open(planning.url);
  const choice = page.locator("#plan-with");
  expect(await choice.evaluate((select) => select.labels?.length)).toBe(1);
  expect(await page.locator("#plan-price").textContent()).toBe("");
  await choice.selectOption("signals.fullContent");
  await expect.poll(() => page.locator("#plan-price").textContent()).toMatch(/^signals\.fullContent: .*credit/);
  await choice.selectOption("");
  await expect.poll(() => page.locator("#plan-price").textContent()).toBe("");
  expect(await seriousFindings(page)).toEqual([]);
  expect(complaints).toEqual([]);
  await page.context().close();
});

describe("the explorer", () => {
  const ask = async (sql: string) => {
    const { page, complaints } = await rig.open(server.url);
    await page.locator("#sql").fill(sql);
    await page.keyboard.press("Control+Enter");
    return { page, complaints };
  };

  test("answers a saved question as table and as plot", async () => {
    const { page, complaints } = await rig.open(server.url);
    await page.locator("#saved").selectOption("hottest-accounts");
    await page.locator("#result-table tbody tr").first().waitFor();
    await page
      .locator("#sql")
      .fill("select type, count(*) as signals from signals group by type order by signals desc");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByRole("button", { name: "Chart" }).click();
    await page.locator("#result-plot canvas").waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    if (pictures !== null) await page.locator("#explorer").screenshot({ path: join(pictures, "explorer-1280.png") });
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  test("shows what a record holds as text, whatever it looks like", async () => {
    const { page } = await ask("select '<img src=x onerror=alert(1)><b>bold</b>' as name, 9007199254740993 as big");
    const row = page.locator("#result-table tbody tr").first();
    await row.waitFor();
    expect(await row.textContent()).toContain("<img src=x onerror=alert(1)><b>bold</b>");
    expect(await row.textContent()).toContain("9007199254740993");
    expect(await row.locator("img, b").count()).toBe(0);
    await page.context().close();
  });

  test("says what is wrong with a query, and refuses to write or to read files", async () => {
    const { page } = await ask("select nme from accounts");
    await expect.poll(() => page.locator("#query-problem").textContent()).toContain("nme");
    await page.locator("#sql").fill("delete from accounts");
    await page.keyboard.press("Control+Enter");
    await expect.poll(() => page.locator("#query-problem").textContent()).toContain("may run");
    await page.context().close();
  });

  test("stops a query that takes long", async () => {
    const { page } = await ask("select count(*) from range(100000000000) a, range(1000) b");
    await page.getByRole("button", { name: "Stop" }).click();
    await expect.poll(() => page.locator("#query-state").textContent()).toBe("stopped");
    await page.locator("#sql").fill("select 42 as answer");
    await page.keyboard.press("Control+Enter");
    await expect.poll(() => page.locator("#result-table").textContent()).toContain("42");
    await page.context().close();
  });

  test("sends feedback on a chosen record with the record filled in", async () => {
    sent = [];
    const { page } = await ask("select id, name from accounts order by id limit 1");
    await page.getByRole("button", { name: "Feedback on row 1" }).click();
    await page.getByLabel("What is wrong or missing?").fill("The name is old");
    await page.getByRole("button", { name: "Send" }).click();
    await expect.poll(() => page.locator("#feedback-state").textContent()).toContain("1 credit");
    expect(sent).toMatchObject([
      {
        message: "The name is old",
        category: "wrong-data",
        context: { record: { id: expect.any(Number), name: expect.any(String) } },
      },
    ]);
    await page.context().close();
  });
});

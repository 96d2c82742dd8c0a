// The page of the queues in a real browser, under a policy as strict as the server's own.
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { BEARER, serveQueue } from "../src/server/served-queue.ts";
import { startBrowser } from "./chromium.ts";

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

test("queues and their jobs are shown, without a complaint of the browser and with nothing from elsewhere", async () => {
  const { url, runId } = await serveQueue();
  const context = await browser.newContext({ extraHTTPHeaders: BEARER });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("response", (response) => {
    if (!response.url().startsWith(`${url}/queues`)) complaints.push(`asked ${response.url()}`);
    if (response.status() >= 400) complaints.push(`${response.status()} ${response.url()}`);
  });
  await page.goto(`${url}/queues`);
  await page.getByRole("link", { name: /sync/ }).first().click();
  await page.waitForURL(`${url}/queues/queue/sync**`);
  await page.goto(`${url}/queues/queue/sync/${runId}`);
  await page.getByText(runId).first().waitFor();
  await page.waitForLoadState("networkidle");
  expect(complaints).toEqual([]);
  await context.close();
});

test("while Redis is away the page says so and does not break; when it is back the queues are there again", async () => {
  const { url, runId, redis } = await serveQueue();
  const context = await browser.newContext({ extraHTTPHeaders: BEARER });
  const page = await context.newPage();
  const broken: string[] = [];
  page.on("pageerror", (error) => broken.push(String(error)));
  await page.goto(`${url}/queues/queue/sync?status=completed`);
  await page.getByText(runId).first().waitFor();
  await redis.kill();
  await page.reload();
  await page.getByText("Redis does not answer.").first().waitFor();
  await redis.restart();
  // What it held is gone with its memory; the queues are shown as empty instead of as missing.
  await page.reload();
  await page.getByRole("link", { name: /sync/ }).first().waitFor();
  expect(broken).toEqual([]);
  await context.close();
});

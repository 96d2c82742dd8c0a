import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { ProgressEvent } from "../../src/core/report/sync-progress.ts";
import type { RequestedSync, SyncRequest, SyncTriggers } from "../../src/core/report/triggers.ts";
import { Secret } from "../../src/core/secret.ts";
import { addKey } from "../../src/server/access/key-store.ts";
import { mirrorForFile } from "../src/server/served-mirror.ts";
import { tempDir } from "../src/warehouse/temp-dir.ts";
import { expectNoSidewaysScroll, layoutShift, rigForFile, seriousFindings } from "./page-rig.ts";

const KEY = "0123456789abcdef0123456789abcdef";

const mirror = await mirrorForFile(2);
const rig = await rigForFile();

const profiles = (...names: readonly string[]) =>
  names.map((name) => ({ name, snapshot: mirror.snapshot, ratePerMinute: null }));

/** Stands in for a worker: remembers what it was asked, and ends runs when the test says so. */
const fakeWorker = () => {
  const asks: SyncRequest[] = [];
  const cancelled: string[] = [];
  const listeners = new Set<Parameters<NonNullable<SyncTriggers["listen"]>>[0]>();
  let state: RequestedSync["state"] = "running";
  const triggers: SyncTriggers = {
    start: async (ask) => {
      asks.push(ask);
      return { runId: "run-1", joined: false };
    },
    verify: async () => ({ runId: "check-1", joined: false }),
    find: async (runId) => ({ runId, state, profile: "default", askedAt: Date.now(), report: null, error: null }),
    cancel: async (runId) => {
      cancelled.push(runId);
      state = "cancelled";
      return true;
    },
    listen: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  const tell = (event: ProgressEvent) => {
    for (const listener of listeners) listener(event, { runId: "run-1", profile: "default" });
  };
  return { triggers, asks, cancelled, tell };
};

describe("buttons", () => {
  test("start a sync, tell what it does, and cancel it", async () => {
    const worker = fakeWorker();
    const { url } = await rig.serve({ profiles: profiles("default"), triggers: worker.triggers });
    const { page, complaints } = await rig.open(url);
    await page.getByLabel("read every row again").check();
    await page.getByRole("button", { name: "Sync now" }).click();
    await page.getByText("run-1").waitFor();
    expect(worker.asks).toEqual([
      { streams: [], full: true, profile: "default", idempotencyKey: null, timeoutMs: null },
    ]);
    const page1 = { requests: 3, credits: 3, rows: 250, pagesDone: 3, pagesTotal: 9, rowsTotal: 900 };
    worker.tell({ kind: "page", stream: "contacts", ...page1 });
    await page.getByText("contacts: 250 rows").waitFor();
    // A wait stays to be seen when the answer to an earlier request comes in.
    worker.tell({ kind: "waiting", why: "rate", until: Date.now() + 300_000, stream: null });
    worker.tell({ kind: "page", stream: "contacts", ...page1, rows: 300 });
    await page.getByText(/contacts: 300 rows, 3 requests; waits for the rate limit until \d/).waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    await page.getByRole("button", { name: "Cancel run run-1" }).click();
    await page.locator("#active .badge", { hasText: "cancelled" }).waitFor();
    expect(worker.cancelled).toEqual(["run-1"]);
    await page.getByRole("button", { name: "Verify (at most 20 credits)" }).click();
    await page.getByText("check-1").waitFor();
    expect(complaints).toEqual([]);
  });

  test("are not there where the server starts nothing", async () => {
    const { url } = await rig.serve({ profiles: profiles("default") });
    const { page } = await rig.open(url);
    expect(await page.getByRole("button", { name: "Sync now" }).count()).toBe(0);
  });
});

test("a key that may only read sees no button that starts or changes anything", async () => {
  const keyFile = join(tempDir(), "keys.json");
  const reading = await addKey(keyFile, { name: "reader", role: "read", expiresAt: null }, Date.now());
  const worker = fakeWorker();
  const sendFeedback = async () => ({ receipt: {}, credits: 1 });
  const { url } = await rig.serve({
    profiles: profiles("default").map((profile) => ({ ...profile, sendFeedback })),
    triggers: worker.triggers,
    keyFile,
  });
  const { page } = await rig.open(`${url}/login`, { settled: false });
  await page.getByLabel("Server key").fill(reading.reveal());
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByText("This key may read.").waitFor();
  expect(await page.getByRole("button", { name: /Sync now|Verify/ }).count()).toBe(0);
  await page.goto(`${url}/explorer`);
  await page.locator("#explorer[data-editor]").waitFor();
  await page.locator("#run-query").click();
  await page.getByRole("button", { name: "CSV" }).waitFor();
  expect(await page.getByRole("button", { name: /feedback/ }).count()).toBe(0);
});

test("the login lets only the key in, for as long as nobody logs out", async () => {
  const { url } = await rig.serve({ profiles: profiles("default"), key: new Secret(KEY) });
  const { page, complaints } = await rig.open(url, { settled: false, width: 360 });
  expect(page.url()).toBe(`${url}/login`);
  expect(await seriousFindings(page)).toEqual([]);
  await page.getByLabel("Server key").fill("not the key at all");
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByText("That is not the key.").waitFor();
  await page.getByLabel("Server key").fill(KEY);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.locator("#content[data-complete]").waitFor();
  const [cookie] = await page.context().cookies();
  expect(cookie).toMatchObject({ httpOnly: true, sameSite: "Strict" });
  expect(cookie?.value).not.toContain(KEY);
  expect(await page.evaluate("document.cookie")).toBe("");
  await page.getByRole("button", { name: "Log out" }).click();
  await page.waitForURL(`${url}/login`);
  await page.goto(url);
  expect(page.url()).toBe(`${url}/login`);
  expect(complaints).toEqual([]);
});

test("several organizations are chosen by name", async () => {
  const { url } = await rig.serve({ profiles: profiles("north", "south") });
  const { page } = await rig.open(url);
  await page.getByLabel("Organization").selectOption("south");
  await page.waitForURL(`${url}/?profile=south`);
  await page.locator("#content[data-complete]").waitFor();
  expect(await page.getByLabel("Organization").inputValue()).toBe("south");
});

test("the API reference is a page of its own, tries a call against the mirror, and is accessible", async () => {
  const { url } = await rig.serve({ profiles: profiles("north", "south") });
  for (const width of [1280, 360]) {
    const { page, complaints } = await rig.open(`${url}/reference?profile=south`, { width });
    const account = page.locator("summary", { hasText: "/v1/accounts/{accountId}" }).first();
    await account.waitFor();
    // Before any click: what an answer moves is excused for half a second only, and a busy machine takes longer.
    expect(await layoutShift(page)).toBeLessThanOrEqual(0.02);
    await account.click();
    await page.getByLabel("accountId").fill("999999999");
    const [asked] = await Promise.all([
      page.waitForResponse((response) => response.url().includes("/v1/")),
      page.getByRole("button", { name: "Try it" }).click(),
    ]);
    expect(new URL(asked.url()).pathname).toBe("/profiles/south/v1/accounts/999999999");
    await page.getByText("Status 404").waitFor();
    const counts = page.locator("details.route", { hasText: "/v1/signals/counts" });
    await counts.locator("summary").click();
    await counts.getByRole("button", { name: "Try it" }).click();
    await page.getByText("Status 200").waitFor();
    await page.locator("summary", { hasText: /^Contact / }).click();
    await page.getByText("currentTitle", { exact: true }).first().waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    await expectNoSidewaysScroll(page);
    expect(complaints.filter((text) => !text.includes("404"))).toEqual([]);
  }
});

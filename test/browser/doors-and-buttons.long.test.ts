// What a worker, keys and several organizations add to the page: buttons, the fleet, followed companies, the login.
import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import type { Fleet, SeenMember } from "../../src/core/report/fleet.ts";
import type { ProgressEvent } from "../../src/core/report/sync-progress.ts";
import type { RequestedSync, SyncTriggers, TriggerRequest } from "../../src/core/report/triggers.ts";
import { Secret } from "../../src/core/secret.ts";
import { addKey } from "../../src/server/access/key-store.ts";
import { mirrorForFile } from "../src/server/served-mirror.ts";
import { tempDir } from "../src/warehouse/temp-dir.ts";
import {
  aProfile,
  expectNoSidewaysScroll,
  layoutShift,
  type Profile,
  rigForFile,
  seriousFindings,
} from "./page-rig.ts";

const KEY = "0123456789abcdef0123456789abcdef";

const mirror = await mirrorForFile(2);
const rig = await rigForFile();

const profiles = (...names: readonly string[]) => names.map((name) => aProfile(mirror.snapshot, { name }));
const served = async (more: Partial<Profile>, fleet?: () => Promise<Fleet>) => {
  const { url } = await rig.serve({ profiles: [aProfile(mirror.snapshot, more)], ...(fleet ? { fleet } : {}) });
  return url;
};

/** Stands in for a worker: remembers what it was asked, and ends runs when the test says so. */
const fakeWorker = () => {
  const asks: TriggerRequest[] = [];
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

test("buttons start a sync, tell what it does, and cancel it", async () => {
  const worker = fakeWorker();
  const { url } = await rig.serve({ profiles: profiles("default"), triggers: worker.triggers });
  const { page, complaints } = await rig.open(url);
  await page.getByLabel("read every row again").check();
  await page.getByRole("button", { name: "Sync now" }).click();
  await page.getByText("run-1").waitFor();
  expect(worker.asks).toEqual([{ streams: [], full: true, profile: "default", idempotencyKey: null, timeoutMs: null }]);
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

test("buttons are not there where the server starts nothing", async () => {
  const { page } = await rig.open(await served({}));
  expect(await page.getByRole("button", { name: "Sync now" }).count()).toBe(0);
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
  const { page } = await rig.openBoth(`${url}/login`, () => undefined, { settled: false });
  await page.getByLabel("Server key").fill(reading.reveal());
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByText("This key may read.").waitFor();
  expect(await seriousFindings(page)).toEqual([]);
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

const lines = (page: Page, card: string) => page.locator(card).locator("tbody tr").allInnerTexts();

test("followed companies have company, status and problem, those with a problem first; without any there is no such part", async () => {
  const resolved = { company_id: "77", status: "resolved", since: "2026-11-01T00:00:00.000Z", resolved_at: null };
  const lost = { company_id: null, status: "not_found", since: null, resolved_at: null, error: "nobody knows it" };
  const following = (...inputs: readonly object[]) => ({
    following: { list: async () => inputs, add: async () => ({ added: [] }), remove: async () => ({ removed: [] }) },
  });
  const some = following({ ...resolved, input: "acme.example" }, { ...lost, input: "<b>nobody.example</b>" });
  await rig.openBoth(`${await served(some)}/accounts`, async (page) => {
    await page.locator("#following-card").getByText("2 inputs, 1 with a problem.").waitFor();
    expect(await lines(page, "#following-card")).toEqual([
      expect.stringMatching(/<b>nobody\.example<\/b>[\s\S]*nobody knows it/),
      expect.stringMatching(/acme\.example\s+77\s+found/),
    ]);
  });
  const { page } = await rig.open(`${await served(following())}/accounts`);
  expect(await page.locator("#following-card").count()).toBe(0);
});

const NOW = 1_800_000_000_000;
const aMember = (more: Partial<SeenMember>): SeenMember => ({
  ...{ reads: 3, id: "m", version: "1.2.3", host: "night-1", pid: 7, unable: [], in_flight: 0, silent_ms: null },
  ...{ since: NOW - 3_600_000, seen_at: NOW - 1_000 },
  ...more,
});
const aQueue = { waiting: 0, active: 0, delayed: 0, blocked: 0, failed: 0, paused: false };

test("the fleet has members, a silent one among them, queues and pauses", async () => {
  const fleet = async (): Promise<Fleet> => ({
    now: NOW,
    members: [aMember({}), aMember({ id: "k", host: "night-2", seen_at: NOW - 21_000, silent_ms: 21_000 })],
    queues: [
      { ...aQueue, name: "sync", waiting: 12, oldest_waiting_ms: 240_000 },
      { ...aQueue, name: "pages-0123456789abcdef", paused: true, oldest_waiting_ms: null },
    ],
    paused: [
      { kind: "fleet", name: null, since: NOW - 600_000 },
      { kind: "queue", name: "pages-0123456789abcdef", since: null },
    ],
  });
  await rig.openBoth(`${await served({}, fleet)}/runs`, async (page) => {
    const card = page.locator("#fleet");
    for (const text of ["night-2", "silent for 21s", "alive", "pages-0123456789abcdef", "4m"])
      await card.getByText(text, { exact: true }).first().waitFor();
    await card.getByText("The fleet is paused since 10m").waitFor();
    await card.getByText("Queue pages-0123456789abcdef is paused").waitFor();
  });
});

test("while Redis is away the page says so; without Redis there is no fleet", async () => {
  const { page } = await rig.open(`${await served({}, () => Promise.reject(new Error("away")))}/runs`);
  await page.getByText("Redis does not answer; these figures are old.").waitFor();
  const plain = await rig.open(`${await served({})}/runs`);
  expect(await plain.page.locator("#fleet").count()).toBe(0);
  expect(plain.complaints).toEqual([]);
});

// Workers, queues and pauses on the status page, in a real browser.
import { expect, test } from "vitest";
import type { Fleet, SeenMember } from "../../src/core/report/fleet.ts";
import { mirrorForFile } from "../src/server/served-mirror.ts";
import { expectNoSidewaysScroll, rigForFile, seriousFindings } from "./page-rig.ts";

const mirror = await mirrorForFile(2);
const rig = await rigForFile();

const NOW = 1_800_000_000_000;
const aMember = (more: Partial<SeenMember>): SeenMember => ({
  reads: 3,
  id: "m",
  version: "1.2.3",
  host: "night-1",
  pid: 7,
  unable: [],
  since: NOW - 3_600_000,
  seen_at: NOW - 1_000,
  in_flight: 0,
  silent_ms: null,
  ...more,
});
const aQueue = {
  profile: null,
  waiting: 0,
  active: 0,
  delayed: 0,
  blocked: 0,
  failed: 0,
  paused: false,
  oldest_waiting_ms: null,
};

const serve = (fleet?: () => Promise<Fleet>) => {
  const profiles = [{ name: "default", snapshot: mirror.snapshot, ratePerMinute: null }];
  return rig.serve({ profiles, ...(fleet === undefined ? {} : { fleet }) });
};

test("the page shows members, a silent one among them, queues and pauses, for everyone and on a phone", async () => {
  const { url } = await serve(async () => ({
    now: NOW,
    members: [aMember({}), aMember({ id: "k", host: "night-2", seen_at: NOW - 21_000, silent_ms: 21_000 })],
    queues: [
      { ...aQueue, name: "sync", waiting: 12, oldest_waiting_ms: 240_000 },
      { ...aQueue, name: "pages-0123456789abcdef", profile: "acme", paused: true },
    ],
    paused: [
      { kind: "fleet", name: null, since: NOW - 600_000 },
      { kind: "queue", name: "pages-0123456789abcdef", since: null },
    ],
  }));
  for (const width of [1280, 360]) {
    const { page, complaints } = await rig.open(`${url}/runs`, { width });
    const card = page.locator("#fleet");
    for (const text of ["night-2", "silent for 21s", "alive", "pages-0123456789abcdef", "4m"]) {
      await card.getByText(text, { exact: true }).first().waitFor();
    }
    await card.getByText("The fleet is paused since 10m").waitFor();
    await card.getByText("Queue pages-0123456789abcdef is paused").waitFor();
    await expectNoSidewaysScroll(page);
    expect(await seriousFindings(page)).toEqual([]);
    expect(complaints).toEqual([]);
  }
});

test("while Redis is away the page says so; without Redis there is no such part", async () => {
  const away = await serve(() => Promise.reject(new Error("away")));
  const { page } = await rig.open(`${away.url}/runs`);
  await page.getByText("Redis does not answer; these figures are old.").waitFor();
  const alone = await serve();
  const plain = await rig.open(`${alone.url}/runs`);
  expect(await plain.page.locator("#fleet").count()).toBe(0);
  expect(plain.complaints).toEqual([]);
});

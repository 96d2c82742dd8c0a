// Followed companies on the status page, and a profile that the worker cannot sync.
import { expect, test } from "vitest";
import type { ServedProfile } from "../../src/server/http/server-context.ts";
import { mirrorForFile } from "../src/server/served-mirror.ts";
import { expectNoSidewaysScroll, rigForFile, seriousFindings } from "./page-rig.ts";

const mirror = await mirrorForFile(2);
const rig = await rigForFile();

const aProfile = (inputs: readonly object[]): ServedProfile => ({
  name: "default",
  snapshot: mirror.snapshot,
  ratePerMinute: null,
  following: {
    list: async () => inputs,
    add: async () => ({ added: [] }),
    remove: async () => ({ removed: [] }),
  },
});
const found = { company_id: "77", status: "resolved", since: "2026-11-01T00:00:00.000Z", resolved_at: null };
const lost = { company_id: null, status: "not_found", since: null, resolved_at: null, error: "nobody knows it" };

test("the page lists inputs with company, status and problem, those with a problem first; on a phone too", async () => {
  const inputs = [
    { ...found, input: "acme.example" },
    { ...lost, input: "<b>nobody.example</b>" },
  ];
  const { url } = await rig.serve({ profiles: [aProfile(inputs)] });
  for (const width of [1280, 360]) {
    const { page, complaints } = await rig.open(`${url}/accounts`, { width });
    const card = page.locator("#following-card");
    await card.getByText("2 inputs, 1 with a problem.").waitFor();
    const rows = await card.locator("tbody tr").allInnerTexts();
    expect(rows[0]).toContain("<b>nobody.example</b>");
    expect(rows[0]).toContain("nobody knows it");
    expect(rows[1]).toMatch(/acme\.example\s+77\s+found/);
    await expectNoSidewaysScroll(page);
    expect(await seriousFindings(page)).toEqual([]);
    expect(complaints).toEqual([]);
  }
});

test("without followed companies there is no such part", async () => {
  const { url } = await rig.serve({ profiles: [aProfile([])] });
  const { page } = await rig.open(`${url}/accounts`);
  expect(await page.locator("#following-card").count()).toBe(0);
});

test("a profile that the worker cannot sync says why", async () => {
  const problem = { profile: "default", code: "TOKEN_MISSING", message: "No token.", hint: "Set one." };
  const { url } = await rig.serve({ profiles: [aProfile([])], unable: () => [problem] });
  const { page, complaints } = await rig.open(url);
  await page.getByText("The worker cannot sync this profile: No token.").waitFor();
  await page.getByText("Set one.").waitFor();
  expect(complaints).toEqual([]);
});

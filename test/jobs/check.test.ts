// Job check: what one page of ids shows of an organization, and what is kept of it.
import { expect, test } from "vitest";
import { checkJob } from "../../jobs/check.ts";
import { readChecked } from "../../src/core/state/checked.ts";
import { readTier } from "../../src/core/state/tier.ts";
import { aFolder } from "../support/cli.ts";
import { createFakeClient } from "../support/fake-client.ts";
import { aContact, anAccount, aSignal } from "../support/fake-data.ts";
import { createFakeService, emptyData, type FakeAnswer, type FakeOptions } from "../support/fake-service.ts";
import { configOf } from "../support/given-config.ts";
import { simulatedClock } from "../support/sync-rig.ts";

/** An organization with three accounts, two contacts and a signal, or without anything. */
const rig = (options: FakeOptions = {}, scope = "", isEmpty = false) => {
  const data = emptyData();
  if (!isEmpty) {
    data.accounts.push(anAccount(1, { type: "customer" }), anAccount(2), anAccount(3));
    data.contacts.push(aContact("p1"), aContact("p2"));
    data.signals.push(aSignal(1));
  }
  const service = createFakeService(data, options);
  const clock = simulatedClock();
  const waits: number[] = [];
  const context = { clock, signal: new AbortController().signal, onWait: (ms: number) => void waits.push(ms) };
  const dataDir = aFolder();
  const config = configOf(scope === "" ? null : scope, { DUCKMIRROR_DATA_DIR: dataDir });
  const check = (withTotals = false) => checkJob(config, createFakeClient(service, clock), withTotals, context);
  return { service, check, waits, dataDir, asked: () => service.log.map(({ path, status }) => `${path} ${status}`) };
};
const refusing = (most: number, answer: FakeAnswer): NonNullable<FakeOptions["before"]> => {
  let refused = 0;
  return () => {
    refused += 1;
    return refused <= most ? answer : undefined;
  };
};

test("one request of ids shows the tier, and keeps tier, rows and credits for a plan", async () => {
  const { check, service, dataDir } = rig({ credits: 50 });
  const result = await check();
  expect(result).toMatchObject({ tier: "full", more: [], waiting: [] });
  expect(service.log).toHaveLength(1);
  expect(service.log[0]?.query.onlyWithFields).toBe("id");
  expect(await readTier(dataDir)).toMatchObject({ tier: "full" });
  const checked = await readChecked(dataDir);
  expect(checked.totals.get("accounts")).toBe(3);
  expect(checked.credits).toMatchObject({ limit: 50, remaining: 49 });
});

test("an empty list of accounts shows an organization without Full Access, whose other lists are not asked for", async () => {
  const { check, asked, dataDir } = rig({}, "", true);
  expect(await check(true)).toMatchObject({ tier: "public", more: [] });
  expect(asked()).toEqual(["/v1/accounts 200"]);
  expect(await readTier(dataDir)).toMatchObject({ tier: "public" });
});

test("with totals, the other lists are counted, a request each", async () => {
  const { check, asked, dataDir } = rig();
  const { more } = await check(true);
  expect(more.map(({ stream }) => stream)).toEqual(["contacts", "signals"]);
  expect(asked()).toEqual(["/v1/accounts 200", "/v1/contacts 200", "/v1/signals 200"]);
  expect(Object.fromEntries((await readChecked(dataDir)).totals)).toMatchObject({
    accounts: 3,
    contacts: 2,
    signals: 1,
  });
});

test("with a scope of accounts, those inside it are counted as well, and that count is kept", async () => {
  const { check, dataDir } = rig({}, "scope:\n  accounts:\n    type: customer\n");
  const { more } = await check(true);
  expect(more.map(({ stream }) => stream)).toEqual(["contacts", "signals", "accounts"]);
  const checked = await readChecked(dataDir);
  expect(checked.totals.get("accounts")).toBe(1);
  expect(checked.filters.get("accounts")).toContain("customer");
  expect(checked.filters.has("contacts")).toBe(false);
});

test("pages that are too large are refused at no charge, and the largest that is granted is kept", async () => {
  const { check, service, dataDir } = rig({ maxPerPage: 50 });
  const { accounts } = await check(true);
  expect(accounts.requests).toBeGreaterThan(1);
  expect(accounts.page).toBeGreaterThan(20);
  expect(accounts.page).toBeLessThanOrEqual(50);
  expect(service.spent()).toBe(3);
  expect((await readChecked(dataDir)).pageSizes.get("contacts")).toBe(accounts.page);
});

test("a rate limit is waited for, once, and a longer wait or a second one is an error", async () => {
  const limited = (seconds: number): FakeAnswer => ({
    status: 429,
    body: { error: "slow down" },
    headers: { "retry-after": String(seconds) },
  });
  const once = rig({ before: refusing(1, limited(20)) });
  expect((await once.check()).tier).toBe("full");
  expect(once.waits).toHaveLength(1);
  const twice = rig({ before: refusing(2, limited(20)) });
  await expect(twice.check()).rejects.toMatchObject({ code: "REQUEST_FAILED" });
  expect(twice.waits).toHaveLength(1);
});

test.each([
  [401, "CREDENTIALS_REFUSED"],
  [402, "QUOTA_SPENT"],
  [404, "ROUTE_NOT_FOUND"],
])("status %d ends the check with %s, and nothing is kept", async (status, code) => {
  const { check, dataDir } = rig({ before: () => ({ status, body: { error: "no" } }) });
  await expect(check()).rejects.toMatchObject({ code });
  expect(await readTier(dataDir)).toBeNull();
  expect((await readChecked(dataDir)).totals.size).toBe(0);
});

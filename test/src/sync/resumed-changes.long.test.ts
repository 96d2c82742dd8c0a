// Changes read over two runs a day apart: what changed in between is read from the head, and the list is not walked.
import { expect, onTestFinished, test } from "vitest";
import { anAccount, anOrganization } from "../../support/fake-data.ts";
import { createFakeService } from "../../support/fake-service.ts";
import { startMemoryRig } from "../../support/memory-rig.ts";
import { simulatedClock } from "../../support/sync-rig.ts";

const DAY_MS = 86_400_000;
const PAGE = 25;
const ROWS = 400;
const ONE_CREDIT = { DUCKMIRROR_MAX_CREDITS: "1" };
const ACCOUNTS = { streams: ["accounts"] } as const;

test("a reading of changes that ended after its first page goes on a day later, among new rows, without a walk", async () => {
  const clock = simulatedClock(Date.UTC(2026, 10, 21));
  const iso = () => new Date(clock.now()).toISOString();
  const service = createFakeService(anOrganization(0), { maxPerPage: PAGE });
  service.data.accounts = Array.from({ length: ROWS }, (_, at) => anAccount(at + 1));
  const rig = await startMemoryRig(service, {}, clock);
  onTestFinished(() => rig.close());
  expect((await rig.sync(ACCOUNTS)).error).toBeNull();

  await clock.sleep(DAY_MS);
  for (const account of service.data.accounts.slice(0, 3 * PAGE))
    Object.assign(account, { name: "renamed", updatedAt: iso() });
  expect((await rig.sync(ACCOUNTS, ONE_CREDIT)).error).toMatchObject({ code: "BUDGET_SPENT" });

  await clock.sleep(DAY_MS);
  const added = [1, 2, 3, 4, 5].map((n) => anAccount(ROWS + n, { createdAt: iso(), updatedAt: iso() }));
  service.data.accounts.push(...added);
  const from = service.log.length;
  const { error, report } = await rig.sync(ACCOUNTS);
  expect(error).toBeNull();
  const asked = service.log.slice(from).filter(({ path }) => path === "/v1/accounts");
  // The rest of the changes and the head; the whole list has 17 pages.
  expect(asked.length).toBeLessThanOrEqual(6);
  expect(report.streams.find(({ stream }) => stream === "accounts")).toMatchObject({ status: "done" });
  expect(await rig.query("SELECT count(*)::INTEGER AS n FROM accounts")).toEqual([{ n: ROWS + 5 }]);
  expect(await rig.query("SELECT count(*)::INTEGER AS n FROM accounts WHERE name = 'renamed'")).toEqual([
    { n: 3 * PAGE },
  ]);
});

test("rows that went in between are found by a walk", async () => {
  const clock = simulatedClock(Date.UTC(2026, 10, 21));
  const service = createFakeService(anOrganization(0), { maxPerPage: PAGE });
  service.data.accounts = Array.from({ length: ROWS }, (_, at) => anAccount(at + 1));
  const rig = await startMemoryRig(service, {}, clock);
  onTestFinished(() => rig.close());
  expect((await rig.sync(ACCOUNTS)).error).toBeNull();
  await clock.sleep(DAY_MS);
  const updatedAt = new Date(clock.now()).toISOString();
  for (const account of service.data.accounts.slice(0, 3 * PAGE)) Object.assign(account, { updatedAt });
  expect((await rig.sync(ACCOUNTS, ONE_CREDIT)).error).toMatchObject({ code: "BUDGET_SPENT" });
  await clock.sleep(DAY_MS);
  service.data.accounts.splice(200, 3);
  expect((await rig.sync(ACCOUNTS)).error).toBeNull();
  expect(await rig.query("SELECT count(*)::INTEGER AS n FROM accounts")).toEqual([{ n: ROWS - 3 }]);
});

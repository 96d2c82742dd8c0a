// Changes at the service reach the mirror, and nothing else is deleted. Shows P11.
import { expect, test } from "vitest";
import { aContact, anOrganization, aSignal } from "../../support/fake-data.ts";
import { createFakeService, type FakeOptions } from "../../support/fake-service.ts";
import { startMemoryRig } from "../../support/memory-rig.ts";

const later = "2026-11-20T00:00:00.000Z";

const aMirror = async (data = anOrganization(5), options: FakeOptions = {}) => {
  const rig = await startMemoryRig(createFakeService(data, options));
  expect((await rig.sync()).error).toBeNull();
  return { ...rig, data };
};

test("a changed account is updated, and its insight is fetched anew", async () => {
  const { data, sync, query } = await aMirror();
  Object.assign(data.accounts[2] ?? {}, { name: "Renamed", updatedAt: later });
  data.insights["3"] = { summary: { keyInsights: ["new"] } };
  const { of, error } = await sync();
  expect(error).toBeNull();
  expect(of("accounts")).toMatchObject({ updated: 1, unchanged: 4, credits: 1 });
  expect(of("account_insights")).toMatchObject({ updated: 1, credits: 1 });
  expect(await query("select name from accounts where id = 3")).toEqual([{ name: "Renamed" }]);
});

test("the insight of a deleted account goes with it, also when the same run fetches it after the delete", async () => {
  const { data, sync, rows } = await aMirror();
  data.accounts.splice(2, 1);
  const { error, of } = await sync({ full: true });
  expect([error, of("accounts").deleted]).toEqual([null, 1]);
  expect(
    rows("account_insights", "account_id")
      .map((row) => Number(row.account_id))
      .toSorted(),
  ).toEqual([1, 2, 4, 5]);
});

test("a look that found new rows is followed by a look again, not by a walk", async () => {
  const { data, sync } = await aMirror(anOrganization(10), { maxPerPage: 10 });
  data.signals.push(aSignal(9001, { updatedAt: later }), aSignal(9002, { updatedAt: later }));
  expect((await sync()).of("signals")).toMatchObject({ inserted: 2, credits: 1 });
  for (const _ of [1, 2]) expect(await sync()).toMatchObject({ error: null, paid: 3 });
});

test("a deleted contact is probed by id and removed; when it returns it is live again", async () => {
  const { data, sync, ids } = await aMirror(anOrganization(5), { maxPerPage: 8 });
  const [gone = aContact("x")] = data.contacts.splice(7, 1);
  const { of, error, sent } = await sync();
  expect([error, of("contacts").deleted]).toEqual([null, 1]);
  expect(sent.flatMap(({ path, status }) => (path === `/v1/contacts/${gone.id}` ? [status] : []))).toEqual([404]);
  data.contacts.push(gone);
  await sync();
  expect(ids("contacts")).toHaveLength(20);
  expect((await sync()).paid).toBe(3);
});

test("lists that turn empty because the tier was lowered delete nothing and exit with 5", async () => {
  const { data, sync, rows, ids } = await aMirror();
  const { accounts, contacts, signals, insights } = data;
  Object.assign(data, { accounts: [], contacts: [], signals: [], insights: {} });
  for (const full of [false, true]) {
    const { error, report, of } = await sync({ full });
    expect(error?.exitCode).toBe(5);
    const failed = report.streams.filter(({ status }) => status === "failed").map(({ stream }) => stream);
    expect(failed).toEqual(["accounts", "contacts", "signals"]);
    expect(of("accounts").error).toContain("TIER_LOWERED");
  }
  const found = rows("account_insights", "status").filter(({ status }) => status === "found");
  expect([ids("accounts").length, ids("signals").length, found.length]).toEqual([5, 30, 5]);
  Object.assign(data, { accounts, contacts, signals, insights });
  expect((await sync()).error).toBeNull();
});

test("a list that loses more than its share deletes nothing unless that is allowed", async () => {
  const { data, sync, ids } = await aMirror();
  data.signals.splice(0, 20);
  const refused = await sync();
  expect([refused.error?.exitCode, ids("signals").length]).toEqual([5, 30]);
  expect(refused.of("signals").error).toContain("MASS_DELETE_REFUSED");
  const allowed = await sync({ allowMassDelete: true });
  expect([allowed.error, allowed.of("signals").deleted]).toEqual([null, 20]);
});

test("a full sync finds closed job openings of one company", async () => {
  const { data, sync, ids } = await aMirror();
  data.lists.c_2?.["job-openings"]?.splice(0, 3);
  const { of, error } = await sync({ full: true });
  expect([error, of("job_openings").deleted, ids("job_openings").length]).toEqual([null, 3, 12]);
});

test("an unchanged look costs one credit although every row carries the same change date", async () => {
  const data = anOrganization(8);
  for (const row of [...data.accounts, ...data.signals]) row.updatedAt = later;
  for (const row of data.contacts) row.lastChangeDetectedOn = later;
  const { sync } = await aMirror(data, { maxPerPage: 5 });
  expect((await sync()).paid).toBe(3);
});

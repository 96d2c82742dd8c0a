// Changes at the service reach the mirror, and nothing else is deleted. Shows P11.
import { expect, test } from "vitest";
import { aContact, anOrganization, aSignal } from "../../support/fake-data.ts";
import { createFakeService, type FakeOptions, type FakeService } from "../../support/fake-service.ts";
import { type MemoryRig, startMemoryRig } from "../../support/memory-rig.ts";

const later = "2026-11-20T00:00:00.000Z";

const mirrorOf = async (service: FakeService): Promise<MemoryRig> => {
  const rig = await startMemoryRig(service);
  const { error } = await rig.sync();
  expect(error).toBeNull();
  return rig;
};
const aMirror = async (options: FakeOptions = {}) => {
  const service = createFakeService(anOrganization(5), options);
  return { service, rig: await mirrorOf(service) };
};
const reportOf = async (mirror: MemoryRig, request: Parameters<MemoryRig["sync"]>[0] = {}) => {
  const { report, error } = await mirror.sync(request);
  const stream = (name: string) => report.streams.find((candidate) => candidate.stream === name);
  return { report, error, stream };
};

test("a changed account is updated, and its insight is fetched anew", async () => {
  const { service, rig: mirror } = await aMirror();
  Object.assign(service.data.accounts[2] ?? {}, { name: "Renamed", updatedAt: later });
  service.data.insights["3"] = { summary: { keyInsights: ["new"] } };
  const { stream, error } = await reportOf(mirror);
  expect(error).toBeNull();
  expect(stream("accounts")).toMatchObject({ updated: 1, unchanged: 4, credits: 1 });
  expect(stream("account_insights")).toMatchObject({ updated: 1, credits: 1 });
  expect(await mirror.query("select name from accounts where id = 3")).toEqual([{ name: "Renamed" }]);
});

test("the insight of a deleted account goes with it, also when the same run fetches it after the delete", async () => {
  const { service, rig: mirror } = await aMirror();
  service.data.accounts.splice(2, 1);
  const { error, stream } = await reportOf(mirror, { full: true });
  expect(error).toBeNull();
  expect(stream("accounts")).toMatchObject({ deleted: 1 });
  expect(await mirror.query("select account_id as id from account_insights order by id")).toEqual(
    [1, 2, 4, 5].map((id) => ({ id })),
  );
});

test("a look that found new rows is followed by a look again, not by a walk", async () => {
  const service = createFakeService(anOrganization(10), { maxPerPage: 10 });
  const mirror = await mirrorOf(service);
  service.data.signals.push(aSignal(9001, { updatedAt: later }), aSignal(9002, { updatedAt: later }));
  expect((await reportOf(mirror)).stream("signals")).toMatchObject({ inserted: 2, credits: 1 });
  for (const _ of [1, 2]) {
    const before = service.spent();
    expect((await mirror.sync()).error).toBeNull();
    expect(service.spent() - before).toBe(3);
  }
});

test("a deleted contact is probed by id and removed; when it returns it is live again", async () => {
  const { service, rig: mirror } = await aMirror({ maxPerPage: 8 });
  const [gone] = service.data.contacts.splice(7, 1);
  const { stream, error } = await reportOf(mirror);
  expect(error).toBeNull();
  expect(stream("contacts")).toMatchObject({ deleted: 1 });
  expect(service.log.filter((entry) => entry.path === `/v1/contacts/${gone?.id}`).map((entry) => entry.status)).toEqual(
    [404],
  );
  service.data.contacts.push(gone ?? aContact("x"));
  await mirror.sync();
  expect(await mirror.query("select count(*) as n from contacts")).toEqual([{ n: 20 }]);
  const before = service.spent();
  await mirror.sync();
  expect(service.spent() - before).toBe(3);
});

test("lists that turn empty because the tier was lowered delete nothing and exit with 5", async () => {
  const { service, rig: mirror } = await aMirror();
  const { accounts, contacts, signals, insights } = service.data;
  Object.assign(service.data, { accounts: [], contacts: [], signals: [], insights: {} });
  for (const full of [false, true]) {
    const { error, report } = await reportOf(mirror, { full });
    expect(error?.exitCode).toBe(5);
    expect(report.streams.filter((stream) => stream.status === "failed").map((stream) => stream.stream)).toEqual([
      "accounts",
      "contacts",
      "signals",
    ]);
    expect(report.streams.find((stream) => stream.stream === "accounts")?.error).toContain("TIER_LOWERED");
  }
  expect(
    await mirror.query(
      "select (select count(*) from accounts) a, (select count(*) from signals) s, (select count(*) from account_insights where status = 'found') i",
    ),
  ).toEqual([{ a: 5, s: 30, i: 5 }]);
  Object.assign(service.data, { accounts, contacts, signals, insights });
  expect((await reportOf(mirror)).error).toBeNull();
});

test("a list that loses more than its share deletes nothing unless that is allowed", async () => {
  const { service, rig: mirror } = await aMirror();
  service.data.signals.splice(0, 20);
  const refused = await reportOf(mirror);
  expect(refused.error?.exitCode).toBe(5);
  expect(refused.stream("signals")?.error).toContain("MASS_DELETE_REFUSED");
  expect(await mirror.query("select count(*) as n from signals")).toEqual([{ n: 30 }]);
  const allowed = await reportOf(mirror, { allowMassDelete: true });
  expect(allowed.error).toBeNull();
  expect(allowed.stream("signals")).toMatchObject({ deleted: 20 });
});

test("a full sync finds closed job openings of one company", async () => {
  const { service, rig: mirror } = await aMirror();
  service.data.lists.c_2?.["job-openings"]?.splice(0, 3);
  const { stream, error } = await reportOf(mirror, { full: true });
  expect(error).toBeNull();
  expect(stream("job_openings")).toMatchObject({ deleted: 3 });
  expect(await mirror.query("select count(*) as n from job_openings")).toEqual([{ n: 12 }]);
});

test("an unchanged look costs one credit although every row carries the same change date", async () => {
  const data = anOrganization(8);
  for (const row of [...data.accounts, ...data.signals]) row.updatedAt = later;
  for (const row of data.contacts) row.lastChangeDetectedOn = later;
  const service = createFakeService(data, { maxPerPage: 5 });
  const mirror = await mirrorOf(service);
  const before = service.spent();
  await mirror.sync();
  expect(service.spent() - before).toBe(3);
});

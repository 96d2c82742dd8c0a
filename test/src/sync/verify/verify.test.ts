// Verify: finds what differs for few credits, never more than allowed, names it, and repairs it; of each difference it says whether the
// service has changed since the mirror read it (newer), or the mirror is wrong. Shows P10.
import { join } from "node:path";
import { expect, test } from "vitest";
import { readStatus } from "../../../../src/warehouse/read/read-status.ts";
import { change } from "../../../support/change-mirror.ts";
import { aContact, aJob, anAccount, anOrganization, aSignal } from "../../../support/fake-data.ts";
import { createFakeService } from "../../../support/fake-service.ts";
import { useMirrored } from "../../../support/mirrored-rig.ts";
import { type SyncRig, startSyncRig } from "../../../support/sync-rig.ts";
import { named, verifyUnchanged } from "./verified.ts";

const aMirrorOfManyPages = useMirrored((log) => createFakeService(anOrganization(10), { maxPerPage: 10 }, log));
const aMirror = useMirrored((log) => createFakeService(anOrganization(6), {}, log));

test.each([
  ["one page holds each list", aMirror],
  ["lists have many pages", aMirrorOfManyPages],
] as const)("a mirror of an unchanged source is equal: %s", async (_, mirrored) =>
  verifyUnchanged((await mirrored()).rig),
);

test("a changed field, a vanished record, a missing one and a wrong count are named, with exit code 5", async () => {
  const { service, rig: mirror } = await aMirror();
  Object.assign(service.data.accounts[1] ?? {}, { name: "Changed quietly" });
  const [gone] = service.data.contacts.splice(3, 1);
  service.data.signals.push(aSignal(9999, { type: "podcast" }));
  service.data.lists.c_4?.["job-openings"]?.push(aJob("new"));
  Object.assign(service.data.insights["5"] ?? {}, { summary: { keyInsights: ["other"] } });
  const result = await mirror.verify({ maxCredits: 60 });
  expect(result.error?.code).toBe("VERIFY_DIFFERS");
  expect(result.error?.exitCode).toBe(5);
  expect(named(result)).toEqual(
    [
      "accounts field 2 name Account 2 -> Changed quietly",
      "contacts count 24 -> 23",
      `contacts vanished ${gone?.id}`,
      "job_openings c_4 count 3 -> 4",
      "job_openings c_4 missing new",
      "signals count 36 -> 37",
      "signals count all 36 -> 37",
      "signals count type=podcast 0 -> 1",
      "signals missing 9999",
      'account_insights field 5 summary {"keyInsights":["insight 5"]} -> {"keyInsights":["other"]}',
    ].sort(),
  );
  expect(await mirror.rows("select status, error from sync.runs where mode = 'verify'")).toEqual([
    { status: "partial", error: "VERIFY_DIFFERS" },
  ]);
  const { runs } = await readStatus(join(mirror.dataDir, "warehouse.duckdb"), { runs: 1 });
  const wrong = result.report.differences.filter(({ verdict }) => verdict === "wrong").length;
  expect(wrong).toBeGreaterThan(0);
  expect(runs).toMatchObject([{ mode: "verify", differences: wrong }]);
  // Nothing was repaired: the mirror is as it was.
  expect(await mirror.rows("select name from accounts where id = 2")).toEqual([{ name: "Account 2" }]);
});

test("content that the plan forbids is not asked for again: its lists are compared without it", async () => {
  const service = createFakeService(anOrganization(3));
  service.answerWhere(({ query }) => query.onlyWithFields?.split(",").includes("jobDescription") === true, 403);
  const rig = await startSyncRig(service, { DUCKMIRROR_CONTENT: "jobDescription" });
  await rig.sync();
  const { report, error } = await rig.verify({ streams: ["job_openings"], maxCredits: 60 });
  expect(error).toBeNull();
  expect(new Set(report.checks.map(({ status }) => status))).toEqual(new Set(["equal"]));
});

test("one company's list that refuses the form of the others is left out, and fails nothing", async () => {
  const { service, rig } = await aMirror();
  service.answerWhere("/v1/companies/c_2/filings", 400);
  const { report, error } = await rig.verify({ streams: ["filings"], maxCredits: 60 });
  expect(error).toBeNull();
  expect(report.checks.map(({ scope, status }) => [scope, status]).sort()).toContainEqual(["c_2", "skipped"]);
  expect(report.checks.filter(({ status }) => status === "failed")).toEqual([]);
});

test("a count that no single answer can mend leads to a walk of that list, within the credits left", async () => {
  const { service, rig: mirror } = await aMirrorOfManyPages();
  // Gone from a list whose order proves nothing about its neighbours.
  const gone = service.data.contacts.splice(30, 2).map(({ id }) => String(id));
  const first = await mirror.verify({ streams: ["contacts"], sample: 1, maxCredits: 30, repair: true });
  expect(named(first)).toContain("contacts count 40 -> 38");
  expect(first.report.differences.every(({ repaired }) => repaired)).toBe(true);
  expect(first.report.credits.spent).toBeLessThanOrEqual(30);
  const deleted = await mirror.rows("select id from history.contacts where change = 'delete'");
  expect(deleted.map(({ id }) => String(id)).sort()).toEqual(gone.sort());
});

test("a row that went missing from the middle of a long list is found by its neighbours and confirmed by id", async () => {
  const { service, rig: mirror } = await aMirrorOfManyPages();
  const [gone] = service.data.signals.splice(25, 1);
  const result = await mirror.verify({ streams: ["signals"], sample: 60, maxCredits: 60 });
  expect(named(result)).toContain(`signals vanished ${gone?.id}`);
  expect(service.log.some(({ path, status }) => path === `/v1/signals/${gone?.id}` && status === 404)).toBe(true);
});

test.each([1, 13])("never more than --max-credits %i, repairs included", async (maxCredits) => {
  const { service, rig: mirror } = await aMirrorOfManyPages();
  for (const signal of service.data.signals) Object.assign(signal, { headline: "changed" });
  service.data.accounts.push(anAccount(777, { companyId: "c_1" }));
  const before = service.spent();
  const result = await mirror.verify({ repair: true, maxCredits });
  expect(service.spent() - before).toBeLessThanOrEqual(maxCredits);
  expect(result.report.credits.spent).toBe(service.spent() - before);
  expect(result.report.checks_left).toBeGreaterThan(0);
});

test("a budget that suffices for nothing ends with exit code 4", async () => {
  const { service, rig: mirror } = await aMirror();
  const before = service.log.length;
  const { error } = await mirror.verify({ maxCredits: 0 });
  expect([error?.code, error?.exitCode, service.log.length]).toEqual(["BUDGET_SPENT", 4, before]);
});

test("refused credentials and a service that is down are no differences", async () => {
  const { service, rig: mirror } = await aMirror();
  service.answerWhere(/./, 401);
  expect((await mirror.verify()).error?.exitCode).toBe(3);
  service.answerWhere(/./, 503);
  const down = await mirror.verify();
  expect([down.error?.exitCode, down.report.differences]).toEqual([5, []]);
});

test("a lowered tier is reported, and --repair deletes nothing", async () => {
  const { service, rig: mirror } = await aMirror();
  Object.assign(service.data, { accounts: [], contacts: [], signals: [], insights: {} });
  const { report, error } = await mirror.verify({ repair: true, maxCredits: 60 });
  expect(error?.exitCode).toBe(5);
  expect(report.checks.map(({ note }) => note).join()).toContain("empty list");
  expect(
    await mirror.rows(
      "select (select count(*) from accounts) a, (select count(*) from signals) s, (select count(*) from account_insights where status = 'found') i",
    ),
  ).toEqual([{ a: 6, s: 36, i: 6 }]);
});

test("nothing mirrored, nothing to verify", async () => {
  const mirror = await startSyncRig(createFakeService(anOrganization(1)));
  await expect(mirror.verify()).rejects.toMatchObject({ code: "SNAPSHOT_MISSING" });
});

test("an organization without Full Access pays for its companies alone", async () => {
  const service = createFakeService({ ...anOrganization(2), accounts: [], contacts: [], signals: [], insights: {} });
  const mirror = await startSyncRig(service, { DUCKMIRROR_COMPANIES: "c_1" });
  await mirror.sync();
  const { length } = service.log;
  await mirror.verify();
  const paths = service.log.slice(length).map(({ path }) => path);
  expect(paths.length).toBeGreaterThan(3);
  expect(paths.filter((path) => !path.startsWith("/v1/companies/"))).toEqual([]);
});

const later = "2027-01-01T00:00:00.000Z";

const verdicts = ({ report }: Awaited<ReturnType<SyncRig["verify"]>>) =>
  report.differences.map(({ stream, kind, key, field, verdict }) =>
    [verdict, stream, kind, key ?? "-", field ?? "-"].join(" "),
  );
const wrong = (result: Awaited<ReturnType<SyncRig["verify"]>>) =>
  verdicts(result).filter((line) => line.startsWith("wrong"));

test("what changed at the service since the last sync is newer, not wrong: exit code 0", async () => {
  const { service, rig: mirror } = await aMirror();
  const { data } = service;
  Object.assign(data.accounts[1] ?? {}, { name: "Renamed", updatedAt: later });
  data.accounts.push(anAccount(77, { companyId: "c_1", updatedAt: later }));
  data.signals.push(aSignal(9999, { type: "podcast", updatedAt: later }));
  data.signals.splice(4, 1);
  // The date of a contact is that of a career change: a new address leaves it.
  Object.assign(data.contacts[2] ?? {}, { email: "new@example.com" });
  data.contacts.push(aContact("new", { lastChangeDetectedOn: later }));
  data.lists.c_4?.["job-openings"]?.push(aJob("new"));
  Object.assign(data.companies.find(({ id }) => id === "c_3") ?? {}, { description: "another" });
  Object.assign(data.insights["5"] ?? {}, { summary: { keyInsights: ["other"] } });
  const result = await mirror.verify({ maxCredits: 60 });
  expect(wrong(result)).toEqual([]);
  expect(result.error).toBeNull();
  expect(verdicts(result)).toEqual(
    expect.arrayContaining([
      "newer accounts field 2 name",
      "newer accounts missing 77 -",
      "newer accounts count - -",
      "newer signals missing 9999 -",
      "newer contacts missing new -",
      `newer contacts field ${data.contacts[2]?.id} email`,
      "newer job_openings missing new -",
      "newer companies field c_3 description",
      "newer account_insights field 5 summary",
    ]),
  );
  expect(result.report.checks.map(({ status }) => status)).not.toContain("differs");
  expect(await mirror.rows("select status, error from sync.runs where mode = 'verify'")).toEqual([
    { status: "done", error: null },
  ]);
  // A sync loads what is newer.
  expect((await mirror.sync({ full: true })).error).toBeNull();
  expect(
    (await mirror.verify({ streams: ["accounts", "contacts", "signals"], maxCredits: 60 })).report.differences,
  ).toEqual([]);
});

test("a mirror that was altered is wrong, whatever else has changed at the service", async () => {
  const { service, rig: mirror } = await aMirror();
  const contact = String(service.data.contacts[2]?.id);
  const gone = String(service.data.contacts[5]?.id);
  await change(mirror.dataDir, async ({ database }) => {
    await database.run("UPDATE main.accounts SET name = 'altered' WHERE id = 2");
    await database.run("UPDATE main.contacts SET email = 'altered' WHERE id = ?", [contact]);
    await database.run("DELETE FROM main.contacts WHERE id = ?", [gone]);
    await database.run("UPDATE main.companies SET description = 'altered' WHERE id = 'c_3'");
    await database.run("UPDATE main.account_insights SET summary = '{}' WHERE account_id = 5");
  });
  Object.assign(service.data.accounts[3] ?? {}, { name: "Renamed", updatedAt: later });
  const result = await mirror.verify({ maxCredits: 60 });
  expect(result.error?.code).toBe("VERIFY_DIFFERS");
  expect(wrong(result).sort()).toEqual([
    "wrong account_insights field 5 summary",
    "wrong accounts field 2 name",
    "wrong companies field c_3 description",
    `wrong contacts count - -`,
    `wrong contacts field ${contact} email`,
    `wrong contacts missing ${gone} -`,
  ]);
  expect(verdicts(result)).toContain("newer accounts field 4 name");
  expect(result.error?.message).toContain("6 places");
});

test("without an archive that shows what the service returned, a difference without a date is wrong", async () => {
  const { service, rig: mirror } = await aMirror();
  await change(mirror.dataDir, ({ database }) =>
    database.run("UPDATE main.companies SET _run_id = 'another' WHERE id = 'c_2'"),
  );
  for (const id of ["c_2", "c_3"])
    Object.assign(service.data.companies.find((company) => company.id === id) ?? {}, { description: "another" });
  const result = await mirror.verify({ streams: ["companies"] });
  expect(verdicts(result).sort()).toEqual([
    "newer companies field c_3 description",
    "wrong companies field c_2 description",
  ]);
});

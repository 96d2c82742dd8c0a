// Verify says of each difference whether the service has changed since the mirror read it (newer), or the mirror is wrong. Shows P10.
import { expect, test } from "vitest";
import { change } from "../../../support/change-mirror.ts";
import { aContact, aJob, anAccount, anOrganization, aSignal } from "../../../support/fake-data.ts";
import { createFakeService } from "../../../support/fake-service.ts";
import type { SyncRig } from "../../../support/sync-rig.ts";
import { mirrorOf } from "./verified.ts";

const later = "2027-01-01T00:00:00.000Z";

const verdicts = ({ report }: Awaited<ReturnType<SyncRig["verify"]>>) =>
  report.differences.map(({ stream, kind, key, field, verdict }) =>
    [verdict, stream, kind, key ?? "-", field ?? "-"].join(" "),
  );
const wrong = (result: Awaited<ReturnType<SyncRig["verify"]>>) =>
  verdicts(result).filter((line) => line.startsWith("wrong"));

test("what changed at the service since the last sync is newer, not wrong: exit code 0", async () => {
  const service = createFakeService(anOrganization(6));
  const mirror = await mirrorOf(service);
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
  const service = createFakeService(anOrganization(6));
  const mirror = await mirrorOf(service);
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
  const service = createFakeService(anOrganization(3));
  const mirror = await mirrorOf(service);
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

// Verify: other shapes of a service, and a replay of what was repaired.
import { expect, test } from "vitest";
import { replayOf } from "../../../support/equal-replay.ts";
import { aContact, anOrganization } from "../../../support/fake-data.ts";
import { createFakeService, type FakeOptions, type FakeService } from "../../../support/fake-service.ts";
import { dumpMirror } from "../../../support/mirror-dump.ts";
import { startSyncRig } from "../../../support/sync-rig.ts";
import { named, verifyUnchanged } from "./verified.ts";

/** A mirror of this service after one sync. */
const mirrorOf = async (service: FakeService) => {
  const mirror = await startSyncRig(service);
  expect((await mirror.sync()).error).toBeNull();
  return mirror;
};

test.each<[string, FakeOptions]>([
  ["the service does not sort", { sort: "refuse" }],
  ["filters are ignored", { filters: "ignore" }],
  ["pages are clamped silently", { overPage: "clamp" }],
])("a mirror of an unchanged source is equal: %s", async (_, options) =>
  verifyUnchanged(await mirrorOf(createFakeService(anOrganization(5), { maxPerPage: 10, ...options }))),
);

test("--repair keeps an archived record that still answers by its id, and removes it once a second walk lacks it", async () => {
  const service = createFakeService(anOrganization(6), { maxPerPage: 100 });
  const mirror = await mirrorOf(service);
  const [archived] = service.data.signals.splice(11, 1);
  service.answerWhere(`/v1/signals/${archived?.id}`, { status: 200, body: { data: archived } });
  const rows = `select count(*)::INTEGER as n from signals where id = ${archived?.id}`;
  await mirror.verify({ repair: true, allowMassDelete: true, maxCredits: 100 });
  expect(await mirror.rows(rows)).toEqual([{ n: 1 }]);
  await mirror.verify({ repair: true, allowMassDelete: true, maxCredits: 100 });
  expect(await mirror.rows(rows)).toEqual([{ n: 0 }]);
  const last = await mirror.verify({ maxCredits: 100 });
  expect([last.error, named(last)]).toEqual([null, []]);
});

test("--repair makes the second verification clean, keeps old versions, and survives a replay", async () => {
  const service = createFakeService(anOrganization(6), { maxPerPage: 10 });
  const mirror = await mirrorOf(service);
  for (const account of service.data.accounts) Object.assign(account, { name: `Quiet ${account.id}` });
  const [gone] = service.data.signals.splice(11, 1);
  service.data.contacts.push(aContact("zz9", { accountId: 2 }));
  service.data.lists.c_4?.["job-openings"]?.splice(0, 1);
  const first = await mirror.verify({ repair: true, maxCredits: 100 });
  expect(first.error?.code).toBe("VERIFY_DIFFERS");
  expect(first.report.differences.filter(({ repaired }) => !repaired)).toEqual([]);
  const second = await mirror.verify({ maxCredits: 100 });
  expect(named(second)).toEqual([]);
  expect(second.error).toBeNull();
  expect(await mirror.rows("select count(*) as n from history.accounts where change = 'update'")).toEqual([{ n: 6 }]);
  expect(await mirror.rows("select id from history.signals where change = 'delete'")).toEqual([{ id: gone?.id }]);
  expect(await mirror.rows("select count(*) as n from job_openings where company_id = 'c_4'")).toEqual([{ n: 2 }]);
  const before = await dumpMirror(mirror.dataDir);
  await replayOf(mirror.dataDir);
  expect(await dumpMirror(mirror.dataDir)).toEqual(before);
});

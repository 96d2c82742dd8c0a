// Lists whose reading ended before it was through: what the next sync reads of them, and what it finds.
import { expect, test } from "vitest";
import { anAccount, anOrganization, aSignal } from "../../support/fake-data.ts";
import { createFakeService, emptyData } from "../../support/fake-service.ts";
import { startMemoryRig } from "../../support/memory-rig.ts";
import { simulatedClock } from "../../support/sync-rig.ts";

const ONE_CREDIT = { DUCKMIRROR_MAX_CREDITS: "1" };

test("rows that were added above an interrupted first walk are read before it is said to be complete", async () => {
  const rows = 900;
  const data = anOrganization(1);
  const signal = (id: number) => aSignal(id, { updatedAt: new Date(Date.UTC(2026, 9, 1) + id * 60_000).toISOString() });
  data.signals = Array.from({ length: rows }, (_, row) => signal(row + 1));
  const service = createFakeService(data, { maxPerPage: 50, overPage: "clamp" });
  const rig = await startMemoryRig(service, { DUCKMIRROR_STREAMS: "signals" });
  expect((await rig.sync({}, ONE_CREDIT)).code).toBe("BUDGET_SPENT");
  data.signals.push(signal(rows + 400), signal(rows + 402));
  const { error, complete, sent } = await rig.sync();
  expect([error, complete, rig.ids("signals").length]).toEqual([null, true, rows + 2]);
  // The head itself is read again, not the page behind it.
  expect(sent.at(-1)).toMatchObject({ path: "/v1/signals", query: { page: "1", sortBy: "id" } });
});

/** 400 accounts in 17 pages, mirrored; a day later 75 changed, of which a sync of one credit read the first page. */
const halfReadChanges = async () => {
  const service = createFakeService(emptyData(), { maxPerPage: 25 });
  service.data.accounts = Array.from({ length: 400 }, (_, at) => anAccount(at + 1));
  const rig = await startMemoryRig(service, { DUCKMIRROR_STREAMS: "accounts" }, simulatedClock());
  const { clock } = rig;
  const iso = () => new Date(clock.now()).toISOString();
  expect((await rig.sync()).error).toBeNull();
  await clock.sleep(86_400_000);
  for (const account of service.data.accounts.slice(0, 75))
    Object.assign(account, { name: "renamed", updatedAt: iso() });
  expect((await rig.sync({}, ONE_CREDIT)).code).toBe("BUDGET_SPENT");
  await clock.sleep(86_400_000);
  return { service, rig, iso };
};

test("a reading of changes that ended after its first page goes on a day later, among new rows, without a walk", async () => {
  const { service, rig, iso } = await halfReadChanges();
  const added = [1, 2, 3, 4, 5].map((n) => anAccount(400 + n, { createdAt: iso(), updatedAt: iso() }));
  service.data.accounts.push(...added);
  const { error, sent, of } = await rig.sync();
  expect([error, of("accounts").status]).toEqual([null, "done"]);
  // The rest of the changes and the head.
  expect(sent.length).toBeLessThanOrEqual(6);
  const names = rig.rows("accounts", "name").map(({ name }) => name);
  expect([names.length, names.filter((name) => name === "renamed").length]).toEqual([405, 75]);
});

test("rows that went in between are found by a walk", async () => {
  const { service, rig } = await halfReadChanges();
  service.data.accounts.splice(200, 3);
  expect((await rig.sync()).error).toBeNull();
  expect(rig.rows("accounts")).toHaveLength(397);
});

/** A mirror whose last sync met only refusals. */
const afterOutage = async () => {
  const service = createFakeService(anOrganization(12), { maxPerPage: 5 });
  const rig = await startMemoryRig(service, { DUCKMIRROR_STREAMS: "accounts,contacts,signals" });
  expect((await rig.sync()).error).toBeNull();
  service.answerWhere(/./, 409);
  expect((await rig.sync()).code).toBe("STREAMS_FAILED");
  service.answerInstead(null);
  return { service, rig };
};
const modes = (report: { readonly streams: readonly { readonly mode: string }[] }) =>
  new Set(report.streams.map(({ mode }) => mode));

test("after an outage the next sync looks again, and does not call that a walk", async () => {
  const { rig } = await afterOutage();
  const { report } = await rig.sync();
  expect([report.requests, report.mode, [...modes(report)]]).toEqual([3, "incremental", ["watermark"]]);
});

test("after an outage --full reads each list whole, so a change without a date is found", async () => {
  const { service, rig } = await afterOutage();
  Object.assign(service.data.contacts[7] ?? {}, { email: "new@example.com" });
  const { report, error } = await rig.sync({ full: true });
  expect([error, [...modes(report)]]).toEqual([null, ["walk"]]);
  expect(rig.rows("contacts", "email").filter(({ email }) => email === "new@example.com")).toHaveLength(1);
});

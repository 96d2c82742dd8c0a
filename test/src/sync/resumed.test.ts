// Lists whose reading ended before it was through: what the next sync reads of them, and what it finds.
import { expect, test } from "vitest";
import { anAccount, anOrganization, aSignal } from "../../support/fake-data.ts";
import { createFakeService } from "../../support/fake-service.ts";
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
  const interrupted = await rig.sync({}, ONE_CREDIT);
  expect(interrupted.error?.code).toBe("BUDGET_SPENT");
  data.signals.push(signal(rows + 400), signal(rows + 402));
  const before = service.log.length;
  const { error, report } = await rig.sync();
  expect(error).toBeNull();
  const n = rig.rows("signals").length;
  expect({ n, complete: report.streams[0]?.complete }).toEqual({ n: rows + 2, complete: true });
  // The head itself is read again, not the page behind it.
  const last = service.log
    .slice(before)
    .filter(({ path }) => path === "/v1/signals")
    .at(-1);
  expect(last?.query).toMatchObject({ page: "1", sortBy: "id" });
});

/** 400 accounts in 17 pages, mirrored; a day later 75 changed, of which a sync of one credit read the first page. */
const halfReadChanges = async () => {
  const clock = simulatedClock();
  const iso = () => new Date(clock.now()).toISOString();
  const service = createFakeService(anOrganization(0), { maxPerPage: 25 });
  service.data.accounts = Array.from({ length: 400 }, (_, at) => anAccount(at + 1));
  const rig = await startMemoryRig(service, { DUCKMIRROR_STREAMS: "accounts" }, clock);
  expect((await rig.sync()).error).toBeNull();
  await clock.sleep(86_400_000);
  for (const account of service.data.accounts.slice(0, 75))
    Object.assign(account, { name: "renamed", updatedAt: iso() });
  expect((await rig.sync({}, ONE_CREDIT)).error).toMatchObject({ code: "BUDGET_SPENT" });
  await clock.sleep(86_400_000);
  return { service, rig, iso };
};

test("a reading of changes that ended after its first page goes on a day later, among new rows, without a walk", async () => {
  const { service, rig, iso } = await halfReadChanges();
  const added = [1, 2, 3, 4, 5].map((n) => anAccount(400 + n, { createdAt: iso(), updatedAt: iso() }));
  service.data.accounts.push(...added);
  const from = service.log.length;
  const { error, report } = await rig.sync();
  expect([error, report.streams[0]?.status]).toEqual([null, "done"]);
  // The rest of the changes and the head.
  expect(service.log.length - from).toBeLessThanOrEqual(6);
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
  service.answerInstead(() => ({ status: 409, body: {} }));
  expect((await rig.sync()).error?.code).toBe("STREAMS_FAILED");
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
  const changed = service.data.contacts[7];
  if (changed === undefined) throw new Error("no such contact");
  service.data.contacts[7] = { ...changed, email: "new@example.com" };
  const { report, error } = await rig.sync({ full: true });
  expect([error, [...modes(report)]]).toEqual([null, ["walk"]]);
  expect(rig.rows("contacts", "email").filter(({ email }) => email === "new@example.com")).toHaveLength(1);
});

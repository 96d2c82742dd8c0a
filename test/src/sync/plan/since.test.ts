// sync --since: what is dated after a day, and nothing else; nothing is concluded about the rest of the list.
import { expect, test } from "vitest";
import { aContact, anAccount, aSignal } from "../../../support/fake-data.ts";
import { createFakeService, emptyData } from "../../../support/fake-service.ts";
import { type MemoryRig, startMemoryRig } from "../../../support/memory-rig.ts";

let rig: MemoryRig;

const start = async () => {
  const service = createFakeService(emptyData(), { maxPerPage: 10, overPage: "honest" });
  for (let id = 1; id <= 40; id++) {
    service.data.accounts.push(anAccount(id, { companyId: undefined }));
    service.data.signals.push(aSignal(id, { accountId: id }));
    const on = id % 2 === 0 ? "2026-01-10T00:00:00.000Z" : "2026-02-10T00:00:00.000Z";
    service.data.contacts.push(aContact(`p_${id}`, { accountId: id, lastChangeDetectedOn: on }));
  }
  rig = await startMemoryRig(service, { DUCKMIRROR_STREAMS: "accounts,contacts,signals" });
  return service;
};
const count = async (table: string) => (await rig.query(`select count(*) n from ${table}`))[0]?.n;

test("an empty mirror gets what is dated after the day, and is not called complete; the next sync reads everything", async () => {
  const service = await start();
  const { report, error } = await rig.sync({ since: "2026-01-31" });
  expect(error).toBeNull();
  // Signal n is dated n days after 1 January; contacts with odd numbers changed in February.
  expect([await count("signals"), await count("contacts"), await count("accounts")]).toEqual([10, 20, 0]);
  expect(report.streams.map(({ stream, mode, complete }) => [stream, mode, complete])).toEqual([
    ["contacts", "filter", false],
    ["signals", "filter", false],
  ]);
  // Pages of contacts share rows, so two pages' worth takes three.
  expect(report.credits.spent).toBe(4);
  // Dates alone: a service may take no times in its date filters.
  expect(service.log.find(({ path }) => path === "/v1/signals")?.query.afterDate).toBe("2026-01-31");
  expect(service.log.find(({ path }) => path === "/v1/contacts")?.query.lastChangeDetectedAfter).toBe("2026-01-31");
  const after = await rig.sync();
  expect(after.report.streams.map(({ complete }) => complete)).toEqual([true, true, true]);
  expect([await count("signals"), await count("contacts")]).toEqual([40, 40]);
});

test("the watermark does not move: changes to rows before the day are still read by the next sync", async () => {
  const service = await start();
  await rig.sync();
  // Both changed since; only the second is dated after the day.
  Object.assign(service.data.signals[0] ?? {}, { headline: "early", updatedAt: "2026-03-01T00:00:00.000Z" });
  Object.assign(service.data.signals[39] ?? {}, { headline: "late", updatedAt: "2026-03-05T00:00:00.000Z" });
  const { report } = await rig.sync({ streams: ["signals"], since: "2026-02-01" });
  expect(report.streams).toMatchObject([{ stream: "signals", updated: 1, complete: true }]);
  await rig.sync({ streams: ["signals"] });
  expect(await rig.query("select id from signals where headline = 'early'")).toEqual([{ id: 1 }]);
});

test("of the scope's date and the command's, the later counts", async () => {
  const service = await start();
  const env = { DUCKMIRROR_SCOPE: JSON.stringify({ signals: { since: "2026-01-20" } }) };
  await rig.sync({ streams: ["signals"] }, env);
  const before = service.log.length;
  await rig.sync({ streams: ["signals"], since: "2026-02-01" }, env);
  await rig.sync({ streams: ["signals"], since: "2026-01-01" }, env);
  expect([...new Set(service.log.slice(before).map(({ query }) => query.afterDate))]).toEqual([
    "2026-02-01",
    "2026-01-20",
  ]);
});

test.each([
  [{ streams: ["accounts", "signals"], since: "2026-01-01" }, "SINCE_UNSUPPORTED", "no date filter for accounts"],
  [{ since: "yesterday" }, "USAGE", "not a date"],
  [{ since: "2026-01-01", full: true }, "USAGE", "--full"],
])("%j is refused before anything is sent", async (request, code, text) => {
  const service = await start();
  await expect(rig.sync(request)).rejects.toMatchObject({ code, message: expect.stringContaining(text) });
  expect(service.log).toEqual([]);
});

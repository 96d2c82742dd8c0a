// sync --since: what is dated after a day, and nothing else; nothing is concluded about the rest of the list.
import { expect, test } from "vitest";
import { aContact, anAccount, aSignal } from "../../../support/fake-data.ts";
import { createFakeService, emptyData } from "../../../support/fake-service.ts";
import { startMemoryRig } from "../../../support/memory-rig.ts";

const start = async () => {
  const service = createFakeService(emptyData(), { maxPerPage: 10, overPage: "honest" });
  for (let id = 1; id <= 40; id++) {
    service.data.accounts.push(anAccount(id, { companyId: undefined }));
    service.data.signals.push(aSignal(id, { accountId: id }));
    const on = id % 2 === 0 ? "2026-01-10T00:00:00.000Z" : "2026-02-10T00:00:00.000Z";
    service.data.contacts.push(aContact(`p_${id}`, { accountId: id, lastChangeDetectedOn: on }));
  }
  const rig = await startMemoryRig(service, { DUCKMIRROR_STREAMS: "accounts,contacts,signals" });
  const counts = () => (["accounts", "contacts", "signals"] as const).map((table) => rig.ids(table).length);
  return { ...rig, counts };
};

test("an empty mirror gets what is dated after the day, and is not called complete; the next sync reads everything", async () => {
  const { sync, counts, service } = await start();
  const { report, error, paid } = await sync({ since: "2026-01-31" });
  // Signal n is dated n days after 1 January; contacts with odd numbers changed in February.
  expect([error, counts()]).toEqual([null, [0, 20, 10]]);
  expect(report.streams.map(({ stream, mode, complete }) => [stream, mode, complete])).toEqual([
    ["contacts", "filter", false],
    ["signals", "filter", false],
  ]);
  // Pages of contacts share rows, so two pages' worth takes three.
  expect(paid).toBe(4);
  // Dates alone: a service may take no times in its date filters.
  expect(service.log.find(({ path }) => path === "/v1/signals")?.query.afterDate).toBe("2026-01-31");
  expect(service.log.find(({ path }) => path === "/v1/contacts")?.query.lastChangeDetectedAfter).toBe("2026-01-31");
  expect((await sync()).complete).toBe(true);
  expect(counts()).toEqual([40, 40, 40]);
});

test("the watermark does not move: changes to rows before the day are still read by the next sync", async () => {
  const { sync, service, query } = await start();
  await sync();
  // Both changed since; only the second is dated after the day.
  Object.assign(service.data.signals[0] ?? {}, { headline: "early", updatedAt: "2026-03-01T00:00:00.000Z" });
  Object.assign(service.data.signals[39] ?? {}, { headline: "late", updatedAt: "2026-03-05T00:00:00.000Z" });
  const { of } = await sync({ streams: ["signals"], since: "2026-02-01" });
  expect(of("signals")).toMatchObject({ updated: 1, complete: true });
  await sync({ streams: ["signals"] });
  expect(await query("select id from signals where headline = 'early'")).toEqual([{ id: 1 }]);
});

test("of the scope's date and the command's, the later counts", async () => {
  const { sync } = await start();
  const env = { DUCKMIRROR_SCOPE: JSON.stringify({ signals: { since: "2026-01-20" } }) };
  await sync({ streams: ["signals"] }, env);
  for (const [since, later] of [
    ["2026-02-01", "2026-02-01"],
    ["2026-01-01", "2026-01-20"],
  ] as const) {
    const { sent } = await sync({ streams: ["signals"], since }, env);
    expect(new Set(sent.map(({ query }) => query.afterDate))).toEqual(new Set([later]));
  }
});

test.each([
  [{ streams: ["accounts", "signals"], since: "2026-01-01" }, "SINCE_UNSUPPORTED", "no date filter for accounts"],
  [{ since: "yesterday" }, "USAGE", "not a date"],
  [{ since: "2026-01-01", full: true }, "USAGE", "--full"],
])("%j is refused before anything is sent", async (request, code, text) => {
  const { sync, service } = await start();
  await expect(sync(request)).rejects.toMatchObject({ code, message: expect.stringContaining(text) });
  expect(service.log).toEqual([]);
});

// A mirror of thirty accounts whose scope each sync may change, for the tests of the setting `scope`.
import { afterTest } from "../../support/after-test.ts";
import { aCompany, aContact, aJob, anAccount, aSignal } from "../../support/fake-data.ts";
import { createFakeService, emptyData, type FakeOptions } from "../../support/fake-service.ts";
import { type SyncRig, simulatedClock, startSyncRig } from "../../support/sync-rig.ts";

export const DAY_MS = 86_400_000;
export const TYPES = ["customer", "prospect", "churned"];

export const startScoped = async (options: FakeOptions = {}) => {
  const service = createFakeService(emptyData(), { maxPerPage: 10, overPage: "honest", ...options });
  for (let id = 1; id <= 30; id++) {
    service.data.accounts.push(anAccount(id, { type: TYPES[id % 3] }));
    service.data.companies.push(aCompany(`c_${id}`));
    service.data.lists[`c_${id}`] = { "job-openings": [aJob(`j_${id}`)] };
    service.data.signals.push(aSignal(id, { accountId: id, type: id % 2 === 0 ? "podcast" : "funding-alert" }));
    service.data.contacts.push(aContact(`p_${id}`, { accountId: id, type: id % 2 === 0 ? "champion" : "prospect" }));
    service.data.insights[String(id)] = {};
  }
  const clock = simulatedClock();
  const rig = await startSyncRig(service, {}, clock);
  afterTest(() => rig.close());
  const sync = async (
    scope: object,
    request: Parameters<SyncRig["sync"]>[0] = {},
    env: Record<string, string> = {},
  ) => {
    const before = service.log.length;
    const { report, error } = await rig.sync(request, { DUCKMIRROR_SCOPE: JSON.stringify(scope), ...env });
    const complete = report.streams.filter(({ stream }) => stream in { accounts: 1, contacts: 1, signals: 1 });
    return { report, error, sent: service.log.slice(before), complete: complete.every((stream) => stream.complete) };
  };
  const ids = async (table: string, inScope = true) =>
    (await rig.rows(`select id from ${table} where _in_scope = ${inScope} order by id`)).map(({ id }) => id);
  const there = (test: (row: Record<string, unknown>) => boolean, table: "accounts" | "contacts" | "signals") =>
    service.data[table]
      .filter(test)
      .map(({ id }) => id)
      .sort((a, b) => (a < b ? -1 : 1));
  return { service, rig, clock, sync, ids, there };
};

// Records that the service returns and that become no row: their list, or the record, is unconfirmed with its number and reason
// until it comes whole, also in syncs that do not meet them again. None of them costs a credit in each sync.
import { expect, test } from "vitest";
import { anOrganization, aSignal, opaque } from "../../support/fake-data.ts";
import { changing, createFakeService } from "../../support/fake-service.ts";
import { startSyncRig } from "../../support/sync-rig.ts";

const RECORDS = "that became no row; sync.rejects has the reason";

/** An organization of which some records of a route come without a part of them, while `isBroken`. */
const brokenAt = (broken: string, change: (record: Record<string, unknown>) => Record<string, unknown>) => {
  const data = anOrganization(12);
  const state = { isBroken: true, data };
  const service = changing(createFakeService(data, { maxPerPage: 20 }), (path, answer) => {
    const body = answer.body as { data?: unknown };
    if (!state.isBroken || !path.startsWith(broken) || typeof body.data !== "object") return answer;
    const spoilt = Array.isArray(body.data) ? body.data.map(change) : change(Object(body.data));
    return { ...answer, body: { ...body, data: spoilt } };
  });
  return { state, service };
};

const withoutId = (lost: readonly unknown[]) => (record: Record<string, unknown>) => {
  const { id, ...rest } = record;
  return lost.includes(id) ? rest : record;
};

test.each<[stream: string, route: string, lost: readonly unknown[], reason: string]>([
  ["signals", "/v1/signals", [40, 41], `the service returned 2 records ${RECORDS}`],
  ["contacts", "/v1/contacts", [opaque(11)], `the service returned 1 record ${RECORDS}`],
  ["news_articles", "/v1/companies/c_1/", ["n1a"], `1 of 12 lists: the service returned 1 record ${RECORDS}`],
  ["companies", "/v1/companies/c_2", ["c_2"], `the service returned 1 record ${RECORDS}`],
])(
  "records of %s that became no row keep it unconfirmed until they come whole",
  async (stream, route, lost, reason) => {
    const { state, service } = brokenAt(route, withoutId(lost));
    if (stream === "companies") for (const account of state.data.accounts) account.companyId = "c_2";
    // Each profile is asked for by its id.
    const embedsNone = changing(service, (path, answer) =>
      path === "/v1/accounts" ? { ...answer, body: { ...Object(answer.body), included: undefined } } : answer,
    );
    const rig = await startSyncRig(embedsNone, { DUCKMIRROR_STREAMS: `accounts,${stream}` });
    const open = { complete: false, unconfirmed: lost.length, reason };
    const first = await rig.sync();
    expect([first.code, first.of(stream)]).toMatchObject([null, open]);
    // It meets none of them: other records changed since.
    for (let id = 0; id < 30; id++) state.data.signals.push(aSignal(1000 + id, { accountId: 1 }));
    const later = await rig.sync();
    expect([later.code, later.of(stream)]).toMatchObject([null, open]);
    await rig.verify({ repair: true, maxCredits: 500 });
    const verified = await rig.sync();
    expect(verified.of(stream)).toMatchObject(open);
    state.isBroken = false;
    const mended = await rig.sync({ full: true });
    expect(mended.of(stream)).toMatchObject({ complete: true, unconfirmed: 0 });
  },
);

test("an insight that cannot be read is one unconfirmed record with its reason, and costs a credit at growing intervals alone", async () => {
  const service = createFakeService(anOrganization(3));
  let asked = 0;
  let isBroken = true;
  const faulty = {
    ...service,
    answer: (...[path, query]: Parameters<typeof service.answer>) => {
      const answer = service.answer(path, query);
      if (path !== "/v1/account-insights" || query.accountId !== "2") return answer;
      asked += 1;
      return isBroken ? { ...answer, body: '{"data":{"summary":[1,]}}' } : answer;
    },
  };
  const rig = await startSyncRig(faulty, { DUCKMIRROR_STREAMS: "accounts,account_insights" });
  const reason = "1 of 3 insights: never read: the service refuses it, or its answer cannot be used";
  const label = { complete: false, unconfirmed: 1, reason };
  await rig.sync();
  await rig.sync();
  const before = asked;
  const { of } = await rig.sync();
  expect(asked).toBe(before);
  expect(of("account_insights")).toMatchObject(label);
  const [row] = await rig.rows(
    "SELECT complete, unconfirmed, reason FROM marts.freshness WHERE stream = 'account_insights'",
  );
  expect(row).toEqual(label);
  isBroken = false;
  expect((await rig.sync({ full: true })).of("account_insights")).toMatchObject({ complete: true, unconfirmed: 0 });
});

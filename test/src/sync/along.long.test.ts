// Records that come along with a paid request: contacts and signals with insights, earnings calls and their analysis with
// company profiles. They refresh what is mirrored, and neither add, empty nor delete anything.
import { expect, test } from "vitest";
import { aCompany, aContact, anAccount, anOrganization, aSignal } from "../../support/fake-data.ts";
import {
  changing,
  createFakeService,
  emptyData,
  type FakeOptions,
  type FakeService,
} from "../../support/fake-service.ts";
import { type SyncRig, simulatedClock, startSyncRig } from "../../support/sync-rig.ts";

let rig: SyncRig;

const DAY_MS = 86_400_000;
const LONG_AGO = "2026-01-05T00:00:00.000Z";
const STREAMS = "accounts,contacts,signals,account_insights";

const clock = simulatedClock();

const start = async (options: FakeOptions = {}, env: Record<string, string> = {}) => {
  const service = createFakeService(emptyData(), { maxPerPage: 50, overPage: "honest", ...options });
  for (let id = 1; id <= 3; id++) {
    service.data.accounts.push(anAccount(id, { companyId: undefined }));
    service.data.signals.push(aSignal(id, { accountId: id, subtype: "small" }));
    const contact = { accountId: id, email: `old${id}@example.com`, phone: "1", lastChangeDetectedOn: LONG_AGO };
    service.data.contacts.push(aContact(`p_${id}`, contact));
    service.data.insights[String(id)] = { summary: {} };
  }
  rig = await startSyncRig(service, { DUCKMIRROR_STREAMS: STREAMS, ...env }, clock);
  return service;
};

/** A day later, account 1 has changed, so that its insight is due. */
const accountChanges = async (service: FakeService) => {
  await clock.sleep(DAY_MS);
  Object.assign(service.data.accounts[0] ?? {}, { updatedAt: new Date(clock.now()).toISOString() });
};

const insightsIn = (service: FakeService) => service.log.filter(({ path }) => path === "/v1/account-insights");
const email = "select email from contacts where id = 'p_1'";

test("an insight asks for all contacts and signals that it may bring, and refreshes fields without a change date", async () => {
  const service = await start();
  expect((await rig.sync()).error).toBeNull();
  await accountChanges(service);
  Object.assign(service.data.contacts[0] ?? {}, { email: "new@example.com" });
  Object.assign(service.data.signals[0] ?? {}, { subtype: "large" });
  const { error, complete, of, paid } = await rig.sync();
  expect([error, complete, paid]).toEqual([null, true, 4]);
  expect(insightsIn(service).at(-1)?.query).toMatchObject({
    include: "contacts,signals",
    contactsLimit: "100",
    signalsLimit: "100",
  });
  expect(await rig.rows(email)).toEqual([{ email: "new@example.com" }]);
  expect(await rig.rows("select subtype from signals where id = 1")).toEqual([{ subtype: "large" }]);
  expect(of("contacts")).toMatchObject({ updated: 1, credits: 1 });
});

test("a partial record empties no field, and one that the list has not returned is left to the list", async () => {
  const embedded: FakeOptions["embedded"] = ({ id, email }) => ({ id, email, phone: null });
  const service = await start({ embedded });
  await rig.sync();
  await accountChanges(service);
  Object.assign(service.data.contacts[0] ?? {}, { email: "new@example.com" });
  // The list's request comes first, so that this contact appears in the insight alone.
  service.answerInstead(({ path }) => {
    if (path === "/v1/account-insights" && service.data.contacts.length === 3)
      service.data.contacts.push(aContact("p_9", { accountId: 1 }));
    return undefined;
  });
  await rig.sync();
  const rows = "select id, first_name, email, phone from contacts where id in ('p_1', 'p_9')";
  expect(await rig.rows(rows)).toEqual([{ id: "p_1", first_name: "Zoë", email: "new@example.com", phone: "1" }]);
  expect((await rig.sync()).of("contacts")).toMatchObject({ inserted: 1, complete: true });
  expect(await rig.rows("select count(*) n from history.contacts where change = 'delete'")).toEqual([{ n: 0 }]);
});

test("a version older than the mirrored one is not taken", async () => {
  const older = "2025-12-01T00:00:00.000Z";
  const service = await start({ embedded: (row) => ({ ...row, email: "older", lastChangeDetectedOn: older }) });
  await rig.sync();
  await accountChanges(service);
  await rig.sync();
  expect(await rig.rows(email)).toEqual([{ email: "old1@example.com" }]);
});

/** The service, but its insights embed signals with their full content, which its lists do not return. */
const withEmbeddedContent = (service: FakeService): FakeService =>
  changing(service, (_, answer) => {
    const { included, ...body } = answer.body as { included?: { signals?: readonly { id: number }[] } };
    const signals = included?.signals?.map((row) => ({
      ...row,
      fullContent: service.data.signals.find(({ id }) => id === row.id)?.fullContent,
    }));
    return signals === undefined ? answer : { ...answer, body: { ...body, included: { ...included, signals } } };
  });

const startWithContent = async (content: string) => {
  const service = createFakeService(anOrganization(3), { maxPerPage: 50, overPage: "honest" });
  const env = { DUCKMIRROR_STREAMS: STREAMS, DUCKMIRROR_CONTENT: content };
  rig = await startSyncRig(withEmbeddedContent(service), env, clock);
  expect((await rig.sync()).error).toBeNull();
  return service;
};

test("full content that nobody asked for is not taken from insights: the list would let it grow stale", async () => {
  const service = await startWithContent("");
  expect(await rig.rows("select count(*)::integer n, count(full_content)::integer c from signals")).toEqual([
    { n: 18, c: 0 },
  ]);
  expect(await rig.rows("select count(*)::integer n from history.signals")).toEqual([{ n: 0 }]);
  await clock.sleep(DAY_MS);
  const changed = { updatedAt: new Date(clock.now()).toISOString(), headline: "New", fullContent: "New text" };
  Object.assign(service.data.signals[0] ?? {}, changed);
  await rig.sync();
  expect(await rig.rows("select full_content, _extra from signals where headline = 'New'")).toEqual([
    { full_content: null, _extra: null },
  ]);
});

test("configured full content is taken with the version that an insight brings", async () => {
  const service = await startWithContent("fullContent");
  expect(await rig.rows("select count(full_content)::integer c from signals")).toEqual([{ c: 18 }]);
  await clock.sleep(DAY_MS);
  const updatedAt = new Date(clock.now()).toISOString();
  Object.assign(service.data.accounts[0] ?? {}, { updatedAt });
  Object.assign(service.data.signals[0] ?? {}, { updatedAt, headline: "New", fullContent: "New text" });
  await rig.sync({ streams: ["accounts"] });
  // Neither the list nor the signal itself is read.
  await rig.sync({ streams: ["account_insights"] });
  expect(await rig.rows("select full_content from signals where headline = 'New'")).toEqual([
    { full_content: "New text" },
  ]);
});

test("a service that refuses to embed is asked without, at no credit, and the refusal is remembered", async () => {
  const service = await start({ included: "refuse" });
  expect((await rig.sync()).error).toBeNull();
  expect(await rig.rows("select count(*) n from account_insights")).toEqual([{ n: 3 }]);
  const refused = insightsIn(service).filter(({ status }) => status === 400);
  expect([...new Set(refused.map(({ query }) => query.include))]).toEqual(["contacts,signals", "contacts"]);
  await accountChanges(service);
  await rig.sync();
  expect(insightsIn(service).at(-1)).toMatchObject({ status: 200, query: { accountId: "1" } });
  expect(insightsIn(service).filter(({ status }) => status === 400)).toHaveLength(refused.length);
});

test("a refusal that names one kind of record gives up only that", async () => {
  const service = await start();
  const named = { status: 400, body: { error: "contacts cannot be embedded" } };
  service.answerWhere(({ path, query }) => /insights$/.test(path) && /contacts/.test(query.include ?? ""), named);
  expect((await rig.sync()).error).toBeNull();
  expect(insightsIn(service).at(-1)?.query).toMatchObject({ include: "signals", signalsLimit: "100" });
});

/** A service whose profile of c_1 embeds `included`. */
const startWithCalls = async (included: Record<string, unknown>, env: Record<string, string> = {}) => {
  const service = createFakeService(emptyData());
  const body = { data: aCompany("c_1"), included, meta: { requestId: "r" } };
  service.answerWhere("/v1/companies/by-input/c_1", { status: 200, body });
  service.data.companies.push(aCompany("c_1"));
  service.data.lists.c_1 = { "earnings-calls": [7, 8].map((id) => ({ id, year: 2026, quarter: id - 6 })) };
  const streams = "companies,earnings_calls";
  rig = await startSyncRig(service, { DUCKMIRROR_COMPANIES: "c_1", DUCKMIRROR_STREAMS: streams, ...env }, clock);
  return service;
};
const analyses = "select id, generated_analysis::varchar as analysis from earnings_calls order by id";

test("the analysis of the latest call comes with a profile and stays when the list returns the call without it", async () => {
  const call = { id: 8, year: 2026, quarter: 2, audioUrl: null };
  const service = await startWithCalls({ latestEarningsCall: call, latestEarningsCallAnalysis: { mood: "good" } });
  expect((await rig.sync()).error).toBeNull();
  expect(service.log[0]?.query.include).toBe("latestEarningsCall,latestEarningsCallAnalysis");
  expect(await rig.rows(analyses)).toEqual([
    { id: 7, analysis: null },
    { id: 8, analysis: '{"mood":"good"}' },
  ]);
  // The embedded call is one of the list's rows: the next reading of the list finds the counts equal.
  await clock.sleep(40 * DAY_MS);
  expect((await rig.sync({ streams: ["earnings_calls"] })).of("earnings_calls")).toMatchObject({
    mode: "known",
    requests: 1,
    complete: true,
  });
});

test("an excluded analysis is neither asked for nor kept", async () => {
  const call = { id: 8, year: 2026, quarter: 2 };
  const service = await startWithCalls(
    { latestEarningsCall: call, latestEarningsCallAnalysis: { mood: "good" } },
    { DUCKMIRROR_EXCLUDE_FIELDS: "earnings_calls.generatedAnalysis" },
  );
  await rig.sync();
  expect(service.log[0]?.query.include).toBe("latestEarningsCall");
  expect(await rig.rows(analyses)).toEqual([
    { id: 7, analysis: null },
    { id: 8, analysis: null },
  ]);
});

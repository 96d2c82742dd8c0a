// Services that answer in part, or not yet: a short copy is not taken for the whole record, and an answer that lacks what was
// asked for is asked for again.
import { expect, test } from "vitest";
import { afterTest } from "../../support/after-test.ts";
import { aCompany, anOrganization } from "../../support/fake-data.ts";
import { createFakeService, type FakeService } from "../../support/fake-service.ts";
import { hurriedClock, startSyncRig } from "../../support/sync-rig.ts";

type Answer = ReturnType<FakeService["answer"]>;
type Body = Record<string, unknown>;

/** The service with other answers where `change` gives one. */
const changed = (service: FakeService, change: (path: string, answer: Answer) => Answer): FakeService => ({
  ...service,
  answer: (path, query) => change(path, service.answer(path, query)),
});

const start = async (service: FakeService, env: Record<string, string> = {}) => {
  const clock = hurriedClock();
  const rig = await startSyncRig(service, env, clock);
  afterTest(() => rig.close());
  return { rig, clock };
};

const shortened = ({ id, name, domain }: Body): Body => ({ id, name, domain });

/** Lists embed companies with three fields. */
const withShortCompanies = (service: FakeService): FakeService =>
  changed(service, (path, answer) => {
    const { included, ...body } = answer.body as { included?: Record<string, Body[]> };
    if (path !== "/v1/accounts" || included?.companies === undefined) return answer;
    return { ...answer, body: { ...body, included: { ...included, companies: included.companies.map(shortened) } } };
  });

const profiles = (service: FakeService) =>
  service.log.filter(({ path }) => /^\/v1\/companies\/[^/]+$/.test(path)).length;

test("companies that accounts embed with three fields are read by id, and complete only then", async () => {
  const service = createFakeService(anOrganization(12));
  const { rig } = await start(withShortCompanies(service), { DUCKMIRROR_STREAMS: "accounts,companies" });
  const { report } = await rig.sync({}, { DUCKMIRROR_MAX_CREDITS: "4" });
  expect(report.streams.find(({ stream }) => stream === "companies")).toMatchObject({ complete: false });
  await rig.sync();
  expect(profiles(service)).toBe(12);
  expect(await rig.rows("SELECT count(description)::INT AS n FROM companies")).toEqual([{ n: 12 }]);
  expect((await rig.sync()).report.streams.every(({ complete }) => complete)).toBe(true);
  expect(profiles(service)).toBe(12);
});

test("one profile is read where no company has a field, and none where each field is filled somewhere", async () => {
  const whole = createFakeService(anOrganization(6));
  await (await start(whole, { DUCKMIRROR_STREAMS: "accounts,companies" })).rig.sync();
  expect(profiles(whole)).toBe(0);
  const data = anOrganization(6);
  data.companies = data.companies.map(({ id }) => aCompany(String(id), { fiscalYearInfo: null }));
  const lacking = createFakeService(data);
  const { rig } = await start(lacking, { DUCKMIRROR_STREAMS: "accounts,companies" });
  for (let sync = 0; sync < 3; sync++)
    expect((await rig.sync()).report.streams.every(({ complete }) => complete)).toBe(true);
  expect(profiles(lacking)).toBe(1);
});

test("an insight stays when the service answers 200 with an error, and is asked for again", async () => {
  const service = createFakeService(anOrganization(3));
  let fails = false;
  const failing = changed(service, (path, answer) =>
    fails && path === "/v1/account-insights"
      ? { status: 200, body: { status: "error", message: "upstream timed out" } }
      : answer,
  );
  const { rig, clock } = await start(failing, { DUCKMIRROR_STREAMS: "accounts,account_insights" });
  await rig.sync();
  fails = true;
  const insights = () =>
    rig.rows("SELECT account_id, status, CAST(summary AS VARCHAR) AS summary FROM account_insights ORDER BY 1");
  const before = await insights();
  expect(before).toHaveLength(3);
  const { error, report } = await rig.sync({ full: true });
  expect(error?.code).toBe("STREAMS_FAILED");
  expect(report.streams.find(({ stream }) => stream === "account_insights")).toMatchObject({ complete: false });
  expect(await insights()).toEqual(before);
  fails = false;
  await clock.sleep(7 * 86_400_000);
  expect((await rig.sync()).report.streams.every(({ complete }) => complete)).toBe(true);
  expect(await insights()).toEqual(before);
});

// Every stream that says it is refreshed "by age" is: not before its age, once after it, and at once by --full.
// The streams are taken from the catalog, so that a new one is walked too. Shows P16.
import { expect, test } from "vitest";
import { routeOf, STREAM_NAMES, type StreamName, streamSpec } from "../../../src/catalog/streams.ts";
import { aCompany, aJob, aNewsArticle, anAccount } from "../../support/fake-data.ts";
import { createFakeService, emptyData, type FakeOptions, type FakeService } from "../../support/fake-service.ts";
import { startMemoryRig } from "../../support/memory-rig.ts";
import { simulatedClock } from "../../support/sync-rig.ts";

const HOUR = 3_600_000;
const BY_AGE = STREAM_NAMES.filter((name) => /by age|as old as it says/i.test(streamSpec(name).blindSpot));

/** One tracked company, c_1, and one that is only followed, c_f. */
const aService = (options: FakeOptions = {}, log: FakeService["log"] = []): FakeService => {
  const data = emptyData();
  data.accounts.push(anAccount(1));
  data.companies.push(aCompany("c_1"), aCompany("c_f"));
  data.owners.push({ id: "u_1" });
  data.insights["1"] = { summary: { keyInsights: ["first"] } };
  for (const id of ["c_1", "c_f"]) {
    data.lists[id] = {
      "news-articles": [aNewsArticle(`n_${id}`)],
      "job-openings": [aJob(`j_${id}`)],
      "earnings-calls": [{ id: 1, year: 2026, quarter: 1 }],
      filings: [{ id: 1, type: "10-K" }],
    };
  }
  return createFakeService(data, { credits: 1_000_000, ...options }, log);
};

const pathOf = (stream: StreamName, companyId: string) =>
  routeOf(streamSpec(stream)).path.replace("{companyId}", companyId);

const FOLLOWING = { DUCKMIRROR_COMPANIES: "c_f.example" };

/** A mirror of the service; `asked`: paths that one more sync asks for. */
const mirrored = async (service = aService(), env = FOLLOWING) => {
  const rig = await startMemoryRig(service, env, simulatedClock());
  expect((await rig.sync()).error).toBeNull();
  const asked = async (request: Parameters<typeof rig.sync>[0] = {}) =>
    (await rig.sync(request)).sent.map(({ path }) => path);
  return { ...rig, asked, wait: (ms: number) => rig.clock.sleep(ms) };
};

test("the streams that say so are these", () => {
  expect(BY_AGE).toEqual([
    "signal_counts",
    "companies",
    "news_articles",
    "job_openings",
    "earnings_calls",
    "filings",
    "account_insights",
    "usage",
  ]);
});

test("each of them is left alone before its age, asked for once after it, and by --full at once", async () => {
  const { asked, wait } = await mirrored();
  const of = (paths: readonly string[]) => BY_AGE.filter((stream) => paths.includes(pathOf(stream, "c_f")));
  let age = 0;
  for (const next of [...new Set(BY_AGE.map((stream) => streamSpec(stream).maxAgeMs))].sort((a, b) => a - b)) {
    const due = BY_AGE.filter((stream) => streamSpec(stream).maxAgeMs === next);
    const young = BY_AGE.filter((stream) => streamSpec(stream).maxAgeMs >= next);
    await wait(next - HOUR - age);
    expect(of(await asked()).filter((stream) => young.includes(stream))).toEqual([]);
    await wait(2 * HOUR);
    age = next + HOUR;
    const paths = await asked();
    expect(of(paths).filter((stream) => young.includes(stream))).toEqual(due);
    for (const stream of due) expect(paths.filter((path) => path === pathOf(stream, "c_f"))).toHaveLength(1);
  }
  expect(of(await asked())).toEqual([]);
  expect(of(await asked({ full: true }))).toEqual(BY_AGE);
});

test("a tracked company comes with its account: no credit is spent on it by age", async () => {
  const { asked, wait } = await mirrored();
  await wait(31 * 24 * HOUR);
  expect(await asked()).not.toContain("/v1/companies/c_1");
  expect(await asked({ full: true })).not.toContain("/v1/companies/c_1");
  // Nothing else brings it along in such a run.
  expect(await asked({ streams: ["companies"], full: true })).toContain("/v1/companies/c_1");
});

test("a tracked company that the service does not embed although asked is refreshed by age, if a followed input names it, too", async () => {
  const env = { DUCKMIRROR_COMPANIES: "c_1.example" };
  const { service, asked, wait, query } = await mirrored(aService({ included: "none" }), env);
  Object.assign(service.data.companies[0] ?? {}, { name: "Renamed" });
  expect(await asked()).not.toContain("/v1/companies/c_1");
  await wait(31 * 24 * HOUR);
  expect(await asked()).toContain("/v1/companies/c_1");
  expect(await query("select name from companies")).toEqual([{ name: "Renamed" }]);
  expect(await asked({ full: true })).toContain("/v1/companies/c_1");
});

test("so is one that the service embedded at first, and does not any more", async () => {
  const { service, asked } = await mirrored();
  service.options = { ...service.options, included: "none" };
  await asked({ full: true });
  expect(await asked({ full: true })).toContain("/v1/companies/c_1");
});

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

/** Paths that a sync asks for. */
const asked = async (service: FakeService, sync: () => Promise<unknown>): Promise<readonly string[]> => {
  const before = service.log.length;
  await sync();
  return service.log.slice(before).map(({ path }) => path);
};

const FOLLOWING = { DUCKMIRROR_COMPANIES: "c_f.example" };

const startAt = async (service: FakeService, env = FOLLOWING) => {
  const clock = simulatedClock();
  const started = await startMemoryRig(service, env, clock);
  const { error } = await started.sync();
  expect(error).toBeNull();
  return { ...started, wait: (ms: number) => clock.sleep(ms) };
};

const startMirrored = async () => {
  const service = aService();
  return { ...(await startAt(service)), service };
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
  const { service, sync, wait } = await startMirrored();
  const of = (paths: readonly string[]) => BY_AGE.filter((stream) => paths.includes(pathOf(stream, "c_f")));
  let age = 0;
  for (const next of [...new Set(BY_AGE.map((stream) => streamSpec(stream).maxAgeMs))].sort((a, b) => a - b)) {
    const due = BY_AGE.filter((stream) => streamSpec(stream).maxAgeMs === next);
    const young = BY_AGE.filter((stream) => streamSpec(stream).maxAgeMs >= next);
    await wait(next - HOUR - age);
    expect(of(await asked(service, sync)).filter((stream) => young.includes(stream))).toEqual([]);
    await wait(2 * HOUR);
    age = next + HOUR;
    const paths = await asked(service, sync);
    expect(of(paths).filter((stream) => young.includes(stream))).toEqual(due);
    for (const stream of due) expect(paths.filter((path) => path === pathOf(stream, "c_f"))).toHaveLength(1);
  }
  expect(of(await asked(service, sync))).toEqual([]);
  expect(of(await asked(service, () => sync({ full: true })))).toEqual(BY_AGE);
});

test.each(BY_AGE)("%s is asked for when it is named with --full", async (stream) => {
  const { service, sync } = await startMirrored();
  expect(await asked(service, () => sync({ streams: [stream], full: true }))).toContain(pathOf(stream, "c_f"));
});

test("a followed company's profile takes over what changed", async () => {
  const { service, sync, wait, query } = await startMirrored();
  Object.assign(service.data.companies[1] ?? {}, { name: "Renamed" });
  await wait(31 * 24 * HOUR);
  await sync();
  expect(await query("select name from companies where id = 'c_f'")).toEqual([{ name: "Renamed" }]);
});

test("a tracked company comes with its account: no credit is spent on it by age", async () => {
  const { service, sync, wait } = await startMirrored();
  await wait(31 * 24 * HOUR);
  expect(await asked(service, sync)).not.toContain("/v1/companies/c_1");
  expect(await asked(service, () => sync({ full: true }))).not.toContain("/v1/companies/c_1");
  // Nothing else brings it along in such a run.
  expect(await asked(service, () => sync({ streams: ["companies"], full: true }))).toContain("/v1/companies/c_1");
});

test("a tracked company that the service does not embed although asked is refreshed by age", async () => {
  const service = aService({ included: "none" });
  const { sync, wait } = await startAt(service);
  expect(service.log.map(({ path }) => path)).toContain("/v1/companies/c_1");
  expect(await asked(service, sync)).not.toContain("/v1/companies/c_1");
  await wait(31 * 24 * HOUR);
  expect(await asked(service, sync)).toContain("/v1/companies/c_1");
});

test("so is one that a followed input also names", async () => {
  const service = aService({ included: "none" });
  const { sync, wait, query } = await startAt(service, { DUCKMIRROR_COMPANIES: "c_1.example" });
  Object.assign(service.data.companies[0] ?? {}, { name: "Renamed" });
  expect(await asked(service, sync)).not.toContain("/v1/companies/c_1");
  await wait(31 * 24 * HOUR);
  expect(await asked(service, sync)).toContain("/v1/companies/c_1");
  expect(await query("select name from companies")).toEqual([{ name: "Renamed" }]);
  expect(await asked(service, () => sync({ full: true }))).toContain("/v1/companies/c_1");
});

test("so is one that the service embedded at first, and does not any more", async () => {
  const { service, sync } = await startMirrored();
  service.options = { ...service.options, included: "none" };
  await sync({ full: true });
  expect(await asked(service, () => sync({ full: true }))).toContain("/v1/companies/c_1");
});

test("a list whose end nothing proves is read again by age, and not in every sync", async () => {
  const beyondEnd = ({ path, query }: { path: string; query: Readonly<Record<string, string>> }) =>
    path.endsWith("/job-openings") && Number(query.page) > 1 ? { status: 400, body: {} } : undefined;
  const service = aService({ totals: false, before: beyondEnd });
  const { sync, wait } = await startAt(service);
  const path = "/v1/companies/c_f/job-openings";
  expect(await asked(service, sync)).not.toContain(path);
  await wait(streamSpec("job_openings").maxAgeMs + HOUR);
  expect(await asked(service, sync)).toContain(path);
});

test("an input that the service does not know is asked for again by --full", async () => {
  const service = aService();
  service.data.companies.pop();
  const { sync, query } = await startAt(service);
  service.data.companies.push(aCompany("c_f"));
  expect(await asked(service, sync)).not.toContain("/v1/companies/by-input/c_f.example");
  await sync({ full: true });
  expect(await query("select company_id, status from company_inputs")).toEqual([
    { company_id: "c_f", status: "found" },
  ]);
});

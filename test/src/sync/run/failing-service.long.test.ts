// A service that fails: wholly, so that a run must not try everything six times, or in some routes, whose failure must
// not keep the others from being mirrored. Shows P19.
import { expect, test } from "vitest";
import { anOrganization } from "../../../support/fake-data.ts";
import { createFakeService, type FakeAnswer, type FakeService } from "../../../support/fake-service.ts";
import { useMirrored } from "../../../support/mirrored-rig.ts";

const BROKEN: FakeAnswer = { status: 500, body: { error: { message: "broken" } } };
const LOGIN_PAGE: FakeAnswer = { status: 200, body: "<html><title>Sign in</title></html>" };

const startMirrored = useMirrored((log) => createFakeService(anOrganization(20), { maxPerPage: 10 }, log));

/** A mirror whose service answers these requests so from now on, and a full sync of it with so many requests in flight. */
const syncWhile = async (where: Parameters<FakeService["answerWhere"]>[0], answer = BROKEN, inFlight = "8") => {
  const { service, rig } = await startMirrored();
  service.answerWhere(where, answer);
  const synced = await rig.sync({ full: true }, { DUCKMIRROR_CONCURRENCY: inFlight });
  const streams = (wanted: string) =>
    synced.report.streams.flatMap(({ stream, status }) => (status === wanted ? [stream] : []));
  return { ...synced, rig, service, failed: streams("failed"), done: streams("done") };
};

test.each([
  ["500", "1", BROKEN],
  ["500", "8", BROKEN],
  ["a login page", "8", LOGIN_PAGE],
])(
  "a service that answers every request with %s, %s in flight, ends the run early, and the next one is complete",
  async (_, inFlight, answer) => {
    const { rig, service, error, report, sent } = await syncWhile(/./, answer, inFlight);
    expect(error).toMatchObject({ code: "SERVICE_FAILING", exitCode: 5 });
    expect(error?.message).toContain("GET /v1/");
    // Three requests are tried six times, those under way with them not much more often, nine once.
    expect(sent.length).toBeLessThanOrEqual(3 * 6 + 9 + 6 * Number(inFlight));
    expect(report.requests).toBe(sent.length);
    service.answerInstead(null);
    expect(await rig.sync({ full: true })).toMatchObject({ error: null, complete: true });
  },
);

test("a service that begins to fail in the middle of a run ends it early", async () => {
  let number = 0;
  const { code, sent } = await syncWhile(() => ++number > 15);
  expect(code).toBe("SERVICE_FAILING");
  expect(sent.length).toBeLessThanOrEqual(15 + 3 * 6 + 9 + 6 * 8);
});

test("a stream whose every request fails is tried to its end; the other streams are done", async () => {
  const { sent, failed, done, code } = await syncWhile(/\/filings$/);
  expect([code, failed, done.length]).toEqual(["STREAMS_FAILED", ["filings"], 10]);
  const tries = sent.map(({ path }) => path).filter((path) => path.endsWith("/filings"));
  expect([new Set(tries).size, tries.length]).toEqual([20, 20 * 6]);
});

test.each(["1", "8"])(
  "where every Full Access route fails, the companies' lists are mirrored first, with %s in flight",
  async (inFlight) => {
    const full = /^\/v1\/(accounts|contacts|signals|account-insights)/;
    const { failed, done } = await syncWhile(full, BROKEN, inFlight);
    expect(failed).toEqual(expect.arrayContaining(["accounts", "contacts", "signals", "account_insights"]));
    expect(done).toEqual(expect.arrayContaining(["news_articles", "job_openings", "earnings_calls", "filings"]));
  },
);

test("a stream in which the first fails and the last answers is read to its end", async () => {
  const { sent, failed, of } = await syncWhile(/c_([1-9]|1[0-8])\/job-openings$/);
  expect(failed).toEqual(["job_openings"]);
  const answered = sent.filter(({ path, status }) => path.endsWith("/job-openings") && status === 200);
  expect(new Set(answered.map(({ path }) => path)).size).toBe(2);
  expect(of("job_openings").pages).toBeGreaterThan(0);
});

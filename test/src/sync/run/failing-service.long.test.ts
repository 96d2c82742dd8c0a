// A service that fails: wholly, so that a run must not try everything six times, or in some routes, whose failure must
// not keep the others from being mirrored. Shows P19.
import { expect, test } from "vitest";
import { anOrganization } from "../../../support/fake-data.ts";
import { createFakeService, type FakeAnswer, type FakeRequest } from "../../../support/fake-service.ts";
import { useMirrored } from "../../../support/mirrored-rig.ts";

const BROKEN: FakeAnswer = { status: 500, body: { error: { message: "broken" } } };
const LOGIN_PAGE: FakeAnswer = { status: 200, body: "<html><title>Sign in</title></html>" };

const startMirrored = useMirrored((log) => {
  const service = createFakeService(anOrganization(20), { maxPerPage: 10 });
  service.log.push(...(log ?? []));
  return service;
});

/** A mirror whose service answers instead from now on, and a full sync of it. */
const syncWhile = async (
  before: (request: FakeRequest) => FakeAnswer | undefined,
  env: Record<string, string> = {},
) => {
  const { service, rig } = await startMirrored();
  const { length } = service.log;
  service.answerInstead(before);
  const { error, report } = await rig.sync({ full: true }, env);
  const sent = service.log.slice(length);
  const failed = report.streams.flatMap(({ stream, status }) => (status === "failed" ? [stream] : []));
  const done = report.streams.flatMap(({ stream, status }) => (status === "done" ? [stream] : []));
  return { rig, service, error, report, sent, failed, done };
};

test.each([
  ["500", "1", BROKEN],
  ["500", "8", BROKEN],
  ["a login page", "8", LOGIN_PAGE],
])(
  "a service that answers every request with %s, %s in flight, ends the run early, and the next one is complete",
  async (_, concurrency, answer) => {
    const { rig, service, error, report, sent } = await syncWhile(() => answer, {
      DUCKMIRROR_CONCURRENCY: concurrency,
    });
    expect(error).toMatchObject({ code: "SERVICE_FAILING", exitCode: 5 });
    expect(error?.message).toContain("GET /v1/");
    // Three requests are tried six times, those under way with them not much more often, nine once.
    expect(sent.length).toBeLessThanOrEqual(3 * 6 + 9 + 6 * Number(concurrency));
    expect(report.requests).toBe(sent.length);
    service.answerInstead(null);
    const next = await rig.sync({ full: true });
    expect(next.error).toBeNull();
    expect(next.report.streams.every(({ complete }) => complete)).toBe(true);
  },
);

test("a service that begins to fail in the middle of a run ends it early", async () => {
  let number = 0;
  const { error, sent } = await syncWhile(() => (++number > 15 ? BROKEN : undefined), { DUCKMIRROR_CONCURRENCY: "8" });
  expect(error?.code).toBe("SERVICE_FAILING");
  expect(sent.length).toBeLessThanOrEqual(15 + 3 * 6 + 9 + 6 * 8);
});

test("a stream whose every request fails is tried to its end; the other streams are done", async () => {
  const { sent, failed, done, error } = await syncWhile(
    ({ path }) => (path.endsWith("/filings") ? BROKEN : undefined),
    {
      DUCKMIRROR_CONCURRENCY: "8",
    },
  );
  expect(error?.code).toBe("STREAMS_FAILED");
  expect(failed).toEqual(["filings"]);
  expect(done).toHaveLength(10);
  const tries = sent.filter(({ path }) => path.endsWith("/filings"));
  expect(new Set(tries.map(({ path }) => path)).size).toBe(20);
  expect(tries.length).toBe(20 * 6);
});

test.each(["1", "8"])(
  "where every Full Access route fails, the companies' lists are mirrored first, with %s in flight",
  async (concurrency) => {
    const { failed, done } = await syncWhile(
      ({ path }) => (/^\/v1\/(accounts|contacts|signals|account-insights)/.test(path) ? BROKEN : undefined),
      { DUCKMIRROR_CONCURRENCY: concurrency },
    );
    expect(failed).toEqual(expect.arrayContaining(["accounts", "contacts", "signals", "account_insights"]));
    expect(done).toEqual(expect.arrayContaining(["news_articles", "job_openings", "earnings_calls", "filings"]));
  },
);

test("a stream in which the first fails and the last answers is read to its end", async () => {
  const { sent, failed, report } = await syncWhile(({ path }) =>
    /c_([1-9]|1[0-8])\/job-openings$/.test(path) ? BROKEN : undefined,
  );
  expect(failed).toEqual(["job_openings"]);
  const answered = sent.filter(({ path, status }) => path.endsWith("/job-openings") && status === 200);
  expect(new Set(answered.map(({ path }) => path)).size).toBe(2);
  expect(report.streams.find(({ stream }) => stream === "job_openings")?.pages).toBeGreaterThan(0);
});

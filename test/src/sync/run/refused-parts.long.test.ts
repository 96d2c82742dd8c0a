// A service that fails wholly, so that a run must not try everything six times, or in some routes, or that forbids a route, a company or
// content: a refusal belongs to its part, all else is read, it is asked for again at growing intervals, and the run ends with 5.
// Shows P19 and P22.
import { expect, test } from "vitest";
import { aContact, anOrganization } from "../../../support/fake-data.ts";
import { createFakeService, type FakeAnswer, type FakeService } from "../../../support/fake-service.ts";
import { useMirrored } from "../../../support/mirrored-rig.ts";
import { simulatedClock, startSyncRig } from "../../../support/sync-rig.ts";

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

const start = async (where: Parameters<FakeService["answerWhere"]>[0], answer: FakeAnswer, companies = 8) => {
  const service = createFakeService(anOrganization(companies));
  service.answerWhere(where, answer);
  const rig = await startSyncRig(service, {}, simulatedClock());
  /** One sync: its exit code, and how many of its requests were refused. */
  const sync = async () => {
    const synced = await rig.sync();
    const refused = synced.sent.filter(({ status }) => status >= 300).length;
    return { ...synced, exit: synced.error?.exitCode ?? 0, refused };
  };
  return { data: service.data, service, rig, sync, passHours: (hours: number) => rig.clock.sleep(hours * 3_600_000) };
};
const FORBIDDEN = { status: 403, body: { error: "missing scope" } };

test.each<[string, number]>([
  ["/v1/accounts", 403],
  ["/v1/contacts", 403],
  ["/v1/signals", 403],
  ["/v1/signals/counts", 403],
  ["/news-articles", 403],
  ["/earnings-calls", 451],
  ["/v1/account-insights", 403],
  ["/v1/usage", 403],
])(
  "a token that may not read %s (%i) mirrors everything else, in the first sync and in later ones",
  async (...forbidden) => {
    const [part, status] = forbidden;
    const isForbidden = (path: string) =>
      path.includes(part) && (part !== "/v1/signals" || path !== "/v1/signals/counts");
    const { data, rig, sync, passHours } = await start(({ path }) => isForbidden(path), { ...FORBIDDEN, status });
    const first = await sync();
    expect(first.exit).toBe(part === "/v1/usage" ? first.exit : 5);
    data.contacts.push(aContact("ct_new"));
    const second = await sync();
    expect(second.of("contacts").inserted).toBe(part === "/v1/contacts" ? 0 : 1);
    const [row] = await rig.rows(
      "SELECT (SELECT count(*) FROM filings)::INTEGER AS filings, (SELECT count(*) FROM accounts)::INTEGER AS accounts",
    );
    if (part !== "/v1/accounts")
      expect(row).toMatchObject({ accounts: data.accounts.length, filings: expect.toSatisfy((n) => n > 0) });
    const third = await sync();
    expect([third.refused, third.exit]).toEqual([0, part === "/v1/usage" ? third.exit : 5]);
    await passHours(2);
    expect((await sync()).refused).toBeLessThanOrEqual(8);
  },
);

test("what is forbidden is read as soon as it is allowed and its wait is over", async () => {
  const { service, rig, sync, passHours } = await start("/v1/contacts", FORBIDDEN);
  for (let time = 0; time < 3; time++) expect((await sync()).exit).toBe(5);
  service.answerInstead(null);
  expect((await sync()).code).toBe("STREAMS_FAILED");
  await passHours(24);
  expect((await sync()).error).toBeNull();
  expect(await rig.rows("SELECT count(*)::INTEGER AS n FROM contacts")).toEqual([{ n: service.data.contacts.length }]);
});

test("403 on every route means the token: the run ends with exit code 3 after a few requests, and no route waits", async () => {
  const { service, sync } = await start(/./, FORBIDDEN);
  for (let time = 0; time < 3; time++) {
    const { exit, code, sent } = await sync();
    expect([exit, code]).toEqual([3, "CREDENTIALS_REFUSED"]);
    expect(sent.length).toBeLessThan(10);
  }
  service.answerInstead(null);
  expect((await sync()).error).toBeNull();
});

test("403 with a Retry-After is waited out like 429", async () => {
  let left = 2;
  const limited = { status: 403, body: { error: "secondary rate limit" }, headers: { "retry-after": "5" } };
  const { sync } = await start(({ path }) => path === "/v1/contacts" && left-- > 0, limited);
  expect((await sync()).error).toBeNull();
});

test.each([301, 400, 403, 410, 500])(
  "three companies that answer %i stop no sync, and are not asked for in each of them",
  async (status) => {
    const merged = { status, body: { error: "merged" }, headers: { location: "/v1/companies/c_9" } };
    const { data, rig, sync } = await start(/^\/v1\/companies\/c_[123](\/|$)/, merged, 12);
    const refused: number[] = [];
    for (let time = 0; time < 4; time++) {
      data.contacts.push(aContact(`ct_new${time}`));
      const { exit, refused: requests } = await sync();
      // A company that was merged into another one is gone, as one that answers 410.
      expect(exit).toBe(status === 410 || status === 301 ? 0 : 5);
      refused.push(requests);
      expect(await rig.rows(`SELECT count(*)::INTEGER AS n FROM contacts WHERE id = 'ct_new${time}'`)).toEqual([
        { n: 1 },
      ]);
    }
    // A refusal of parameters is followed by other forms of the request, in the first sync only.
    expect(refused[0]).toBeLessThan(status === 400 ? 150 : 50);
    expect(refused[1]).toBeLessThan(36);
    expect(refused.slice(2)).toEqual([0, 0]);
    expect(await rig.rows("SELECT count(DISTINCT company_id)::INTEGER AS n FROM news_articles")).toEqual([{ n: 9 }]);
  },
);

const started = (accounts: number, env: Record<string, string> = {}) =>
  startSyncRig(createFakeService(anOrganization(accounts), { maxPerPage: 50, credits: 5_000 }), env);

test.each([402, 403])(
  "content that is not in the plan (%i) is left out, at no credit, and asked for again in the next sync",
  async (status) => {
    const { service, sync, rows } = await started(3, {
      DUCKMIRROR_STREAMS: "accounts,news_articles,filings",
      DUCKMIRROR_CONTENT: "articleBody,fullContent",
    });
    for (const lists of Object.values(service.data.lists))
      for (const article of lists["news-articles"] ?? []) article.articleBody = "text";
    service.answerWhere(({ query }) => /articleBody|fullContent/.test(query.onlyWithFields ?? ""), status);
    expect(await sync()).toMatchObject({ error: null, complete: true, paid: 1 + 3 + 3 });
    const withBody = "SELECT count(*)::INTEGER AS n FROM news_articles WHERE article_body IS NOT NULL";
    expect(await rows(withBody)).toEqual([{ n: 0 }]);
    service.answerInstead(null);
    expect((await sync({ full: true })).error).toBeNull();
    expect((await rows(withBody))[0]?.n).toBeGreaterThan(0);
  },
);

test("signals whose content the service forbids are not complete, in the sync that asks for it or in later ones", async () => {
  const env = { DUCKMIRROR_STREAMS: "signals", DUCKMIRROR_CONTENT: "fullContent" };
  const { service, sync, rows } = await started(3, env);
  service.answerWhere(/\/signals\/1\d$/, 403);
  const freshness =
    "SELECT complete, reason LIKE '%content of % signals%' AS named FROM marts.freshness WHERE stream = 'signals'";
  for (let round = 0; round < 2; round++) {
    expect((await sync()).complete).toBe(false);
    expect(await rows(freshness)).toEqual([{ complete: false, named: true }]);
  }
});

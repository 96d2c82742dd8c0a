// Credits of a sync: counted, limited, never exceeded. Shows P14 and P15.
import { expect, test } from "vitest";
import { anOrganization } from "../../support/fake-data.ts";
import { createFakeService } from "../../support/fake-service.ts";
import { startMemoryRig } from "../../support/memory-rig.ts";
import { startSyncRig } from "../../support/sync-rig.ts";

test("a run never spends more than --max-credits, ends with exit code 4, and the next one goes on from there", async () => {
  const service = createFakeService(anOrganization(6), { maxPerPage: 6 });
  const rig = await startMemoryRig(service, { DUCKMIRROR_MAX_CREDITS: "9" });
  for (let runs = 0, isOver = false; !isOver; runs++) {
    const { error, report, paid } = await rig.sync();
    isOver = error === null;
    expect(paid).toBeLessThanOrEqual(9);
    expect([report.credits.spent, error?.exitCode ?? 4]).toEqual([paid, 4]);
    expect(runs).toBeLessThan(20);
  }
  const urls = service.log
    .filter((entry) => entry.status === 200)
    .map((entry) => `${entry.path}?${new URLSearchParams(entry.query)}`);
  const repeated = urls.filter((url, index) => urls.indexOf(url) !== index);
  // Only the organization's own lists are looked at in every run.
  expect(new Set(repeated.map((url) => url.split("?")[0])).size).toBeLessThanOrEqual(3);
  expect([rig.rows("job_openings").length, rig.rows("account_insights").length]).toEqual([18, 6]);
});

test("on a free plan the most valuable pages come first and the next period goes on", async () => {
  const service = createFakeService(anOrganization(300), { maxPerPage: 100, credits: 100 });
  const rig = await startMemoryRig(service);
  const { error, report } = await rig.sync();
  expect([error?.code, error?.exitCode, report.status]).toEqual(["QUOTA_SPENT", 4, "stopped"]);
  // The user sees when the rest can be had.
  const until = Date.parse(report.credits.resets_at ?? "");
  expect(rig.events).toContainEqual({ kind: "waiting", why: "quota", until, stream: null });
  expect(service.spent()).toBe(100);
  const lengths = (["accounts", "contacts", "signals"] as const).map((table) => rig.rows(table).length);
  expect(lengths).toEqual([300, 1200, 1800]);
  // What is left goes to the companies of the accounts with the highest priority and score.
  const others = rig.rows("accounts", "company_id", "priority").filter(({ priority }) => Number(priority) > 1);
  const known = new Set(rig.rows("news_articles", "company_id").map(({ company_id: id }) => id));
  expect(others.length).toBeGreaterThan(0);
  expect(others.filter(({ company_id: id }) => known.has(id))).toEqual([]);
  const companyLists = ["news_articles", "job_openings", "earnings_calls", "filings"];
  const credits = report.streams.filter(({ stream }) => companyLists.includes(stream)).map((each) => each.credits);
  expect(credits.reduce((sum, each) => sum + each, 0)).toBeGreaterThan(50);
});

test.each([
  ["-1", { limit: -1, used: 5, remaining: -1, resetsAt: null }],
  ["Long.MAX_VALUE", { limit: 2 ** 63, used: 5, remaining: 2 ** 63, resetsAt: null }],
  ["0 of 0", { limit: 0, used: 5, remaining: 0, resetsAt: null }],
  ["1e300", { limit: 1e300, used: 5, remaining: 1e300, resetsAt: null }],
])("a service that writes %s for no limit is mirrored completely, and nothing counts as used up", async (_, usage) => {
  const service = createFakeService(anOrganization(6), { maxPerPage: 50, usage });
  const rig = await startMemoryRig(service);
  const { error, report } = await rig.sync();
  expect(error).toBeNull();
  expect(report.credits).toMatchObject({ spent: service.spent(), remaining: null, limit: null });
  expect(rig.rows("account_insights")).toHaveLength(6);
  const readings = rig.rows("usage_snapshots", "source", "limit", "remaining", "_extra");
  expect(readings.filter(({ limit, remaining }) => limit !== null || remaining !== null)).toEqual([]);
  // What GET /v1/usage said is not lost.
  const kept = readings.find(({ source }) => source === "usage");
  expect(kept?._extra).toContain(`"limit":`);
});

test("a 429 that gives no reason ends the run at once if the last report left no credits", async () => {
  const service = createFakeService(anOrganization(20), { maxPerPage: 10, credits: 10 });
  const rig = await startMemoryRig(service, {
    DUCKMIRROR_STREAMS: "accounts,contacts,signals",
    DUCKMIRROR_CONCURRENCY: "1",
  });
  expect((await rig.sync()).code).toBe("QUOTA_SPENT");
  service.answerWhere(/./, 429);
  const { error, sent } = await rig.sync();
  expect([error?.code, error?.exitCode]).toEqual(["QUOTA_SPENT", 4]);
  expect(sent.length).toBeLessThanOrEqual(3);
});

test("a service that refuses for lack of credits stops the run as budget, not as failure", async () => {
  const service = createFakeService(anOrganization(3), { credits: 100 });
  service.answerWhere(({ number }) => number > 6, 402);
  const rig = await startMemoryRig(service);
  const { error, report } = await rig.sync();
  expect(error?.exitCode).toBe(4);
  expect(report.streams.some((stream) => stream.status === "failed")).toBe(false);
  // The next one hears nothing but refusals, and still knows from the last one when there are credits again.
  service.answerWhere(/./, 402);
  const events = rig.events.length;
  const next = await rig.sync();
  const resetsAt = report.credits.resets_at ?? "";
  expect(next.error?.message).toContain(`by its last report the period ends at ${resetsAt}`);
  const waits = rig.events.slice(events).filter(({ kind }) => kind === "waiting");
  expect(waits).toEqual([{ kind: "waiting", why: "quota", until: Date.parse(resetsAt), stream: null }]);
});

test("a stream whose every list fails alike is reported in a few lines, and the ledger has each failure", async () => {
  const service = createFakeService(anOrganization(12));
  service.answerWhere(/\/filings$/, 418);
  const rig = await startMemoryRig(service);
  expect((await rig.sync()).code).toBe("STREAMS_FAILED");
  const failures = rig.requests().filter(({ stream, status }) => stream === "filings" && status === 418);
  expect(failures.length).toBeGreaterThan(6);
  const told = rig.events.flatMap((event) =>
    event.kind === "note" && event.text.includes("filings") ? [event.text] : [],
  );
  const last =
    "filings: further failures like this one (REQUEST_FAILED) are not listed; sync.requests has each of them.";
  expect([told.length, told.at(-1)]).toEqual([6, last]);
});

test("the last reading of the quota counts every credit of the run, those of the usage routes as well", async () => {
  const service = createFakeService(anOrganization(4), { maxPerPage: 5, credits: 5000 });
  const rig = await startSyncRig(service);
  for (let run = 0; run < 2; run++) {
    const { error } = await rig.sync({ full: run > 0 });
    expect(error).toBeNull();
    const readings = await rig.rows("SELECT used, remaining FROM usage_snapshots ORDER BY captured_at, used");
    expect(readings.at(-1)).toEqual({ used: service.spent(), remaining: 5000 - service.spent() });
    // Within a period `used` never falls.
    const used = readings.map((reading) => Number(reading.used));
    expect(used).toEqual([...used].sort((a, b) => a - b));
    const [burn] = await rig.rows(
      "SELECT sum(org_spent) AS org, sum(spent_here) AS here, bool_and(org_spent >= spent_here) AS possible FROM marts.credit_burn",
    );
    expect(burn).toMatchObject({ possible: true, here: service.spent() });
  }
});

test("each answer is stored with the id that the service gave it and its interface's version, as a support ticket needs them", async () => {
  const rig = await startSyncRig(createFakeService(anOrganization(1)), { DUCKMIRROR_STREAMS: "accounts" });
  expect((await rig.sync()).error).toBeNull();
  const answers = "SELECT DISTINCT service_request_id, api_version FROM sync.requests WHERE stream = 'accounts'";
  expect(await rig.rows(answers)).toEqual([{ service_request_id: "r1", api_version: "1.0.0" }]);
});

test("where only the usage routes tell the quota, the report counts on from their last figure", async () => {
  // Such a service says 999 in GET /v1/usage, and nothing in its other responses.
  const service = createFakeService(anOrganization(2));
  const rig = await startMemoryRig(service);
  const first = await rig.sync();
  const asked = service.log.findLastIndex(({ path }) => path === "/v1/usage");
  const since = service.log.slice(asked + 1).filter(({ status }) => status === 200).length;
  const { remaining } = first.report.credits;
  // Requests that were in flight beside it may be counted or not.
  expect(remaining).toBeLessThanOrEqual(999 - since);
  expect(remaining).toBeGreaterThan(999 - since - 32);
  const second = await rig.sync();
  expect(second.report.credits).toMatchObject({ spent: 3, limit: 1000, remaining: Number(remaining) - 3 });
});

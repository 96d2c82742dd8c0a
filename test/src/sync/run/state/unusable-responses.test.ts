// Lists whose answers are paid and cannot be used are asked for less and less often, and the report says so. Shows P21.
import { expect, test } from "vitest";
import { UnusableResponses } from "../../../../../src/sync/run/state/unusable-responses.ts";
import { anOrganization } from "../../../../support/fake-data.ts";
import { createFakeService, type FakeOptions, type FakeRequest } from "../../../../support/fake-service.ts";
import { startMemoryRig } from "../../../../support/memory-rig.ts";
import { simulatedClock } from "../../../../support/sync-rig.ts";

const HOUR_MS = 3_600_000;

/** A mirror of a service whose answers to some requests are no envelopes, until it is mended. Each sync takes an hour. */
const started = async (
  accounts: number,
  streams: string,
  isWrong: (request: FakeRequest) => boolean,
  options: FakeOptions = {},
) => {
  const service = createFakeService(anOrganization(accounts), options);
  service.answerWhere(isWrong, { status: 200, body: { items: [] } });
  const rig = await startMemoryRig(service, { DUCKMIRROR_STREAMS: streams }, simulatedClock());
  const stream = async (name: string, request: Parameters<typeof rig.sync>[0] = {}) => {
    const { code, of } = await rig.sync(request);
    await rig.clock.sleep(HOUR_MS);
    const { credits, complete, error } = of(name);
    return { code, credits, complete, error };
  };
  return { ...rig, stream, mend: () => service.answerInstead(null) };
};

test("a list of another shape costs three credits once, then one at growing intervals; named, it is read at once", async () => {
  const { stream, mend } = await started(2, "contacts", () => true);
  const [INVALID, UNUSABLE] = [/^RESPONSE_INVALID:/, /^ANSWERS_UNUSABLE:/];
  for (const [credits, error] of [
    [3, INVALID],
    [1, INVALID],
    [1, INVALID],
    [0, UNUSABLE],
  ] as const)
    expect(await stream("contacts")).toMatchObject({
      code: "STREAMS_FAILED",
      credits,
      error: expect.stringMatching(error),
    });
  mend();
  expect(await stream("contacts", { streams: ["contacts"] })).toMatchObject({ code: null, complete: true });
  expect(await stream("contacts")).toMatchObject({ code: null, credits: 1 });
});

test("headers of 17 KB, which no answer can be read behind, cost a list one credit a sync, then at growing intervals", async () => {
  const { service, sync, clock } = await started(2, "accounts,contacts", () => false);
  service.answerWhere("/v1/contacts", { status: 200, body: {}, headers: { "x-debug": "y".repeat(17_000) } });
  for (const tried of [1, 1, 0, 1]) {
    const { code, sent, report } = await sync();
    expect([code, report.streams.map(({ complete }) => complete)]).toEqual(["STREAMS_FAILED", [true, false]]);
    expect(sent.filter(({ path }) => path === "/v1/contacts")).toHaveLength(tried);
    await clock.sleep(HOUR_MS / 2);
  }
});

test("while a walk waits for a page that cannot be used, each sync reads the changes of its list for a credit", async () => {
  const isDeep = ({ query }: FakeRequest) => query.sortBy === "id" && Number(query.page) > 2;
  const { stream, mend, service, rows, clock } = await started(8, "signals", isDeep, { maxPerPage: 10 });
  await stream("signals");
  const [oldest] = service.data.signals;
  for (const [sync, credits] of [2, 2, 1].entries()) {
    const headline = `Headline ${sync}`;
    Object.assign(oldest ?? {}, { headline, updatedAt: new Date(clock.now()).toISOString() });
    const error = expect.stringMatching(sync < 2 ? /^RESPONSE_INVALID/ : /^ANSWERS_UNUSABLE/);
    expect(await stream("signals")).toMatchObject({ credits, complete: false, error });
    const headlines = rows("signals", "headline").map((row) => String(row.headline));
    expect(headlines.filter((text) => text.startsWith("Headline"))).toEqual([headline]);
  }
  mend();
  expect(await stream("signals", { streams: ["signals"] })).toMatchObject({ code: null, complete: true });
});

test("a stream none of whose records can be used ends after twenty of them; then one is tried for all", async () => {
  const isInsight = ({ path }: FakeRequest) => path === "/v1/account-insights";
  const { stream, mend } = await started(100, "accounts,account_insights", isInsight);
  // Twenty that fail, 32 in flight meanwhile, and 29 that were repeated before it was clear that none can be used.
  expect((await stream("account_insights")).credits).toBeLessThanOrEqual(20 + 32 + 29);
  expect((await stream("account_insights")).credits).toBe(1);
  mend();
  await stream("account_insights");
  expect(await stream("account_insights")).toMatchObject({ code: null, complete: true });
});

test("a list that was read further than the last time is tried as often as any other", () => {
  const book = new UnusableResponses([{ stream: "news_articles", scope: "c_1", times: 4, at: 0 }], () => 7);
  const place = { stream: "news_articles", scope: "c_1" };
  expect([book.attempts(place, false), book.attempts(place, true)]).toEqual([{ maxPaidAttempts: 1 }, {}]);
  book.failed(place, { goneOn: true, deep: false, free: false });
  expect(book.known).toEqual([{ ...place, times: 1, at: 7 }]);
});

test("the organization's own list is asked for whatever became of single records", () => {
  const book = new UnusableResponses([], () => 0);
  const failure = { goneOn: false, deep: false, free: false };
  for (let record = 0; record < 20; record++) book.failed({ stream: "signals", scope: `detail:${record}` }, failure);
  const isShut = (scope: string) => book.isShut({ stream: "signals", scope });
  expect([isShut("detail:99"), isShut("")]).toEqual([true, false]);
  expect(book.read({ stream: "signals", scope: "detail:99" })).toBe(true);
  expect([isShut("detail:99"), book.known]).toEqual([false, []]);
});

// Lists whose answers are paid and cannot be used are asked for less and less often, and the report says so. Shows P21.
import { expect, test } from "vitest";
import { UnusableBook } from "../../../../../src/sync/run/state/unusable-book.ts";
import { anOrganization } from "../../../../support/fake-data.ts";
import { createFakeService, type FakeOptions, type FakeRequest } from "../../../../support/fake-service.ts";
import { startMemoryRig } from "../../../../support/memory-rig.ts";
import { simulatedClock } from "../../../../support/sync-rig.ts";

const HOUR_MS = 3_600_000;

/** A service whose answers to some requests are no envelopes. */
const started = async (
  accounts: number,
  streams: string,
  isWrong: (request: FakeRequest) => boolean,
  options: FakeOptions = {},
) => {
  const service = createFakeService(anOrganization(accounts), options);
  const right = service.options;
  service.options = {
    ...right,
    before: (request) => (isWrong(request) ? { status: 200, body: { items: [] } } : undefined),
  };
  const clock = simulatedClock();
  const rig = await startMemoryRig(service, { DUCKMIRROR_STREAMS: streams }, clock);
  const stream = async (name: string, request: Parameters<typeof rig.sync>[0] = {}) => {
    const { error, report } = await rig.sync(request);
    await clock.sleep(HOUR_MS);
    const found = report.streams.find((known) => known.stream === name);
    return { code: error?.code, credits: found?.credits, complete: found?.complete, error: found?.error };
  };
  const mend = () => {
    service.options = right;
  };
  return { stream, mend, service, rig, clock };
};

test("a list of another shape costs three credits once, then one at growing intervals; named, it is read at once", async () => {
  const { stream, mend } = await started(2, "contacts", () => true);
  const syncs = [
    await stream("contacts"),
    await stream("contacts"),
    await stream("contacts"),
    await stream("contacts"),
  ];
  expect(syncs.map(({ credits }) => credits)).toEqual([3, 1, 1, 0]);
  expect(syncs.map(({ code }) => code)).toEqual(Array(4).fill("STREAMS_FAILED"));
  expect(syncs.map(({ error }) => error?.split(":")[0])).toEqual([
    ...Array(3).fill("RESPONSE_INVALID"),
    "ANSWERS_UNUSABLE",
  ]);
  mend();
  expect(await stream("contacts", { streams: ["contacts"] })).toMatchObject({ code: undefined, complete: true });
  expect(await stream("contacts")).toMatchObject({ code: undefined, credits: 1 });
});

test("headers of 17 KB, which no answer can be read behind, cost a list one credit a sync, then at growing intervals", async () => {
  const { service, rig, clock } = await started(2, "accounts,contacts", () => false);
  service.answerInstead(({ path }) =>
    path === "/v1/contacts" ? { status: 200, body: {}, headers: { "x-debug": "y".repeat(17_000) } } : undefined,
  );
  const syncs: unknown[] = [];
  for (const _ of [1, 2, 3, 4]) {
    const from = service.log.length;
    const { error, report } = await rig.sync();
    const tried = service.log.slice(from).filter(({ path }) => path === "/v1/contacts").length;
    syncs.push([error?.code, tried, report.streams.map(({ complete }) => complete)]);
    await clock.sleep(HOUR_MS / 2);
  }
  expect(syncs).toEqual([1, 1, 0, 1].map((tried) => ["STREAMS_FAILED", tried, [true, false]]));
});

test("while a walk waits for a page that cannot be used, each sync reads the changes of its list for a credit", async () => {
  const isDeep = ({ query }: FakeRequest) => query.sortBy === "id" && Number(query.page) > 2;
  const { stream, mend, service, rig, clock } = await started(8, "signals", isDeep, { maxPerPage: 10 });
  await stream("signals");
  const [oldest] = service.data.signals;
  for (const [sync, credits] of [2, 2, 1].entries()) {
    const headline = `Headline ${sync}`;
    Object.assign(oldest ?? {}, { headline, updatedAt: new Date(clock.now()).toISOString() });
    const error = sync < 2 ? /^RESPONSE_INVALID/ : /^ANSWERS_UNUSABLE/;
    expect(await stream("signals")).toMatchObject({ credits, complete: false, error: expect.stringMatching(error) });
    const headlines = rig.rows("signals", "headline").map((row) => String(row.headline));
    expect(headlines.filter((text) => text.startsWith("Headline"))).toEqual([headline]);
  }
  mend();
  expect(await stream("signals", { streams: ["signals"] })).toMatchObject({ code: undefined, complete: true });
});

test("a stream none of whose records can be used ends after twenty of them; then one is tried for all", async () => {
  const isInsight = ({ path }: FakeRequest) => path === "/v1/account-insights";
  const { stream, mend } = await started(100, "accounts,account_insights", isInsight);
  // Twenty that fail, 32 in flight meanwhile, and 29 that were repeated before it was clear that none can be used.
  expect((await stream("account_insights")).credits).toBeLessThanOrEqual(20 + 32 + 29);
  expect((await stream("account_insights")).credits).toBe(1);
  mend();
  await stream("account_insights");
  expect(await stream("account_insights")).toMatchObject({ code: undefined, complete: true });
});

test("a list that was read further than the last time is tried as often as any other", () => {
  const book = new UnusableBook([{ stream: "news_articles", scope: "c_1", times: 4, at: 0 }], () => 7);
  const place = { stream: "news_articles", scope: "c_1" };
  expect([book.attempts(place, false), book.attempts(place, true)]).toEqual([{ maxPaidAttempts: 1 }, {}]);
  book.failed(place, { goneOn: true, deep: false, free: false });
  expect(book.known).toEqual([{ ...place, times: 1, at: 7 }]);
});

test("the organization's own list is asked for whatever became of single records", () => {
  const book = new UnusableBook([], () => 0);
  const failure = { goneOn: false, deep: false, free: false };
  for (let record = 0; record < 20; record++) book.failed({ stream: "signals", scope: `detail:${record}` }, failure);
  const isShut = (scope: string) => book.isShut({ stream: "signals", scope });
  expect([isShut("detail:99"), isShut("")]).toEqual([true, false]);
  expect(book.read({ stream: "signals", scope: "detail:99" })).toBe(true);
  expect([isShut("detail:99"), book.known]).toEqual([false, []]);
});

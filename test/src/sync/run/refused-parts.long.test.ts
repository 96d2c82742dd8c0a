// A refusal belongs to its route or company: all else is read, it is asked for again at growing intervals, and the run ends with 5.
// Shows P19 and P22.
import { expect, test } from "vitest";
import { aContact, anOrganization } from "../../../support/fake-data.ts";
import { createFakeService, type FakeAnswer } from "../../../support/fake-service.ts";
import { simulatedClock, startSyncRig } from "../../../support/sync-rig.ts";

const HOUR = 3_600_000;

const start = async (isRefused: (path: string) => FakeAnswer | undefined, companies = 8) => {
  const data = anOrganization(companies);
  const service = createFakeService(data, { before: ({ path }) => isRefused(path) });
  const clock = simulatedClock();
  const rig = await startSyncRig(service, {}, clock);
  /** One sync: its end, and the refused requests. */
  const sync = async () => {
    const before = service.log.length;
    const { error, report } = await rig.sync();
    const refused = service.log.slice(before).filter(({ status }) => status >= 300);
    return { exit: error?.exitCode ?? 0, error, report, refused: refused.length, sent: service.log.length - before };
  };
  return { data, service, rig, sync, passHours: (hours: number) => clock.sleep(hours * HOUR) };
};

const forbid = (part: string) => (path: string) =>
  path.includes(part) ? { status: 403, body: { error: "missing scope" } } : undefined;

test.each([
  "/v1/accounts",
  "/v1/contacts",
  "/v1/signals",
  "/v1/signals/counts",
  "/news-articles",
  "/v1/account-insights",
  "/v1/usage",
])("a token that may not read %s mirrors everything else, in the first sync and in later ones", async (part) => {
  const { data, rig, sync, passHours } = await start((path) =>
    part === "/v1/signals" && path === "/v1/signals/counts" ? undefined : forbid(part)(path),
  );
  const first = await sync();
  expect(first.exit).toBe(part === "/v1/usage" ? first.exit : 5);
  data.contacts.push(aContact("ct_new"));
  const second = await sync();
  expect(second.report.streams.find(({ stream }) => stream === "contacts")?.inserted).toBe(
    part === "/v1/contacts" ? 0 : 1,
  );
  const [row] = await rig.rows(
    "SELECT (SELECT count(*) FROM filings)::INTEGER AS filings, (SELECT count(*) FROM accounts)::INTEGER AS accounts",
  );
  if (part !== "/v1/accounts")
    expect(row).toMatchObject({ accounts: data.accounts.length, filings: expect.toSatisfy((n) => n > 0) });
  const third = await sync();
  expect([third.refused, third.exit]).toEqual([0, part === "/v1/usage" ? third.exit : 5]);
  await passHours(2);
  expect((await sync()).refused).toBeLessThanOrEqual(8);
});

test("what is forbidden is read as soon as it is allowed and its wait is over", async () => {
  const { service, rig, sync, passHours } = await start(forbid("/v1/contacts"));
  for (let time = 0; time < 3; time++) expect((await sync()).exit).toBe(5);
  service.answerInstead(null);
  expect((await sync()).error?.code).toBe("STREAMS_FAILED");
  await passHours(24);
  expect((await sync()).error).toBeNull();
  expect(await rig.rows("SELECT count(*)::INTEGER AS n FROM contacts")).toEqual([{ n: service.data.contacts.length }]);
});

test("403 on every route means the token: the run ends with exit code 3 after a few requests, and no route waits", async () => {
  const { service, sync } = await start(() => ({ status: 403, body: { error: "no" } }));
  for (let time = 0; time < 3; time++) {
    const { exit, error, sent } = await sync();
    expect([exit, error?.code]).toEqual([3, "CREDENTIALS_REFUSED"]);
    expect(sent).toBeLessThan(10);
  }
  service.answerInstead(null);
  expect((await sync()).error).toBeNull();
});

test("403 with a Retry-After is waited out like 429", async () => {
  let left = 2;
  const { sync } = await start((path) =>
    path === "/v1/contacts" && left-- > 0
      ? { status: 403, body: { error: "secondary rate limit" }, headers: { "retry-after": "5" } }
      : undefined,
  );
  expect((await sync()).error).toBeNull();
});

test.each([301, 400, 410, 500])(
  "three companies that answer %i stop no sync, and are not asked for in each of them",
  async (status) => {
    const { data, rig, sync } = await start(
      (path) =>
        /^\/v1\/companies\/c_[123](\/|$)/.test(path)
          ? { status, body: { error: "merged" }, headers: { location: "/v1/companies/c_9" } }
          : undefined,
      12,
    );
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

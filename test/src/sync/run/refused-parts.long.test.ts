// A refusal belongs to its route or company: all else is read, it is asked for again at growing intervals, and the run ends with 5.
// Shows P19 and P22.
import { expect, test } from "vitest";
import { aContact, anOrganization } from "../../../support/fake-data.ts";
import { createFakeService, type FakeAnswer, type FakeService } from "../../../support/fake-service.ts";
import { simulatedClock, startSyncRig } from "../../../support/sync-rig.ts";

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

test.each([
  "/v1/accounts",
  "/v1/contacts",
  "/v1/signals",
  "/v1/signals/counts",
  "/news-articles",
  "/v1/account-insights",
  "/v1/usage",
])("a token that may not read %s mirrors everything else, in the first sync and in later ones", async (part) => {
  const isForbidden = (path: string) =>
    path.includes(part) && (part !== "/v1/signals" || path !== "/v1/signals/counts");
  const { data, rig, sync, passHours } = await start(({ path }) => isForbidden(path), FORBIDDEN);
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
});

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

test.each([301, 400, 410, 500])(
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

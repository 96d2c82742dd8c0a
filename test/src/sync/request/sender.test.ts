// Requests of whole syncs: limits that cannot be asked for, ids that a path cannot carry, since servers and clients resolve the dots away
// and another route would be asked, and a service that refuses requests in flight beyond one. Shows P17.
import { expect, test } from "vitest";
import { type OpenAccess, openOwnAccess } from "../../../../jobs/service-access.ts";
import { systemClock } from "../../../../src/core/clock.ts";
import { DuckmirrorError } from "../../../../src/core/errors.ts";
import type { Sender } from "../../../../src/sync/request/turn.ts";
import { anOrganization, aSignal } from "../../../support/fake-data.ts";
import { createFakeService, emptyData } from "../../../support/fake-service.ts";
import { startMemoryRig } from "../../../support/memory-rig.ts";
import { hurriedClock, startSyncRig } from "../../../support/sync-rig.ts";

const service = () =>
  createFakeService(
    { ...emptyData(), signals: Array.from({ length: 60 }, (_, index) => aSignal(index + 1)) },
    { maxPerPage: 10 },
  );

/** The usual way, with some of its parts replaced. */
const through =
  (change: (sender: Sender) => Partial<Sender>): OpenAccess =>
  async (config, context) => {
    const alone = await openOwnAccess(config, context);
    return { ...alone, sender: { ...alone.sender, ...change(alone.sender) } };
  };

test("limits that cannot be asked for end the run with their error, and the next run goes on", async () => {
  const source = service();
  let turns = 0;
  let away = true;
  const connect = through((sender) => ({
    acquire: async (signal) => {
      turns += 1;
      if (away && turns > 4) throw new DuckmirrorError("REDIS_UNAVAILABLE", { detail: "connection refused" });
      return sender.acquire(signal);
    },
  }));
  const rig = await startSyncRig(source, {}, hurriedClock(), connect);
  const first = await rig.sync({ streams: ["signals"] });
  expect(first.error?.code).toBe("REDIS_UNAVAILABLE");
  expect(source.spent()).toBe(first.report.credits.spent);
  away = false;
  const second = await rig.sync({ streams: ["signals"] });
  expect(second.error).toBeNull();
  expect(await rig.rows("SELECT count(*)::INTEGER AS n FROM signals")).toEqual([{ n: 60 }]);
  // Six pages, each paid for once.
  expect(source.spent()).toBe(6);
});

test("a request that nobody may send costs nothing and ends the run with the reason", async () => {
  const source = service();
  const error = new DuckmirrorError("QUOTA_SPENT", { until: "" });
  const rig = await startSyncRig(
    source,
    {},
    hurriedClock(),
    through(() => ({ send: async () => ({ kind: "denied", error }) })),
  );
  const { error: ended, report } = await rig.sync({ streams: ["signals"] });
  expect(ended?.code).toBe("QUOTA_SPENT");
  expect([report.status, report.requests, report.credits.spent, source.spent()]).toEqual(["stopped", 0, 0, 0]);
});

/** A mirror of three accounts, the second of which names this company, after a sync. */
const syncWith = async (companyId: string) => {
  const service = createFakeService(anOrganization(3));
  Object.assign(service.data.accounts[1] ?? {}, { companyId });
  const { sync, rows } = await startSyncRig(service);
  const synced = await sync();
  const one = async (sql: string) => Object.values((await rows(`SELECT ${sql}`))[0] ?? {})[0];
  return { ...synced, one, paths: synced.sent.map(({ path }) => path) };
};

test.each(["..", "."])(
  "a company whose id is %j is asked for under no other route, and is said to fail",
  async (id) => {
    const { error, of, paths, one } = await syncWith(id);
    expect(error?.exitCode).toBe(5);
    const says = expect.stringContaining("leads to another route");
    expect(of("companies")).toMatchObject({ complete: false, error: says });
    const isElsewhere = (path: string) =>
      path.startsWith("/v1/companies") && !/^\/v1\/companies\/c_[13](\/|$)/.test(path);
    const resolved = ["/v1/", "/v1", "/v1/news-articles", "/v1/job-openings"];
    expect(paths.filter((path) => isElsewhere(path) || resolved.includes(path))).toEqual([]);
    expect(await one("count(*)::INT FROM companies")).toBe(2);
  },
);

test("an account whose company id is an empty text has no company, and every stream stays complete", async () => {
  const { error, complete, paths, one } = await syncWith("");
  expect([error, complete]).toEqual([null, true]);
  expect(paths.filter((path) => /companies\/(\/|$)/.test(path))).toEqual([]);
  expect(await one("bool_and(complete) FROM marts.freshness")).toBe(true);
  expect(await one("count(*)::INT FROM accounts WHERE company_id = ''")).toBe(1);
});

test("a company id that the service sends as a number leads to its company", async () => {
  const service = createFakeService(anOrganization(2), { included: "none" });
  const [account] = service.data.accounts;
  const [company] = service.data.companies;
  const lists = service.data.lists[String(company?.id)];
  if (account === undefined || company === undefined || lists === undefined) throw new Error("no company");
  Object.assign(account, { companyId: 77 });
  Object.assign(company, { id: 77 });
  service.data.lists["77"] = lists;
  const rig = await startSyncRig(service);
  expect((await rig.sync()).error).toBeNull();
  expect(await rig.rows("SELECT name FROM companies WHERE id = '77'")).toEqual([{ name: company.name }]);
  const news = await rig.rows("SELECT count(*)::INT AS n FROM news_articles WHERE company_id = '77'");
  expect(news).toEqual([{ n: lists["news-articles"]?.length }]);
  const [kept] = await rig.rows(
    "SELECT company_id, _extra ->> 'companyId' AS received FROM accounts WHERE company_id = '77'",
  );
  expect(kept).toEqual({ company_id: "77", received: "77" });
});

/** Real time for which the service works at a request, ms. */
const WORK_MS = 4;

test.each([
  ["names the reason", { error: "too many concurrent requests" }, {}],
  ["gives no reason", "", {}],
  ["gives a wait", "", { "retry-after": "1" }],
])(
  "a limit of one request in flight, whose refusal %s, is learned in the first sync and kept in it",
  async (_, body, headers) => {
    const service = createFakeService(anOrganization(12));
    let inside = 0;
    service.options = {
      ...service.options,
      hold: () => {
        inside += 1;
        return new Promise((resolve) => setTimeout(resolve, WORK_MS));
      },
      before: () => {
        const isOver = inside > 1;
        inside -= 1;
        return isOver ? { status: 429, body, headers } : undefined;
      },
    };
    const rig = await startMemoryRig(service, {}, systemClock);
    const from = performance.now();
    const { sent, ...end } = await rig.sync();
    expect(end).toMatchObject({ error: null, complete: true });
    const refused = sent.filter(({ status }) => status === 429).length;
    expect(refused).toBeGreaterThan(0);
    expect(refused).toBeLessThanOrEqual(6);
    expect(performance.now() - from).toBeLessThan(30_000);
    const notes = rig.events.flatMap((event) => (event.kind === "note" ? [event.text] : []));
    expect(notes).toContain("the service refuses more than 1 request in flight, so no more are sent at once");
  },
);

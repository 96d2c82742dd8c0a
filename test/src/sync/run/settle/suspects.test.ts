// Accounts that are gone, beside a change of all others: found by their ids, without another reading of the list.
import { expect, test } from "vitest";
import { anOrganization } from "../../../../support/fake-data.ts";
import { createFakeService, idsOf } from "../../../../support/fake-service.ts";
import { startMemoryRig } from "../../../../support/memory-rig.ts";

/** Of 48 accounts, ten a page, of which some share a row with the page before. */
const PAGES = 7;

/** 50 accounts in pages of 10, mirrored; then every account has another score. */
const rescored = async () => {
  const service = createFakeService(anOrganization(50), { maxPerPage: 10 });
  const rig = await startMemoryRig(service, { DUCKMIRROR_STREAMS: "accounts" });
  await rig.sync();
  const later = new Date(Date.now() + 1000).toISOString();
  for (const row of service.data.accounts) Object.assign(row, { mainScore: 7, updatedAt: later });
  const drop = (...ids: readonly number[]) => {
    service.data.accounts = service.data.accounts.filter(({ id }) => !ids.includes(Number(id)));
  };
  /** One more sync: pages of the list, and accounts that were asked for by id, by status. */
  const sync = async () => {
    const { error, sent, of } = await rig.sync();
    expect(error).toBeNull();
    expect(rig.ids("accounts")).toEqual(idsOf(service.data.accounts));
    const count = (path: RegExp, is: number) => sent.filter((one) => path.test(one.path) && one.status === is).length;
    const [gone, there] = [count(BY_ID, 404), count(BY_ID, 200)];
    return { stream: of("accounts"), pages: count(/^\/v1\/accounts$/, 200), gone, there };
  };
  return { service, drop, sync };
};
const BY_ID = /^\/v1\/accounts\/\d+$/;

test("two of fifty that went while all others changed cost a credit, not another reading of the list", async () => {
  const { drop, sync } = await rescored();
  drop(3, 44);
  const { stream, ...sent } = await sync();
  expect(stream).toMatchObject({ complete: true, deleted: 2, updated: 48 });
  // One that the list returned is asked for, so that the 404s can be believed.
  expect(sent).toEqual({ pages: PAGES, gone: 2, there: 1 });
});

test("an account that moves while the list is read is there when asked for, and one that went is not", async () => {
  const { service, drop, sync } = await rescored();
  let moved = false;
  service.answerInstead(({ path, query }) => {
    if (moved || path !== "/v1/accounts" || query.page !== "2") return undefined;
    moved = true;
    Object.assign(service.data.accounts.at(-1) ?? {}, { updatedAt: new Date(Date.now() + 60_000).toISOString() });
    drop(30);
    return undefined;
  });
  expect((await sync()).stream).toMatchObject({ complete: true, deleted: 1 });
});

test("where nothing can be asked for by id, the list is read again, and its rows are deleted all the same", async () => {
  const { service, drop, sync } = await rescored();
  drop(3);
  service.answerWhere(BY_ID, 404);
  const { stream, pages } = await sync();
  expect(stream).toMatchObject({ complete: true, deleted: 1 });
  expect(pages).toBeGreaterThanOrEqual(2 * PAGES);
});

test("changes that end before the list's end name no row that is gone, so the list is read again", async () => {
  const { service, drop, sync } = await rescored();
  drop(3);
  for (const row of service.data.accounts) if (Number(row.id) <= 25) row.updatedAt = "2026-01-01T00:00:00.000Z";
  const { stream, pages, there } = await sync();
  expect(stream).toMatchObject({ complete: true, deleted: 1 });
  expect(pages).toBeGreaterThan(PAGES);
  expect(there).toBe(0);
});

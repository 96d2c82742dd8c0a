// Accounts that are gone, beside a change of all others: found by their ids, without another reading of the list.
import { expect, test } from "vitest";
import { anOrganization } from "../../../../support/fake-data.ts";
import { createFakeService, type FakeService } from "../../../../support/fake-service.ts";
import { startMemoryRig } from "../../../../support/memory-rig.ts";

/** Of 48 accounts, ten a page, of which some share a row with the page before. */
const PAGES = 7;

/** 50 accounts in pages of 10, mirrored; then every account has another score. */
const rescored = async () => {
  const service = createFakeService(anOrganization(50), { maxPerPage: 10 });
  const rig = await startMemoryRig(service, { DUCKMIRROR_STREAMS: "accounts" });
  await rig.sync();
  const later = new Date(Date.now() + 1000).toISOString();
  service.data.accounts = service.data.accounts.map((row) => ({ ...row, mainScore: 7, updatedAt: later }));
  return { service, rig };
};

const dropAccounts = (service: FakeService, ...ids: readonly number[]) => {
  service.data.accounts = service.data.accounts.filter(({ id }) => !ids.includes(Number(id)));
};

/** Pages of the list, and accounts that were asked for by id, by status, in one more sync. */
const oneMoreSync = async ({ service, rig }: Awaited<ReturnType<typeof rescored>>) => {
  const from = service.log.length;
  const { report, error } = await rig.sync();
  expect(error).toBeNull();
  const sent = service.log.slice(from);
  const byId = sent.filter(({ path }) => /^\/v1\/accounts\/\d+$/.test(path));
  const held = rig
    .rows("accounts", "id")
    .map(({ id }) => Number(id))
    .toSorted((a, b) => a - b);
  expect(held).toEqual(service.data.accounts.map(({ id }) => Number(id)).toSorted((a, b) => a - b));
  return {
    stream: report.streams.find(({ stream }) => stream === "accounts"),
    pages: sent.filter(({ path }) => path === "/v1/accounts").length,
    gone: byId.filter(({ status }) => status === 404).length,
    there: byId.filter(({ status }) => status === 200).length,
  };
};

test("two of fifty that went while all others changed cost a credit, not another reading of the list", async () => {
  const organization = await rescored();
  dropAccounts(organization.service, 3, 44);
  const { stream, ...sent } = await oneMoreSync(organization);
  expect(stream).toMatchObject({ complete: true, deleted: 2, updated: 48 });
  // One that the list returned is asked for, so that the 404s can be believed.
  expect(sent).toEqual({ pages: PAGES, gone: 2, there: 1 });
});

test("an account that moves while the list is read is there when asked for, and one that went is not", async () => {
  const organization = await rescored();
  const { service } = organization;
  let moved = false;
  service.answerInstead(({ path, query }) => {
    if (moved || path !== "/v1/accounts" || query.page !== "2") return undefined;
    moved = true;
    const row = service.data.accounts.at(-1);
    if (row !== undefined) row.updatedAt = new Date(Date.now() + 60_000).toISOString();
    dropAccounts(service, 30);
    return undefined;
  });
  const { stream } = await oneMoreSync(organization);
  expect(stream).toMatchObject({ complete: true, deleted: 1 });
});

test("where nothing can be asked for by id, the list is read again, and its rows are deleted all the same", async () => {
  const organization = await rescored();
  const { service } = organization;
  dropAccounts(service, 3);
  service.answerInstead(({ path, query }) =>
    /^\/v1\/accounts\/\d+$/.test(path) && query.page === undefined
      ? { status: 404, body: { error: "Not found" } }
      : undefined,
  );
  const { stream, pages } = await oneMoreSync(organization);
  expect(stream).toMatchObject({ complete: true, deleted: 1 });
  expect(pages).toBeGreaterThanOrEqual(2 * PAGES);
});

test("changes that end before the list's end name no row that is gone, so the list is read again", async () => {
  const organization = await rescored();
  const { service } = organization;
  dropAccounts(service, 3);
  service.data.accounts = service.data.accounts.map((row) =>
    Number(row.id) > 25 ? row : { ...row, updatedAt: "2026-01-01T00:00:00.000Z" },
  );
  const { stream, pages, there } = await oneMoreSync(organization);
  expect(stream).toMatchObject({ complete: true, deleted: 1 });
  expect(pages).toBeGreaterThan(PAGES);
  expect(there).toBe(0);
});

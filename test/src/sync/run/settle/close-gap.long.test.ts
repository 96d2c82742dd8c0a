// A source that changes while it is read: no walk of it ever adds up, and the mirror says so, and comes right all the same. Shows P9.
import { expect, test } from "vitest";
import { anOrganization, aSignal } from "../../../../support/fake-data.ts";
import { createFakeService, type FakeRequest, type FakeService } from "../../../../support/fake-service.ts";
import { type MemoryRig, startMemoryRig } from "../../../../support/memory-rig.ts";

const rigOf = async (service: FakeService, env: Record<string, string> = {}): Promise<MemoryRig> => {
  const rig = await startMemoryRig(service, {
    DUCKMIRROR_STREAMS: "accounts,signals",
    DUCKMIRROR_CONCURRENCY: "1",
    ...env,
  });
  return rig;
};

const later = () => new Date(Date.now() + 60_000).toISOString();
const isWalkedPage = ({ path, query }: FakeRequest) =>
  path === "/v1/signals" && query.page !== "1" && query.sortBy === "id";
const detailsOf = (service: FakeService, from: number) =>
  service.log.slice(from).filter(({ path }) => /^\/v1\/signals\/\d+$/.test(path));

/** 12 accounts with 6 signals each. While signals are walked, more arrive than reading the head again can catch up with. */
const movingService = (more: { beforePage?: (service: FakeService, page: number) => void } = {}) => {
  const service = createFakeService(anOrganization(12), { maxPerPage: 10 });
  let next = 100_000;
  const state = { moving: false };
  service.answerInstead((request) => {
    if (!state.moving || !isWalkedPage(request)) return undefined;
    for (let n = 0; n < 5; n++) {
      next += 1;
      service.data.signals.push(aSignal(next, { accountId: 1, updatedAt: later() }));
    }
    more.beforePage?.(service, Number(request.query.page));
    return undefined;
  });
  return { service, state };
};

/** From now on every signal that is asked for by its id is answered with this status. */
const answerById = (service: FakeService, status: number) => {
  const { before } = service.options;
  service.answerInstead((request) =>
    /^\/v1\/signals\/\d+$/.test(request.path) ? { status, body: {} } : before?.(request),
  );
};

const dropAccount = (service: FakeService, id: number) => {
  service.data.accounts = service.data.accounts.filter((row) => row.id !== id);
  service.data.signals = service.data.signals.filter((row) => row.accountId !== id);
};

const mirrored = async (rig: MemoryRig) =>
  (await rig.query("SELECT id FROM signals ORDER BY id")).map(({ id }) => Number(id));
const upstream = (service: FakeService) => service.data.signals.map(({ id }) => Number(id)).sort((a, b) => a - b);
const signalsOf = async (rig: MemoryRig, request: Parameters<MemoryRig["sync"]>[0] = { full: true }) => {
  const { report, error } = await rig.sync(request);
  const stream = report.streams.find(({ stream: name }) => name === "signals");
  return { stream, error };
};

test("signals of accounts that went before a walk of a moving list are asked for by id and deleted, free of charge", async () => {
  const { service, state } = movingService();
  const rig = await rigOf(service);
  expect((await signalsOf(rig, {})).stream).toMatchObject({ complete: true });
  for (const id of [3, 7]) dropAccount(service, id);
  state.moving = true;
  const from = service.log.length;
  const { stream, error } = await signalsOf(rig);
  expect(error).toBeNull();
  expect(stream).toMatchObject({ complete: true, unconfirmed: 0, deleted: 12 });
  expect(await mirrored(rig)).toEqual(upstream(service));
  const asked = detailsOf(service, from);
  expect(asked.filter(({ status }) => status === 404)).toHaveLength(12);
  // One row that the walk has met was asked for, so that the 404s could be believed.
  expect(asked.filter(({ status }) => status === 200)).toHaveLength(1);
});

test("rows that go while the list is walked are found in the end, whichever page they stood on", async () => {
  const { service, state } = movingService({
    beforePage: (moving, page) => {
      if (page === 4) dropAccount(moving, 12);
      if (page === 5) dropAccount(moving, 2);
    },
  });
  const rig = await rigOf(service);
  await signalsOf(rig, {});
  state.moving = true;
  const first = await signalsOf(rig);
  expect(first.error).toBeNull();
  const surplus = (await mirrored(rig)).filter((id) => !upstream(service).includes(id)).length;
  // What is still there too much is what the report says.
  expect(first.stream).toMatchObject(surplus === 0 ? { complete: true } : { complete: false, unconfirmed: surplus });
  const second = await signalsOf(rig);
  expect(second.stream).toMatchObject({ complete: true, unconfirmed: 0 });
  expect(await mirrored(rig)).toEqual(upstream(service));
});

test("where nothing can be asked by id the rows stay, unconfirmed, by their number", async () => {
  const { service, state } = movingService();
  const rig = await rigOf(service);
  await signalsOf(rig, {});
  dropAccount(service, 3);
  state.moving = true;
  answerById(service, 418);
  for (const _ of [1, 2]) {
    const { stream, error } = await signalsOf(rig);
    expect(error).toBeNull();
    expect(stream).toMatchObject({ complete: false, deleted: 0 });
    expect(stream?.unconfirmed).toBeGreaterThanOrEqual(6);
  }
  expect((await mirrored(rig)).length).toBeGreaterThanOrEqual(72);
});

test("a service that answers 404 for every id deletes nothing: its tier was lowered, or the route is not there", async () => {
  const { service, state } = movingService();
  const rig = await rigOf(service);
  await signalsOf(rig, {});
  dropAccount(service, 3);
  state.moving = true;
  answerById(service, 404);
  const { stream } = await signalsOf(rig);
  expect(stream).toMatchObject({ complete: false, deleted: 0 });
  expect(stream?.reason).toContain("prove nothing");
});

test("more than max_delete_share is not asked for, nor deleted, without being allowed", async () => {
  const { service, state } = movingService();
  const rig = await rigOf(service, { DUCKMIRROR_MAX_DELETE_SHARE: "0.1" });
  await signalsOf(rig, {});
  for (const id of [3, 7, 9]) dropAccount(service, id);
  service.data.accounts = anOrganization(12).accounts;
  state.moving = true;
  const from = service.log.length;
  const refused = await signalsOf(rig);
  expect(refused.stream).toMatchObject({ complete: false, deleted: 0 });
  expect(refused.stream?.unconfirmed).toBeGreaterThanOrEqual(18);
  expect(detailsOf(service, from)).toEqual([]);
  const allowed = await signalsOf(rig, { full: true, allowMassDelete: true });
  expect(allowed.stream).toMatchObject({ complete: true, deleted: 18 });
});

test("a walk that was complete when its run ended asks the service again before it is believed", async () => {
  const service = createFakeService(anOrganization(12), { maxPerPage: 10 });
  const rig = await rigOf(service);
  expect((await rig.sync()).error).toBeNull();
  // All pages of the accounts are read; the probe of the missing one finds no credits, so the deletion is left over.
  dropAccount(service, 7);
  const noCredits = { status: 402, body: { error: { code: "quota_exceeded", message: "no credits left" } } };
  service.answerInstead(({ path }) => (path === "/v1/accounts/7" ? noCredits : undefined));
  expect((await rig.sync({ full: true })).error?.exitCode).toBe(4);
  service.answerInstead(null);
  service.data.accounts.push({ ...service.data.accounts[0], id: 900, name: "Came later", updatedAt: later() });
  const { report, error } = await rig.sync({ full: true });
  expect(error).toBeNull();
  expect(report.streams.find(({ stream }) => stream === "accounts")).toMatchObject({ complete: true, deleted: 1 });
  const mirror = (await rig.query("SELECT id FROM accounts ORDER BY id")).map(({ id }) => Number(id));
  expect(mirror).toEqual(service.data.accounts.map(({ id }) => Number(id)).sort((a, b) => a - b));
});

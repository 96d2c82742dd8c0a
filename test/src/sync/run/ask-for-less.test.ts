// A service that fails at large pages: the list is read in smaller ones, and a passing outage makes no page small.
import { expect, test } from "vitest";
import { afterTest } from "../../../support/after-test.ts";
import { anOrganization } from "../../../support/fake-data.ts";
import { createFakeService } from "../../../support/fake-service.ts";
import { startMemoryRig } from "../../../support/memory-rig.ts";

const CONTACTS = { DUCKMIRROR_STREAMS: "contacts" };
const failAbove = (rows: number) => (request: { readonly query: Readonly<Record<string, string>> }) =>
  Number(request.query.perPage) > rows ? { status: 500, body: { message: "broken" } } : undefined;

const started = async (contacts: number) => {
  const service = createFakeService(anOrganization(contacts / 4));
  const rig = await startMemoryRig(service, CONTACTS);
  afterTest(() => rig.close());
  const sizes = (from: number) => service.log.slice(from).map(({ query, status }) => [Number(query.perPage), status]);
  return { service, rig, sizes };
};

test("a first mirror steps down until a page is answered, and later syncs begin there", async () => {
  const { service, rig, sizes } = await started(160);
  service.options = { ...service.options, before: failAbove(120) };
  const { error, report } = await rig.sync();
  expect(error).toBeNull();
  expect(report.streams[0]).toMatchObject({ stream: "contacts", complete: true, inserted: 160, credits: 2 });
  const tried = [...new Set(sizes(0).map(([size]) => size))];
  expect(tried.slice(0, 4)).toEqual([1000, 500, 250, 100]);
  const { length } = service.log;
  expect((await rig.sync({ full: true })).error).toBeNull();
  expect(sizes(length).every(([, status]) => status === 200)).toBe(true);
});

test("a size that was answered before is given up only when the list fails in a second sync", async () => {
  const { service, rig, sizes } = await started(160);
  await rig.sync();
  service.options = { ...service.options, before: failAbove(120) };
  let { length } = service.log;
  expect((await rig.sync({ full: true })).error?.code).toBe("STREAMS_FAILED");
  expect(new Set(sizes(length).map(([size]) => size))).toEqual(new Set([1000]));
  const { error, report } = await rig.sync({ full: true });
  expect([error, report.streams[0]?.complete]).toEqual([null, true]);
  // The outage of one sync that follows changes nothing, and the size is not forgotten by it.
  service.options = { ...service.options, before: () => ({ status: 503, body: {} }) };
  await rig.sync({ full: true });
  service.options = { ...service.options, before: () => undefined };
  ({ length } = service.log);
  expect((await rig.sync({ full: true })).error).toBeNull();
  expect(Math.max(...sizes(length).map(([size]) => size ?? 0))).toBe(100);
});

test("a list that fails in every size is given up after three attempts at each smaller one", async () => {
  const { service, rig } = await started(160);
  service.options = {
    ...service.options,
    before: ({ path }) => (path.endsWith("/contacts") ? { status: 500, body: {} } : undefined),
  };
  const { error } = await rig.sync({}, { DUCKMIRROR_STREAMS: "accounts,signals,contacts" });
  expect(error?.code).toBe("STREAMS_FAILED");
  const tries = new Map<number, number>();
  for (const { path, query } of service.log.filter((request) => request.path.endsWith("/contacts"))) {
    expect(path).toBe("/v1/contacts");
    tries.set(Number(query.perPage), (tries.get(Number(query.perPage)) ?? 0) + 1);
  }
  expect([...tries]).toEqual([
    [1000, 6],
    [500, 3],
    [250, 3],
    [100, 3],
    [50, 3],
    [25, 3],
    [20, 3],
  ]);
});

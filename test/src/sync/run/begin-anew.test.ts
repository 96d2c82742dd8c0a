// A list becomes shorter than the cursor of an interrupted walk, and the service refuses pages behind its end.
import { expect, test } from "vitest";
import { anOrganization } from "../../../support/fake-data.ts";
import { createFakeService, type FakeOptions, type FakeService } from "../../../support/fake-service.ts";
import { type MemoryRig, startMemoryRig } from "../../../support/memory-rig.ts";

const PER_PAGE = 10;
const rowOf = (query: Readonly<Record<string, string>>) => (Number(query.page) - 1) * Number(query.perPage);
const pagesPaid = (service: FakeService, from: number) =>
  service.log.slice(from).filter(({ path, status }) => path === "/v1/signals" && status === 200).length;

/** A mirror whose full walk was cut after three pages of signals. */
const cutWalk = async (service: FakeService): Promise<MemoryRig> => {
  const started = await startMemoryRig(service, { DUCKMIRROR_STREAMS: "signals" });
  expect((await started.sync()).error).toBeNull();
  const cut = await started.sync({ full: true }, { DUCKMIRROR_MAX_CREDITS: "3" });
  expect(cut.error?.code).toBe("BUDGET_SPENT");
  return started;
};

const refusing =
  (status: number, isRefused: (row: number) => boolean): NonNullable<FakeOptions["before"]> =>
  ({ path, query }) =>
    path === "/v1/signals" && Number(query.page) > 1 && isRefused(rowOf(query)) ? { status, body: {} } : undefined;

test.each([400, 404])("the next sync walks from the head where pages behind the end answer %i", async (status) => {
  const service = createFakeService(anOrganization(6), { maxPerPage: PER_PAGE });
  const rig = await cutWalk(service);
  service.data.signals.splice(0, 30);
  service.answerInstead(refusing(status, (row) => row >= service.data.signals.length));
  const { error, report } = await rig.sync({ allowMassDelete: true });
  expect([error, report.streams.map(({ complete }) => complete)]).toEqual([null, [true]]);
  expect(rig.rows("signals")).toHaveLength(6);
});

test("a service that refuses high pages and parts of a list is asked for one page in each sync, and its cursor stays", async () => {
  const service = createFakeService(anOrganization(8), { maxPerPage: PER_PAGE });
  const rig = await cutWalk(service);
  const high = refusing(400, (row) => row >= 20);
  const part = refusing(400, () => true);
  service.answerInstead((request) =>
    request.query.beforeDate === undefined
      ? high(request)
      : part({ ...request, query: { ...request.query, page: "2" } }),
  );
  for (let round = 0; round < 3; round++) {
    const before = service.log.length;
    const { error } = await rig.sync();
    expect([error?.code, pagesPaid(service, before)]).toEqual(["STREAMS_FAILED", 1]);
  }
  service.answerInstead(null);
  const before = service.log.length;
  const { error } = await rig.sync();
  // Three pages of the walk were paid for when it was cut.
  expect([error, pagesPaid(service, before)]).toEqual([null, 4]);
});

test("where it refuses the order by change date as well, each sync reads the list from its head", async () => {
  const service = createFakeService(anOrganization(8), { maxPerPage: PER_PAGE });
  const rig = await cutWalk(service);
  const high = refusing(400, (row) => row >= 20);
  const newest = service.data.signals.reduce((a, b) => (Number(b.id) > Number(a.id) ? b : a));
  service.answerInstead((request) => {
    if (request.query.sortBy === "updatedAt") return { status: 400, body: { message: "cannot sort by this field" } };
    return request.query.beforeDate === undefined ? high(request) : { status: 400, body: {} };
  });
  for (const headline of ["first change", "second change"]) {
    newest.headline = headline;
    expect((await rig.sync()).error?.code).toBe("STREAMS_FAILED");
    expect(rig.rows("signals", "headline")).toContainEqual({ headline });
  }
});

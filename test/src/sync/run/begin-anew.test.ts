// A list becomes shorter than the cursor of an interrupted walk, and the service refuses pages behind its end.
import { expect, test } from "vitest";
import { anOrganization } from "../../../support/fake-data.ts";
import { createFakeService, type FakeRequest } from "../../../support/fake-service.ts";
import { type MemoryRig, startMemoryRig } from "../../../support/memory-rig.ts";

/** A mirror whose full walk was cut after three pages of signals. */
const cutWalk = async (accounts: number): Promise<MemoryRig> => {
  const service = createFakeService(anOrganization(accounts), { maxPerPage: 10 });
  const rig = await startMemoryRig(service, { DUCKMIRROR_STREAMS: "signals" });
  expect((await rig.sync()).error).toBeNull();
  expect((await rig.sync({ full: true }, { DUCKMIRROR_MAX_CREDITS: "3" })).code).toBe("BUDGET_SPENT");
  return rig;
};

const isBehind = (row: number, { query }: FakeRequest) =>
  Number(query.page) > 1 && (Number(query.page) - 1) * Number(query.perPage) >= row;

test.each([400, 404])("the next sync walks from the head where pages behind the end answer %i", async (status) => {
  const { service, sync, ids } = await cutWalk(6);
  service.data.signals.splice(0, 30);
  service.answerWhere((request) => isBehind(service.data.signals.length, request), status);
  expect(await sync({ allowMassDelete: true })).toMatchObject({ error: null, complete: true });
  expect(ids("signals")).toHaveLength(6);
});

test("a service that refuses high pages and parts of a list is asked for one page in each sync, and its cursor stays", async () => {
  const { service, sync } = await cutWalk(8);
  service.answerWhere((request) => request.query.beforeDate !== undefined || isBehind(20, request), 400);
  for (let round = 0; round < 3; round++) expect(await sync()).toMatchObject({ code: "STREAMS_FAILED", paid: 1 });
  service.answerInstead(null);
  // Three pages of the walk were paid for when it was cut.
  expect(await sync()).toMatchObject({ error: null, paid: 4 });
});

test("where it refuses the order by change date as well, each sync reads the list from its head", async () => {
  const { service, sync, rows } = await cutWalk(8);
  const newest = service.data.signals.reduce((a, b) => (Number(b.id) > Number(a.id) ? b : a));
  service.answerInstead((request) => {
    if (request.query.sortBy === "updatedAt") return { status: 400, body: { message: "cannot sort by this field" } };
    return request.query.beforeDate !== undefined || isBehind(20, request) ? { status: 400, body: {} } : undefined;
  });
  for (const headline of ["first change", "second change"]) {
    newest.headline = headline;
    expect((await sync()).code).toBe("STREAMS_FAILED");
    expect(rows("signals", "headline")).toContainEqual({ headline });
  }
});

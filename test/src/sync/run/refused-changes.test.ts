// A service that refuses the order by change date, or times in date filters, without saying why: changes are still found.
import { expect, test } from "vitest";
import { anOrganization } from "../../../support/fake-data.ts";
import { createFakeService, type FakeRequest, type FakeService } from "../../../support/fake-service.ts";
import { startMemoryRig } from "../../../support/memory-rig.ts";

const LATER = "2026-11-20T00:00:00.000Z";

/** A mirror of a service that from the beginning refuses such requests. */
const aMirror = async (refuses: (request: FakeRequest) => boolean) => {
  const service = createFakeService(anOrganization(8), { maxPerPage: 25 });
  service.answerWhere(refuses, 400);
  const rig = await startMemoryRig(service, { DUCKMIRROR_STREAMS: "accounts,contacts,signals" });
  expect((await rig.sync()).error).toBeNull();
  return rig;
};
const sortsByChange = ({ query: { sortBy } }: FakeRequest) =>
  sortBy === "updatedAt" || sortBy === "lastChangeDetectedOn";
const filtersByTime = ({ query }: FakeRequest) => query.lastChangeDetectedAfter?.includes("T") === true;
const refused = (sent: FakeService["log"]) =>
  sent.flatMap(({ path, query, status }) => (status === 400 ? [`${path} ${query.perPage}`] : [])).sort();

test("an order that is refused without a reason costs two refusals, and the list's change is found", async () => {
  const { service, sync, rows } = await aMirror(sortsByChange);
  Object.assign(service.data.accounts[0] ?? {}, { name: "renamed", updatedAt: LATER });
  const { error, sent } = await sync();
  expect(error).toBeNull();
  expect(rows("accounts", "name").filter(({ name }) => name === "renamed")).toHaveLength(1);
  const lists = ["/v1/accounts", "/v1/contacts", "/v1/signals"];
  expect(refused(sent)).toEqual(lists.flatMap((path) => [`${path} 20`, `${path} 25`]));
});

test("contacts of a service that refuses the order and times in filters are walked, and do not fail", async () => {
  const { service, sync, rows } = await aMirror((request) => sortsByChange(request) || filtersByTime(request));
  Object.assign(service.data.contacts[0] ?? {}, { phone: "+33", lastChangeDetectedOn: LATER });
  const { error, of, sent } = await sync();
  expect(error).toBeNull();
  expect(of("contacts")).toMatchObject({ updated: 1, complete: true });
  expect(rows("contacts", "phone").filter(({ phone }) => phone === "+33")).toHaveLength(1);
  expect(refused(sent).filter((line) => line.startsWith("/v1/contacts"))).toHaveLength(4);
});

test("what a refusal names is stored: the next sync asks without it", async () => {
  const { service, sync } = await aMirror(() => false);
  service.answerInstead((request) => {
    if (sortsByChange(request)) return { status: 400, body: { error: `cannot sort by ${request.query.sortBy}` } };
    return filtersByTime(request) ? { status: 400, body: { error: "lastChangeDetectedAfter: invalid" } } : undefined;
  });
  const first = await sync();
  expect([first.error, refused(first.sent).length]).toEqual([null, 4]);
  const second = await sync();
  expect([second.error, refused(second.sent)]).toEqual([null, []]);
});

test("contacts of a service that ignores order and filter are read once a sync, after the sync that shows it", async () => {
  const service = createFakeService(anOrganization(20), { maxPerPage: 25, sort: "ignore", filters: "ignore" });
  const { sync, rows } = await startMemoryRig(service, { DUCKMIRROR_STREAMS: "contacts" });
  const { error, complete, paid } = await sync();
  expect([error, complete]).toEqual([null, true]);
  // One page shows that the order is ignored, one that the filter is.
  for (const more of [2, 0]) expect(await sync()).toMatchObject({ error: null, complete: true, paid: paid + more });
  Object.assign(service.data.contacts.at(-1) ?? {}, { lastName: "Renamed", lastChangeDetectedOn: LATER });
  expect(await sync()).toMatchObject({ error: null, complete: true, paid });
  expect(rows("contacts", "last_name").filter(({ last_name: name }) => name === "Renamed")).toHaveLength(1);
});

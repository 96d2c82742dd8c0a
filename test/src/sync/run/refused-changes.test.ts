// A service that refuses the order by change date, or times in date filters, without saying why: changes are still found.
import { expect, test } from "vitest";
import { anOrganization } from "../../../support/fake-data.ts";
import { createFakeService, type FakeRequest } from "../../../support/fake-service.ts";
import { startMemoryRig } from "../../../support/memory-rig.ts";

const LATER = "2026-11-20T00:00:00.000Z";
const BARE = { status: 400, body: {} };

/** A mirror of a service that from then on refuses what `refuses` says. */
const aMirror = async (refuses: (query: FakeRequest["query"]) => boolean) => {
  const service = createFakeService(anOrganization(8), { maxPerPage: 25 });
  service.answerInstead(({ query }) => (refuses(query) ? BARE : undefined));
  const rig = await startMemoryRig(service, { DUCKMIRROR_STREAMS: "accounts,contacts,signals" });
  expect((await rig.sync()).error).toBeNull();
  service.log.splice(0);
  return { service, rig };
};
const sortsByChange = ({ sortBy }: FakeRequest["query"]) => sortBy === "updatedAt" || sortBy === "lastChangeDetectedOn";
const filtersByTime = ({ lastChangeDetectedAfter: after }: FakeRequest["query"]) => after?.includes("T") === true;

test("an order that is refused without a reason costs two refusals, and the list's change is found", async () => {
  const { service, rig } = await aMirror(sortsByChange);
  Object.assign(service.data.accounts[0] ?? {}, { name: "renamed", updatedAt: LATER });
  expect((await rig.sync()).error).toBeNull();
  expect(rig.rows("accounts", "name").filter(({ name }) => name === "renamed")).toHaveLength(1);
  const refused = service.log.filter(({ status }) => status === 400);
  expect(refused.map(({ path, query }) => `${path} ${query.perPage}`).sort()).toEqual([
    "/v1/accounts 20",
    "/v1/accounts 25",
    "/v1/contacts 20",
    "/v1/contacts 25",
    "/v1/signals 20",
    "/v1/signals 25",
  ]);
});

test("contacts of a service that refuses the order and times in filters are walked, and do not fail", async () => {
  const { service, rig } = await aMirror((query) => sortsByChange(query) || filtersByTime(query));
  Object.assign(service.data.contacts[0] ?? {}, { phone: "+33", lastChangeDetectedOn: LATER });
  const { error, report } = await rig.sync();
  expect(error).toBeNull();
  expect(report.streams.find(({ stream }) => stream === "contacts")).toMatchObject({ updated: 1, complete: true });
  expect(rig.rows("contacts", "phone").filter(({ phone }) => phone === "+33")).toHaveLength(1);
  expect(service.log.filter(({ path, status }) => path === "/v1/contacts" && status === 400)).toHaveLength(4);
});

test("what a refusal names is stored: the next sync asks without it", async () => {
  const { service, rig } = await aMirror(() => false);
  const named = (text: string) => ({ status: 400, body: { error: text } });
  service.answerInstead(({ query }) =>
    sortsByChange(query)
      ? named(`cannot sort by ${query.sortBy}`)
      : filtersByTime(query)
        ? named("lastChangeDetectedAfter: invalid")
        : undefined,
  );
  expect((await rig.sync()).error).toBeNull();
  const refused = () => service.log.filter(({ status }) => status === 400).map(({ path }) => path);
  expect(refused().sort()).toEqual(["/v1/accounts", "/v1/contacts", "/v1/contacts", "/v1/signals"]);
  service.log.splice(0);
  expect((await rig.sync()).error).toBeNull();
  expect(refused()).toEqual([]);
});

test("contacts of a service that ignores order and filter are read once a sync, after the sync that shows it", async () => {
  const service = createFakeService(anOrganization(20), { maxPerPage: 25, sort: "ignore", filters: "ignore" });
  const rig = await startMemoryRig(service, { DUCKMIRROR_STREAMS: "contacts" });
  const credits = async () => {
    const { error, report } = await rig.sync();
    expect([error, report.streams[0]?.complete]).toEqual([null, true]);
    return report.credits.spent;
  };
  const walk = await credits();
  // One page shows that the order is ignored, one that the filter is.
  expect(await credits()).toBe(2 + walk);
  expect(await credits()).toBe(walk);
  Object.assign(service.data.contacts.at(-1) ?? {}, { lastName: "Renamed", lastChangeDetectedOn: LATER });
  expect(await credits()).toBe(walk);
  expect(rig.rows("contacts", "last_name").filter(({ last_name: name }) => name === "Renamed")).toHaveLength(1);
});

// A service that refuses or ignores the order by change date: every change is found, and no page is asked for twice. Shows P23.
import { describe, expect, test } from "vitest";
import { aContact, anOrganization } from "../../support/fake-data.ts";
import { createFakeService, type FakeOptions } from "../../support/fake-service.ts";
import { startMemoryRig } from "../../support/memory-rig.ts";

const LATER = "2026-11-20T00:00:00.000Z";

/** A mirror of such a service, level with it. */
const aMirror = async (accounts: number, options: FakeOptions) => {
  const service = createFakeService(anOrganization(accounts), { maxPerPage: 25, ...options });
  // The lists that have an order; with 60 accounts those of their companies would be 300 requests more.
  const rig = await startMemoryRig(service, { DUCKMIRROR_STREAMS: "accounts,contacts,signals" });
  // What the service does not do is learned in the second one.
  for (const _ of [1, 2]) expect((await rig.sync()).error).toBeNull();
  const lists = ["/v1/accounts", "/v1/contacts", "/v1/signals"];
  const syncAgain = async () => {
    const { error, sent } = await rig.sync();
    expect(error).toBeNull();
    const asked = sent.filter(({ path, status }) => lists.includes(path) && status === 200);
    return asked.map(({ path, query }) => `${path} ${JSON.stringify(query)}`);
  };
  return { service, rig, syncAgain };
};

describe.each(["refuse", "ignore"] as const)("sorting: %s", (sort) => {
  test("lists of one page cost one credit each when nothing changed", async () => {
    const { syncAgain } = await aMirror(3, { sort });
    const asked = await syncAgain();
    // They are sent side by side, so their order on arrival is chance.
    expect(asked.map((line) => line.split(" ")[0]).sort()).toEqual(["/v1/accounts", "/v1/contacts", "/v1/signals"]);
  });

  test("lists of many pages: a change on the last page is found, and no page is asked for twice", async () => {
    const { service, rig, syncAgain } = await aMirror(60, { sort });
    const asked = await syncAgain();
    expect(new Set(asked).size).toBe(asked.length);
    Object.assign(service.data.accounts.at(-1) ?? {}, { name: "renamed", updatedAt: LATER });
    Object.assign(service.data.contacts.at(-1) ?? {}, { lastName: "Renamed", lastChangeDetectedOn: LATER });
    await syncAgain();
    expect(await rig.query("SELECT id FROM accounts WHERE name = 'renamed'")).toHaveLength(1);
    expect(await rig.query("SELECT id FROM contacts WHERE last_name = 'Renamed'")).toHaveLength(1);
  });

  test("a contact that is gone, and a new one that never changed, are noticed, for one credit more than the filter", async () => {
    const { service, rig, syncAgain } = await aMirror(20, { sort });
    const contacts = (asked: readonly string[]) => asked.filter((line) => line.startsWith("/v1/contacts"));
    expect(contacts(await syncAgain())).toHaveLength(2);
    const gone = service.data.contacts.splice(3, 1);
    await syncAgain();
    expect(await rig.query(`SELECT id FROM contacts WHERE id = '${gone[0]?.id}'`)).toEqual([]);
    service.data.contacts.push({ ...aContact("p_undated"), lastChangeDetectedOn: undefined });
    await syncAgain();
    expect(await rig.query("SELECT id FROM contacts WHERE id = 'p_undated'")).toHaveLength(1);
  });
});

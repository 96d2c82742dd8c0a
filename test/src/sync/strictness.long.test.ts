import { expect, test } from "vitest";
import { aContact, anOrganization } from "../../support/fake-data.ts";
import { createFakeService } from "../../support/fake-service.ts";
import { startSyncRig } from "../../support/sync-rig.ts";

const start = async (strictness: string, maxPerPage = 100) => {
  const service = createFakeService(anOrganization(5), { maxPerPage });
  const mirror = await startSyncRig(service, {
    DUCKMIRROR_STRICTNESS: strictness,
    DUCKMIRROR_STREAMS: "accounts,contacts,signals",
  });
  expect((await mirror.sync()).error).toBeNull();
  return { service, mirror };
};
const later = (day: number) => `2026-11-${day}T00:00:00.000Z`;
const onContacts = "select * from sync.rejects where table_name = 'contacts'";

test("evolve keeps what does not fit in _extra and lists what is new", async () => {
  const { service, mirror } = await start("evolve");
  service.data.contacts.push(aContact("new", { shoeSize: 43, lastChangeDetectedOn: later(19) }));
  expect((await mirror.sync()).error).toBeNull();
  expect(await mirror.rows("select _extra from contacts where id = 'new'")).toEqual([{ _extra: '{"shoeSize":43}' }]);
  expect(await mirror.rows("select field, kind from sync.schema_drift where table_name = 'contacts'")).toEqual([
    { field: "shoeSize", kind: "unknown_field" },
  ]);
});

test.each([100, 6])(
  "reject moves a record that does not fit to sync.rejects as a whole, keeps the row it had, and costs no walk later (pages of %i)",
  async (maxPerPage) => {
    const { service, mirror } = await start("contacts=reject", maxPerPage);
    const known = service.data.contacts[4];
    Object.assign(known ?? {}, { firstName: { given: "Zoë" }, lastChangeDetectedOn: later(19) });
    service.data.contacts.push(aContact("new", { shoeSize: 43, lastChangeDetectedOn: later(20) }));
    expect((await mirror.sync()).error).toBeNull();
    const rejects = await mirror.rows(`select distinct reason, record from (${onContacts}) order by reason`);
    expect(rejects.map(({ reason }) => reason)).toEqual(["no column holds firstName", "no column holds shoeSize"]);
    expect(String(rejects[1]?.record)).toContain('"shoeSize":43');
    expect(await mirror.rows("select count(*) as n from contacts")).toEqual([{ n: 20 }]);
    expect(await mirror.rows(`select first_name from contacts where id = '${known?.id}'`)).toEqual([
      { first_name: "Zoë" },
    ]);
    expect(await mirror.rows("select count(*) as n from sync.schema_drift where field = 'shoeSize'")).toEqual([
      { n: 1 },
    ]);
    expect((await mirror.sync({ full: true })).error).toBeNull();
    // What leaves the list is still found out, although the figures alone would hide it.
    const gone = service.data.contacts.splice(9, 1)[0];
    expect((await mirror.sync({ full: true })).error).toBeNull();
    expect(await mirror.rows("select id, change from history.contacts")).toEqual([{ id: gone?.id, change: "delete" }]);
    expect(await mirror.sync()).toMatchObject({ error: null, paid: 3 });
  },
);

test("freeze loads nothing of an answer with a record that does not fit, fails its stream, and lets the others go on", async () => {
  const { service, mirror } = await start("contacts=freeze,signals=evolve");
  service.data.contacts.push(
    aContact("fits", { lastChangeDetectedOn: later(19) }),
    aContact("new", { shoeSize: 43, lastChangeDetectedOn: later(20) }),
  );
  const { error, of } = await mirror.sync();
  expect([error?.exitCode, of("accounts").status]).toEqual([5, "done"]);
  expect(of("contacts")).toMatchObject({ status: "failed", inserted: 0 });
  expect(of("contacts").error).toMatch(/^SCHEMA_FROZEN: contacts: .*shoeSize/);
  expect(await mirror.rows("select count(*) as n from contacts")).toEqual([{ n: 20 }]);
  // Once the table may grow again, everything is there.
  expect((await mirror.sync({}, { DUCKMIRROR_STRICTNESS: "evolve" })).error).toBeNull();
  expect(await mirror.rows("select count(*) as n from contacts")).toEqual([{ n: 22 }]);
});

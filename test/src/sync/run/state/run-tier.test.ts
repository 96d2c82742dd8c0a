// Access tiers (API.md): without Full Access its lists are left alone, and gaining it is noticed. Shows P4 and P11.
import { expect, test } from "vitest";
import type { Clock } from "../../../../../src/core/clock.ts";
import { readTier } from "../../../../../src/core/state/tier.ts";
import { aCompany, anAccount, aSignal } from "../../../../support/fake-data.ts";
import { createFakeService, emptyData, type FakeService } from "../../../../support/fake-service.ts";
import { startMemoryRig } from "../../../../support/memory-rig.ts";
import { type SyncRig, simulatedClock, startSyncRig } from "../../../../support/sync-rig.ts";

const DAY_MS = 86_400_000;
const WORKSPACE = /^\/v1\/(accounts|contacts|signals|account-insights)/;

/** Rigs of files are for tests that read the tier from its file. */
const start = async <Rig extends Pick<SyncRig, "sync">>(
  rigOf: (service: FakeService, env: Record<string, string>, clock: Clock) => Promise<Rig>,
  env: Record<string, string> = {},
) => {
  const service = createFakeService(emptyData());
  const clock = simulatedClock();
  const rig = await rigOf(service, env, clock);
  /** A sync, and the paths of the Full Access routes that it asks for. */
  const asked = async (request: Parameters<SyncRig["sync"]>[0] = {}) => {
    const synced = await rig.sync(request);
    return { ...synced, paths: synced.sent.map(({ path }) => path).filter((path) => WORKSPACE.test(path)) };
  };
  return { service, clock, rig, asked };
};

test("one credit finds out that there is no Full Access; another proves it after a day, and later ones come ever more rarely", async () => {
  const { clock, asked, rig } = await start(startMemoryRig);
  expect(await asked()).toMatchObject({ paths: ["/v1/accounts"], error: null });
  const texts = rig.events.map((event) => (event.kind === "note" ? event.text : "")).join("\n");
  expect(texts).toContain("No Full Access since 2026-11-21 (the account list is empty)");
  expect(texts).toContain("duckmirror follow");
  for (const request of [{}, { full: true }, { streams: ["contacts", "account_insights"] }])
    expect(await asked(request)).toMatchObject({ paths: [], error: null });
  // An account list may be empty for a moment, or not have its first account yet.
  const reason = "the account list was empty once; it is asked for again after a day";
  const open = (await asked()).report.streams.filter(({ complete }) => !complete);
  expect(open).toMatchObject(
    ["accounts", "contacts", "signals", "signal_counts", "account_insights"].map((stream) => ({ stream, reason })),
  );
  await clock.sleep(DAY_MS);
  expect((await asked()).paths).toEqual(["/v1/accounts"]);
  expect((await asked()).complete).toBe(true);
  let probes = 1;
  for (let day = 1; day < 60; day++) {
    await clock.sleep(DAY_MS);
    probes += (await asked()).paths.length;
  }
  expect([5, 6]).toContain(probes);
});

test("without Full Access the profile that came with a followed input counts as read, so the mirror is complete", async () => {
  const { service, asked, rig } = await start(startMemoryRig, { DUCKMIRROR_COMPANIES: "acme.example" });
  service.data.companies.push(aCompany("c_1", { domain: "acme.example" }));
  service.data.lists.c_1 = {};
  const { error, of } = await asked();
  expect([error, of("companies").complete, rig.ids("companies")]).toEqual([null, true, ["c_1"]]);
});

test("Full Access gained is noticed by the probe, and the same sync reads all its lists", async () => {
  const { service, clock, asked, rig } = await start(startSyncRig);
  await asked();
  service.data.accounts.push(anAccount(1));
  service.data.signals.push(aSignal(1, { accountId: 1 }));
  expect((await asked()).paths).toEqual([]);
  await clock.sleep(DAY_MS);
  expect((await asked()).report.status).toBe("done");
  const counts = "select (select count(*) from accounts) a, (select count(*) from signals) s";
  expect(await rig.rows(counts)).toEqual([{ a: 1, s: 1 }]);
  expect(await readTier(rig.dataDir)).toMatchObject({ tier: "full" });
});

test("an account list that fails does not hold up contacts and signals", async () => {
  const { service, asked, rig } = await start(startSyncRig);
  service.data.contacts.push({ id: "p1", organizationId: "o1" });
  service.answerWhere("/v1/accounts", 500);
  const { paths } = await asked();
  expect(new Set(paths)).toEqual(new Set(["/v1/accounts", "/v1/contacts", "/v1/signals", "/v1/signals/counts"]));
  expect(await rig.rows("select id from contacts")).toEqual([{ id: "p1" }]);
  expect(await readTier(rig.dataDir)).toMatchObject({ tier: "full", evidence: "contacts were returned" });
});

test("lists that turn empty are asked for until a day has passed; the rows stay and are called unconfirmed", async () => {
  const { service, clock, asked, rig } = await start(startSyncRig);
  const held = async () => (await rig.rows("select count(*) as n from accounts"))[0]?.n;
  service.data.accounts.push(anAccount(1), anAccount(2));
  await asked();
  service.data.accounts.splice(0);
  const emptied = await asked();
  expect([emptied.code, emptied.of("accounts").error]).toEqual([
    "STREAMS_FAILED",
    expect.stringContaining("TIER_LOWERED"),
  ]);
  await clock.sleep(DAY_MS);
  expect((await asked()).paths).toContain("/v1/accounts");
  expect(await readTier(rig.dataDir)).toMatchObject({ tier: "public" });
  const { paths, of } = await asked();
  expect([paths, of("accounts").complete, await held()]).toEqual([[], false, 2]);
  // A user who accepts that the lists are empty has them read.
  expect((await asked({ allowMassDelete: true, full: true })).paths).toContain("/v1/accounts");
  expect(await held()).toBe(0);
});

test("a run that ends before the account list has answered leaves every other stream to the next one", async () => {
  const { service, rig } = await start(startMemoryRig);
  service.data.accounts.push(anAccount(1));
  service.data.signals.push(aSignal(1, { accountId: 1 }));
  const { report, of } = await rig.sync({}, { DUCKMIRROR_MAX_CREDITS: "0" });
  for (const name of ["accounts", "contacts", "signals", "companies", "usage"])
    expect(of(name), name).toMatchObject({ status: "stopped", complete: false });
  expect(report.streams.filter(({ complete }) => complete)).toEqual([]);
  await rig.sync();
  expect(rig.ids("signals")).toEqual(["1"]);
});

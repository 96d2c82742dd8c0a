// Access tiers (API.md): without Full Access its lists are left alone, and gaining it is noticed. Shows P4.
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
  /** Paths of the Full Access routes that a sync asks for. */
  const asked = async (request: Parameters<SyncRig["sync"]>[0] = {}) => {
    const before = service.log.length;
    const { report, error } = await rig.sync(request);
    const paths = service.log.slice(before).map(({ path }) => path);
    return { paths: paths.filter((path) => WORKSPACE.test(path)), report, error };
  };
  return { service, clock, rig, asked };
};

test("one credit finds out that there is no Full Access; another proves it after a day, and later ones come ever more rarely", async () => {
  const { clock, asked, rig } = await start(startMemoryRig);
  const first = await asked();
  expect(first.paths).toEqual(["/v1/accounts"]);
  expect(first.error).toBeNull();
  const texts = rig.events.map((event) => (event.kind === "note" ? event.text : ""));
  expect(texts.join("\n")).toContain("No Full Access since 2026-11-21 (the account list is empty)");
  expect(texts.join("\n")).toContain("duckmirror follow");
  for (const request of [{}, { full: true }, { streams: ["contacts", "account_insights"] }]) {
    expect(await asked(request)).toMatchObject({ paths: [], error: null });
  }
  // An account list may be empty for a moment, or not have its first account yet.
  const open = (await asked()).report.streams.filter(({ complete }) => !complete);
  expect(open.map(({ stream }) => stream)).toEqual([
    "accounts",
    "contacts",
    "signals",
    "signal_counts",
    "account_insights",
  ]);
  expect(
    open.every(({ reason }) => reason === "the account list was empty once; it is asked for again after a day"),
  ).toBe(true);
  await clock.sleep(DAY_MS);
  expect((await asked()).paths).toEqual(["/v1/accounts"]);
  expect((await asked()).report.streams.every(({ complete }) => complete)).toBe(true);
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
  const { report, error } = await asked();
  expect(error).toBeNull();
  expect(report.streams.filter(({ stream, complete }) => !complete && stream === "companies")).toEqual([]);
  expect(rig.rows("companies", "id")).toEqual([{ id: "c_1" }]);
});

test("Full Access gained is noticed by the probe, and the same sync reads all its lists", async () => {
  const { service, clock, asked, rig } = await start(startSyncRig);
  await asked();
  service.data.accounts.push(anAccount(1));
  service.data.signals.push(aSignal(1, { accountId: 1 }));
  expect((await asked()).paths).toEqual([]);
  await clock.sleep(DAY_MS);
  const { report } = await asked();
  expect(report.status).toBe("done");
  expect(await rig.rows("select (select count(*) from accounts) a, (select count(*) from signals) s")).toEqual([
    { a: 1, s: 1 },
  ]);
  expect(await readTier(rig.dataDir)).toMatchObject({ tier: "full" });
});

test("an account list that fails does not hold up contacts and signals", async () => {
  const { service, asked, rig } = await start(startSyncRig);
  service.data.contacts.push({ id: "p1", organizationId: "o1" });
  service.answerInstead(({ path }) => (path === "/v1/accounts" ? { status: 500, body: "" } : undefined));
  const { paths } = await asked();
  expect(new Set(paths)).toEqual(new Set(["/v1/accounts", "/v1/contacts", "/v1/signals", "/v1/signals/counts"]));
  expect(await rig.rows("select id from contacts")).toEqual([{ id: "p1" }]);
  expect(await readTier(rig.dataDir)).toMatchObject({ tier: "full", evidence: "contacts were returned" });
});

test("lists that turn empty are asked for until a day has passed; the rows stay and are called unconfirmed", async () => {
  const { service, clock, asked, rig } = await start(startSyncRig);
  service.data.accounts.push(anAccount(1), anAccount(2));
  await asked();
  service.data.accounts.splice(0);
  expect((await asked()).error?.code).toBe("STREAMS_FAILED");
  await clock.sleep(DAY_MS);
  expect((await asked()).paths).toContain("/v1/accounts");
  expect(await readTier(rig.dataDir)).toMatchObject({ tier: "public" });
  const { paths, report } = await asked();
  expect(paths).toEqual([]);
  expect(report.streams.find(({ stream }) => stream === "accounts")).toMatchObject({ complete: false });
  expect(await rig.rows("select count(*) as n from accounts")).toEqual([{ n: 2 }]);
  // A user who accepts that the lists are empty has them read.
  expect((await asked({ allowMassDelete: true, full: true })).paths).toContain("/v1/accounts");
  expect(await rig.rows("select count(*) as n from accounts")).toEqual([{ n: 0 }]);
});

test("a run that ends before the account list has answered leaves every other stream to the next one", async () => {
  const { service, rig } = await start(startMemoryRig);
  service.data.accounts.push(anAccount(1));
  service.data.signals.push(aSignal(1, { accountId: 1 }));
  const { report } = await rig.sync({}, { DUCKMIRROR_MAX_CREDITS: "0" });
  const status = new Map(report.streams.map((stream) => [stream.stream, stream.status]));
  for (const name of ["accounts", "contacts", "signals", "companies", "usage"]) {
    expect([name, status.get(name)]).toEqual([name, "stopped"]);
  }
  expect(report.streams.every(({ complete }) => !complete)).toBe(true);
  await rig.sync();
  expect(rig.rows("signals", "id")).toEqual([{ id: 1n }]);
});

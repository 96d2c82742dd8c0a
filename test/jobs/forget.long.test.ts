import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { exportJob } from "../../jobs/export.ts";
import { forgetJob } from "../../jobs/forget.ts";
import { systemClock } from "../../src/core/clock.ts";
import { makeBaseline } from "../../src/warehouse/file/baseline/baseline.ts";
import { aFolder } from "../support/cli.ts";
import { replayOf } from "../support/equal-replay.ts";
import { aContact, anOrganization } from "../support/fake-data.ts";
import { createFakeService } from "../support/fake-service.ts";
import { configOf as givenConfig } from "../support/given-config.ts";
import { dumpMirror } from "../support/mirror-dump.ts";
import { useMirrored } from "../support/mirrored-rig.ts";
import type { SyncRig } from "../support/sync-rig.ts";

const ID = "7f3a1c52-person";
const TRACES = [
  ID,
  "ada.king@lovelace.example",
  "old.address@lovelace.example",
  "+44 20 7946 0101",
  "Augusta Kingsley",
];

const configOf = (dataDir: string, env: Record<string, string> = {}) =>
  givenConfig(null, { DUCKMIRROR_DATA_DIR: dataDir, ...env });
const context = { clock: systemClock, emit: () => undefined };
const forget = (dataDir: string, ...contacts: string[]) =>
  forgetJob(configOf(dataDir), { contacts, all: false, exportDirs: [] }, context);

const filesIn = (dir: string): string[] =>
  readdirSync(dir, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

/** Files below the folder in which a text stands, read without any of duckmirror's own code. */
const filesWith = (dir: string, texts: readonly string[]): string[] =>
  filesIn(dir).filter((file) => {
    const bytes = file.endsWith(".gz") ? gunzipSync(readFileSync(file)) : readFileSync(file);
    return texts.some((text) => bytes.includes(text));
  });

const person = () =>
  aContact(ID, {
    firstName: "Augusta",
    lastName: "Kingsley",
    email: "old.address@lovelace.example",
    phone: "+44 20 7946 0101",
    lastChangeDetectedOn: "2026-11-19T00:00:00.000Z",
  });

const useMirror = (maxPerPage: number) =>
  useMirrored(
    (log) => {
      const data = anOrganization(6);
      data.contacts.push(person());
      return createFakeService(data, { maxPerPage }, log);
    },
    { env: { DUCKMIRROR_STREAMS: "accounts,contacts" } },
  );
const MIRRORS = { 100: useMirror(100), 7: useMirror(7) };

/** A mirror of 24 contacts and one more, who has changed her address since, and exports of it in two places. */
const aMirror = async (maxPerPage: 100 | 7 = 100) => {
  const { service, rig: mirror } = await MIRRORS[maxPerPage]();
  const changed = { email: "ada.king@lovelace.example", lastChangeDetectedOn: "2026-11-20T00:00:00.000Z" };
  Object.assign(service.data.contacts.at(-1) ?? {}, changed);
  expect((await mirror.sync()).error).toBeNull();
  const elsewhere = join(aFolder(), "lake");
  const config = configOf(mirror.dataDir);
  const request = { tables: ["contacts", "history.contacts", "contact_moves"], since: null, guardFormulas: false };
  const tables = ["contacts", "history.contacts", "marts.contact_moves"];
  const signal = new AbortController().signal;
  await exportJob(config, { ...request, tables, dir: null, format: "parquet" }, { signal });
  await exportJob(config, { ...request, tables, dir: elsewhere, format: "csv" }, { signal });
  return { service, mirror, elsewhere };
};

/** Credits of a sync that ends well. */
const creditsOf = async (mirror: SyncRig) => {
  const { code, paid } = await mirror.sync();
  expect(code).toBeNull();
  return paid;
};
const contactsIn = async (mirror: SyncRig) => (await mirror.rows("select count(*) as n from contacts"))[0]?.n;

test("a forgotten contact is gone from tables, history, archive, snapshot and exports, and only a hash is left", async () => {
  const { mirror, elsewhere } = await aMirror();
  expect(filesWith(mirror.dataDir, TRACES).length).toBeGreaterThan(3);
  const report = await forget(mirror.dataDir, ID);
  expect(report.rows).toEqual({ current: 1, versions: 1, rejects: 0 });
  expect(report.exports).toEqual([join(mirror.dataDir, "export"), elsewhere]);
  expect(report.scan).toMatchObject({ left: [], mentions: [] });
  expect(report.scan.files).toBeGreaterThan(8);
  expect(filesWith(mirror.dataDir, TRACES)).toEqual([]);
  expect(filesWith(elsewhere, TRACES)).toEqual([]);
  expect(await contactsIn(mirror)).toBe(24);
  expect(readFileSync(join(mirror.dataDir, "state/archive/forgotten.json"), "utf8")).toContain(report.hashes[0] ?? "?");
  expect(await mirror.rows("select count(*) as n from history.contacts")).toEqual([{ n: 0 }]);
});

test("a forgotten contact is gone from the baseline, too, from which replay then starts without her", async () => {
  const { mirror } = await aMirror();
  const state = join(mirror.dataDir, "state");
  await makeBaseline(state, join(mirror.dataDir, "warehouse.duckdb"), Date.now() - 1000);
  expect(filesWith(join(state, "baseline"), TRACES)).toHaveLength(1);
  await forget(mirror.dataDir, ID);
  expect(filesWith(mirror.dataDir, TRACES)).toEqual([]);
  const before = await dumpMirror(mirror.dataDir);
  const report = await replayOf(mirror.dataDir);
  expect(report).toMatchObject({ baseline: expect.any(String), missing: [] });
  expect(await dumpMirror(mirror.dataDir)).toEqual(before);
  expect(filesWith(mirror.dataDir, TRACES)).toEqual([]);
});

test.each([100, 7] as const)(
  "no later sync brings a forgotten contact back, and an unchanged one costs what it cost before (pages of %i)",
  async (maxPerPage) => {
    const { mirror } = await aMirror(maxPerPage);
    const usual = await creditsOf(mirror);
    await forget(mirror.dataDir, ID);
    for (const _ of [1, 2]) expect(await creditsOf(mirror)).toBe(usual);
    expect((await mirror.sync({ full: true })).code).toBeNull();
    expect(await contactsIn(mirror)).toBe(24);
    expect(await mirror.rows("select count(*) as n from history.contacts")).toEqual([{ n: 0 }]);
    expect(await mirror.rows("select count(*) as n from sync.rejects")).toEqual([{ n: 0 }]);
    expect(await creditsOf(mirror)).toBe(usual);
    expect(filesWith(mirror.dataDir, TRACES)).toEqual([]);
    expect((await mirror.verify({ streams: ["contacts"] })).report.differences).toEqual([]);
  },
);

test("where contacts are read by a filter of dates, a forgotten one forces no walk either", async () => {
  const { mirror, service } = await aMirror();
  service.options = {
    maxPerPage: 100,
    before: ({ query }) =>
      query.sortBy === "lastChangeDetectedOn" ? { status: 400, body: { error: "cannot sort" } } : undefined,
  };
  await creditsOf(mirror);
  const usual = await creditsOf(mirror);
  await forget(mirror.dataDir, ID);
  expect(await creditsOf(mirror)).toBe(usual);
  expect(service.log.some(({ query }) => query.lastChangeDetectedAfter !== undefined)).toBe(true);
});

test("a contact who is deleted upstream, among a forgotten one, is still found out", async () => {
  const { mirror, service } = await aMirror();
  await forget(mirror.dataDir, ID);
  const gone = service.data.contacts.splice(3, 1)[0];
  const { error } = await mirror.sync();
  expect(error).toBeNull();
  expect(await mirror.rows("select id, change from history.contacts")).toEqual([{ id: gone?.id, change: "delete" }]);
  // And when the service forgets her too, that is no change of the mirror.
  service.data.contacts = service.data.contacts.filter(({ id }) => id !== ID);
  await mirror.sync();
  expect(await contactsIn(mirror)).toBe(23);
});

test("a replay after it gives the same mirror, without the contact", async () => {
  const { mirror } = await aMirror();
  await forget(mirror.dataDir, ID);
  await mirror.sync();
  const before = await dumpMirror(mirror.dataDir);
  const report = await replayOf(mirror.dataDir);
  expect(report.missing).toEqual([]);
  expect(await dumpMirror(mirror.dataDir)).toEqual(before);
  expect(filesWith(mirror.dataDir, TRACES).filter((file) => !file.endsWith(".old"))).toEqual([]);
});

test("a contact is found by e-mail address, also an earlier one; an address of several needs --all; an unknown one is an error", async () => {
  const { mirror, service } = await aMirror();
  service.data.contacts.push(
    aContact("first-of-two", { email: "info@shared.example", lastChangeDetectedOn: "2026-11-20T01:00:00.000Z" }),
    aContact("second-of-two", { email: "Info@shared.example", lastChangeDetectedOn: "2026-11-20T01:00:00.000Z" }),
  );
  await mirror.sync();
  const config = configOf(mirror.dataDir);
  const ask = (contacts: string[], all = false) => forgetJob(config, { contacts, all, exportDirs: [] }, context);
  await expect(ask(["nobody@lovelace.example"])).rejects.toMatchObject({ code: "CONTACT_UNKNOWN" });
  await expect(ask(["info@shared.example"])).rejects.toMatchObject({ code: "CONTACT_AMBIGUOUS" });
  expect((await mirror.sync()).error).toBeNull();
  expect((await ask(["OLD.address@lovelace.example"])).rows.current).toBe(1);
  expect((await ask(["info@shared.example"], true)).rows.current).toBe(2);
  expect(await contactsIn(mirror)).toBe(24);
});

test("somebody who was never mirrored is kept out from the first sync on", async () => {
  const { mirror, service } = await aMirror();
  await forget(mirror.dataDir, "not-there-yet");
  service.data.contacts.push(aContact("not-there-yet", { lastChangeDetectedOn: "2026-11-20T01:00:00.000Z" }));
  expect((await mirror.sync()).error).toBeNull();
  expect(await mirror.rows("select count(*) as n from contacts where id = 'not-there-yet'")).toEqual([{ n: 0 }]);
  expect(filesWith(mirror.dataDir, ["not-there-yet"])).toEqual([]);
});

test("rejected records, kept copies of a damaged database and torn archives go too", async () => {
  const { mirror, service } = await aMirror();
  service.data.contacts.push({ ...person(), id: "" });
  await mirror.sync();
  expect(await mirror.rows("select count(*) > 0 as some from sync.rejects")).toEqual([{ some: true }]);
  await replayOf(mirror.dataDir);
  expect(readdirSync(join(mirror.dataDir, "state")).some((name) => name.endsWith(".old"))).toBe(true);
  const [torn = ""] = filesIn(join(mirror.dataDir, "state/archive")).filter((file) => file.endsWith(".ndjson.gz"));
  writeFileSync(torn.replace(".ndjson.gz", ".2.ndjson.gz"), readFileSync(torn).subarray(0, 3000));
  const report = await forget(mirror.dataDir, ID);
  expect(report.rows.rejects).toBeGreaterThan(0);
  expect(report.removed.some((file) => file.endsWith(".old"))).toBe(true);
  expect(filesWith(mirror.dataDir, TRACES)).toEqual([]);
});

test("what stands about the same person in other records is named, and does not fail", async () => {
  const { mirror, service } = await aMirror();
  Object.assign(service.data.accounts[0] ?? {}, {
    description: "Founded by Augusta Kingsley.",
    updatedAt: "2026-11-20T02:00:00.000Z",
  });
  await mirror.sync();
  const { scan } = await forget(mirror.dataDir, ID);
  expect(scan.left).toEqual([]);
  expect(scan.mentions.map(({ table, kind }) => [table, kind])).toContainEqual(["main.accounts", "name"]);
});

test("killed after one step and then the next, nothing is written until --resume has finished; then no trace is left", async () => {
  const { mirror, elsewhere } = await aMirror();
  const script = fileURLToPath(new URL("../support/forget-child.ts", import.meta.url));
  for (const step of ["listed", "archive", "tables", "published"]) {
    const child = spawn(process.execPath, ["--import", "tsx", script, mirror.dataDir, ID, step], { stdio: "inherit" });
    const [, signal] = await once(child, "exit");
    expect([step, signal]).toEqual([step, "SIGKILL"]);
    await expect(mirror.sync()).rejects.toMatchObject({ code: "FORGET_UNFINISHED" });
  }
  const replayed = replayOf(mirror.dataDir);
  await expect(replayed).rejects.toMatchObject({ code: "FORGET_UNFINISHED" });
  await forget(mirror.dataDir);
  expect(filesWith(mirror.dataDir, TRACES)).toEqual([]);
  expect(filesWith(elsewhere, TRACES)).toEqual([]);
  expect((await mirror.sync()).error).toBeNull();
  expect(await contactsIn(mirror)).toBe(24);
});

test("a list of forgotten people without its key stops everything before anybody comes back", async () => {
  const { mirror } = await aMirror();
  await forget(mirror.dataDir, ID);
  const key = join(mirror.dataDir, "state/forget.key");
  expect(existsSync(key)).toBe(true);
  writeFileSync(key, "");
  await expect(mirror.sync()).rejects.toMatchObject({ code: "FORGOTTEN_UNREADABLE" });
});

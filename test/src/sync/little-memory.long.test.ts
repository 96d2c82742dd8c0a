// Random work of a user in little memory: syncs and full syncs of a service that changes everywhere, with long texts,
// replays, verifications, erased contacts. DuckDB starts with 48 MiB or little more, and no error ever reaches the
// user. DUCKMIRROR_SYNC_MEMORY_SEEDS=100 and DUCKMIRROR_SYNC_MEMORY_STEPS=10 make the run longer,
// DUCKMIRROR_SYNC_MEMORY_SEED=7 begins with seed 7; the test's name holds the seed. Shows P29.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { forgetJob } from "../../../jobs/forget.ts";
import { replayJob } from "../../../jobs/replay.ts";
import { syncJob } from "../../../jobs/sync.ts";
import { verifyJob } from "../../../jobs/verify.ts";
import { Secret } from "../../../src/core/secret.ts";
import { runQuery } from "../../../src/warehouse/read/query.ts";
import { pick, seededRandom, upTo } from "../../support/chance.ts";
import { aContact, anAccount, anOrganization, aSignal } from "../../support/fake-data.ts";
import { startFakeServer } from "../../support/fake-server.ts";
import { createFakeService, type FakeData, idsOf, type Row } from "../../support/fake-service.ts";
import { configOf } from "../../support/given-config.ts";
import { hurriedClock } from "../../support/sync-rig.ts";

const MIB = 2 ** 20;
const SEEDS = Number(process.env.DUCKMIRROR_SYNC_MEMORY_SEEDS ?? 1);
const FIRST_SEED = Number(process.env.DUCKMIRROR_SYNC_MEMORY_SEED ?? 1);
const STEPS = Number(process.env.DUCKMIRROR_SYNC_MEMORY_STEPS ?? 3);
const STARTS_MIB = [48, 56, 64, 96];

type Random = () => number;
const longText = (random: Random) => `${random()} `.padEnd(1 + upTo(random, MIB), "Müller & Söhne 0123456789 ");

/** Every list of the service's data, those of companies too. */
const listsOf = (data: FakeData): Row[][] => [
  data.accounts,
  data.contacts,
  data.signals,
  data.companies,
  data.owners,
  ...Object.values(data.lists).flatMap((lists) => Object.values(lists).filter((rows) => rows !== undefined)),
];

/** Changes rows of every list, long texts among them; says which moment it is, except now and then. */
const update = (data: FakeData, random: Random, now: string) => {
  const field = pick(random, ["name", "headline", "title", "summary", "somethingNew"]);
  for (const rows of listsOf(data)) {
    for (const row of rows.filter(() => random() < 0.3)) {
      row[field] = random() < 0.02 ? longText(random) : `changed ${random()}`;
      if (random() < 0.8) Object.assign(row, { updatedAt: now, lastChangeDetectedOn: now });
    }
  }
  for (const [id, insight] of Object.entries(data.insights))
    if (random() < 0.3) insight.summary = { text: `${id} ${now}` };
};

const insert = (data: FakeData, random: Random, next: { id: number }, now: string) => {
  for (let count = 1 + upTo(random, 40); count > 0; count -= 1) {
    next.id += 1;
    const { id } = next;
    data.accounts.push(anAccount(id, { companyId: `c_${1 + (id % 5)}`, createdAt: now, updatedAt: now }));
    data.contacts.push(aContact(`new${id}`, { accountId: id, lastChangeDetectedOn: now }));
    const text = random() < 0.05 ? longText(random) : `Signal ${id}`;
    data.signals.push(aSignal(id * 10, { accountId: id, headline: text, createdAt: now, updatedAt: now }));
    const news = data.lists[`c_${1 + (id % 5)}`]?.["news-articles"];
    news?.push({ id: `n${id}`, url: `https://news.example/${id}`, datePublished: now, headline: text });
  }
};

/** Removes rows of each list, except of what other rows need. */
const remove = (data: FakeData, random: Random) => {
  for (const rows of listsOf(data).filter((list) => list !== data.companies && list !== data.owners)) {
    const kept = rows.filter((row, index) => index === 0 || (rows === data.accounts && row.id === 1) || random() > 0.2);
    rows.splice(0, rows.length, ...kept);
  }
};

/** A mirror of a service of its own, worked on as a user would. */
const startWork = async (seed: number) => {
  const random = seededRandom(seed);
  const service = createFakeService(anOrganization(5 + upTo(random, 15)), { maxPerPage: 50 });
  const server = await startFakeServer(service);
  onTestFinished(() => server.close());
  const dataDir = await mkdtemp(join(tmpdir(), "duckmirror-memory-"));
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
  const startBytes = pick(random, STARTS_MIB) * MIB;
  const env = {
    DUCKMIRROR_BASE_URL: server.url,
    DUCKMIRROR_TOKEN: "test-token",
    DUCKMIRROR_DATA_DIR: dataDir,
    DUCKMIRROR_RATE_LIMIT: "100000",
  };
  const config = {
    ...configOf(null, env),
    memory: { startBytes, ceilingBytes: 1024 * MIB },
  };
  const context = {
    clock: hurriedClock(),
    random,
    emit: () => undefined,
    signal: new AbortController().signal,
    version: "0.0.0",
    token: new Secret("test-token"),
  };
  const forgotten = new Set<string>();
  const next = { id: 1_000 };

  const sync = async (full: boolean) => {
    const { error } = await syncJob(config, { full, allowMassDelete: true }, context);
    expect(error).toBeNull();
  };
  const verify = async () => {
    const request = { streams: [], maxCredits: 15, sample: 50, repair: random() < 0.5, allowMassDelete: true };
    const { error } = await verifyJob(config, request, context);
    // That it differs is what it is to find.
    if (error?.code !== "VERIFY_DIFFERS") expect(error).toBeNull();
  };
  const forget = async () => {
    if (service.data.contacts.length === 0) return;
    const id = String(pick(random, service.data.contacts).id);
    forgotten.add(id);
    await forgetJob(config, { contacts: [id], all: false, exportDirs: [] }, context);
  };
  const change = () => {
    const now = new Date(context.clock.now()).toISOString();
    if (random() < 0.8) update(service.data, random, now);
    if (random() < 0.7) insert(service.data, random, next, now);
    if (random() < 0.5) remove(service.data, random);
  };
  const step = async (): Promise<unknown> => {
    change();
    const kind = random();
    if (kind < 0.35) return sync(false);
    if (kind < 0.65) return sync(true);
    if (kind < 0.8) return replayJob(config, { partial: false }, context);
    return kind < 0.9 ? verify() : forget();
  };
  const mirrored = async (table: string) => {
    const sql = `SELECT CAST(id AS VARCHAR) AS id FROM ${table} ORDER BY 1`;
    const { rows } = await runQuery({ snapshot: join(dataDir, "warehouse.duckdb"), sql });
    return rows.map(([id]) => String(id)).sort();
  };
  return { sync, step, mirrored, forgotten, data: service.data };
};

test.each(Array.from({ length: SEEDS }, (_, index) => FIRST_SEED + index))(
  "seed %i: in little memory no work fails, and the mirror ends equal",
  async (seed) => {
    const { sync, step, mirrored, forgotten, data } = await startWork(seed);
    await sync(false);
    for (let done = 0; done < STEPS; done += 1) await step();
    await sync(true);
    expect(await mirrored("accounts")).toEqual(idsOf(data.accounts));
    expect(await mirrored("signals")).toEqual(idsOf(data.signals));
    expect(await mirrored("contacts")).toEqual(idsOf(data.contacts).filter((id) => !forgotten.has(id)));
  },
);

// Forged messages: who can write to Redis but has not the token makes no fetcher send anything, and no loader believe
// anything; who has the keys gets nothing sent that the catalog does not name.
import { Queue } from "bullmq";
import { Redis } from "ioredis";
import { expect, test, vi } from "vitest";
import type { Config } from "../../../../src/core/config/config.ts";
import { Secret } from "../../../../src/core/secret.ts";
import { mirrorIdOf } from "../../../../src/queue/remote/loader/mirror-id.ts";
import { openMailbox } from "../../../../src/queue/remote/mailbox.ts";
import { type FetchPayload, requestOf, signedJob } from "../../../../src/queue/remote/messages.ts";
import { sealAnswer } from "../../../../src/queue/remote/sealed-answers.ts";
import type { Seals } from "../../../../src/queue/remote/seals.ts";
import { afterTest } from "../../../support/after-test.ts";
import { anOrg, aRedis } from "../worker-rig.ts";
import { aFetcher, aLoader, announced, aParcel, sealsOf } from "./remote-rig.ts";

const PREFIX = "{duckmirror}";
const ID = "run-1-1";
const never = () => new AbortController().signal;

interface Forger {
  readonly config: Config;
  readonly organization: string;
  /** The right keys: only some forgeries use them. */
  readonly seals: Seals;
  readonly payload: FetchPayload;
}

type Job = Record<string, unknown>;
const genuine = ({ seals, organization, payload }: Forger): Job => ({ ...signedJob(seals, organization, payload) });
/** The job of an order that is signed rightly, whatever stands in it. */
const signed = ({ seals, organization, payload }: Forger, order: unknown): Job => {
  const text = typeof order === "string" ? order : JSON.stringify(order);
  return { v: 1, profile: payload.profile, organization, order: text, signature: seals.sign(text) };
};
const asking = (forger: Forger, request: Record<string, unknown>): Job =>
  signed(forger, { ...forger.payload, request: { ...forger.payload.request, ...request } });
/** An order changed after it was signed. */
const changed = (forger: Forger, change: (order: string) => string): Job => {
  const job = signedJob(forger.seals, forger.organization, forger.payload);
  return { ...job, order: change(job.order) };
};
const inOrder = (forger: Forger, part: Record<string, unknown>): Job =>
  changed(forger, (order) => JSON.stringify({ ...JSON.parse(order), ...part }));
const inRequest = (forger: Forger, part: Record<string, unknown>): Job =>
  inOrder(forger, { request: { ...forger.payload.request, ...part } });
/** A job as the program sent it before orders were signed. */
const unsigned = ({ organization, payload }: Forger, request: Record<string, unknown>): Job => ({
  ...payload,
  organization,
  request: { ...payload.request, body: null, ...request },
});
const strangers = ({ config }: Forger) => sealsOf(config, new Secret("another-token")).seals;

const FORGED: Readonly<Record<string, readonly [code: string, job: (forger: Forger) => unknown]>> = {
  // Written without the token.
  "a bare path": ["JOB_VERSION", (forger) => unsigned(forger, { path: "/internal/admin/users" })],
  "a bare POST": [
    "JOB_VERSION",
    (forger) =>
      unsigned(forger, { endpoint: "sendFeedback", path: "/v1/admin/delete-everything", body: '{"all":true}' }),
  ],
  "a bare read": ["JOB_VERSION", (forger) => unsigned(forger, { path: "/v1/accounts" })],
  "no signature": ["JOB_VERSION", (forger) => ({ ...genuine(forger), signature: undefined })],
  "a signature that is null": ["JOB_VERSION", (forger) => ({ ...genuine(forger), signature: null })],
  "an empty signature": ["JOB_FORGED", (forger) => ({ ...genuine(forger), signature: "" })],
  "a signature of zeros": ["JOB_FORGED", (forger) => ({ ...genuine(forger), signature: "A".repeat(43) })],
  "half a signature": [
    "JOB_FORGED",
    (forger) => ({ ...genuine(forger), signature: String(genuine(forger).signature).slice(0, 20) }),
  ],
  "a longer signature": [
    "JOB_FORGED",
    (forger) => ({ ...genuine(forger), signature: `${genuine(forger).signature}AAAA` }),
  ],
  "a signature that is no base64": ["JOB_FORGED", (forger) => ({ ...genuine(forger), signature: "💥".repeat(20) })],
  "a signature of a megabyte": ["JOB_FORGED", (forger) => ({ ...genuine(forger), signature: "A".repeat(1 << 20) })],
  "the signature as a list": [
    "JOB_VERSION",
    (forger) => ({ ...genuine(forger), signature: [genuine(forger).signature] }),
  ],
  "another token's signature": [
    "JOB_FORGED",
    (forger) => ({ ...genuine(forger), signature: strangers(forger).sign(JSON.stringify(forger.payload)) }),
  ],
  "the signature of another order": [
    "JOB_FORGED",
    (forger) => ({ ...genuine(forger), signature: forger.seals.sign("{}") }),
  ],
  "a space more": ["JOB_FORGED", (forger) => changed(forger, (order) => `${order} `)],
  "a member twice": ["JOB_FORGED", (forger) => changed(forger, (order) => order.replace("{", '{"v":1,'))],
  "another endpoint": ["JOB_FORGED", (forger) => inRequest(forger, { endpoint: "listContacts" })],
  "another page": ["JOB_FORGED", (forger) => inRequest(forger, { query: { page: "2", perPage: "25" } })],
  "more fields": ["JOB_FORGED", (forger) => inRequest(forger, { query: { onlyWithFields: "summary" } })],
  "another parameter": ["JOB_FORGED", (forger) => inRequest(forger, { endpoint: "getAccount", params: { id: "1" } })],
  "another run": ["JOB_FORGED", (forger) => inRequest(forger, { runId: "run-2" })],
  "another stream": ["JOB_FORGED", (forger) => inRequest(forger, { stream: "contacts" })],
  "another mirror": ["JOB_FORGED", (forger) => inOrder(forger, { mirror: "0123456789abcdef" })],
  "another epoch": ["JOB_FORGED", (forger) => inOrder(forger, { epoch: "mine" })],
  "another slot": ["JOB_FORGED", (forger) => inOrder(forger, { slotAt: 9e15 })],
  "another beginning": ["JOB_FORGED", (forger) => inOrder(forger, { runBeganAt: 9e15 })],
  "another profile": ["PROFILE_UNKNOWN", (forger) => ({ ...genuine(forger), profile: "other" })],
  "another organization": ["PROFILE_UNKNOWN", (forger) => ({ ...genuine(forger), organization: "0".repeat(16) })],
  "no order": ["JOB_VERSION", (forger) => ({ ...genuine(forger), order: undefined })],
  "an order as an object": ["JOB_VERSION", (forger) => ({ ...genuine(forger), order: forger.payload })],
  "a newer version": ["JOB_VERSION", (forger) => ({ ...genuine(forger), v: 99 })],
  "no job at all": ["JOB_VERSION", () => "GET /internal/admin/users"],
  "a job of null": ["JOB_VERSION", () => null],
  // Signed with the right key: what the catalog does not name does not leave all the same.
  "signed: the order of another job": ["JOB_FORGED", (forger) => asking(forger, { requestId: "run-9-9" })],
  "signed: another profile inside": ["JOB_FORGED", (forger) => signed(forger, { ...forger.payload, profile: "other" })],
  "signed: feedback": ["JOB_VERSION", (forger) => asking(forger, { endpoint: "sendFeedback" })],
  "signed: an unknown endpoint": ["JOB_VERSION", (forger) => asking(forger, { endpoint: "listUsers" })],
  "signed: an endpoint of the prototype": ["JOB_VERSION", (forger) => asking(forger, { endpoint: "constructor" })],
  "signed: a path besides": ["JOB_VERSION", (forger) => asking(forger, { params: { path: "/internal/admin/users" } })],
  "signed: a parent as an id": [
    "JOB_VERSION",
    (forger) => asking(forger, { endpoint: "getAccount", params: { id: ".." } }),
  ],
  "signed: a dot as an id": [
    "JOB_VERSION",
    (forger) => asking(forger, { endpoint: "getAccount", params: { id: "." } }),
  ],
  "signed: no id": ["JOB_VERSION", (forger) => asking(forger, { endpoint: "getAccount", params: { id: "" } })],
  "signed: an id left out": ["JOB_VERSION", (forger) => asking(forger, { endpoint: "getAccount", params: {} })],
  "signed: half a character": [
    "JOB_VERSION",
    (forger) => asking(forger, { endpoint: "getAccount", params: { id: "\ud800" } }),
  ],
  "signed: an unknown query parameter": ["JOB_VERSION", (forger) => asking(forger, { query: { admin: "true" } })],
  "signed: another organization's usage": [
    "PROFILE_UNKNOWN",
    (forger) => asking(forger, { endpoint: "getUsage", query: { organizationId: "theirs" } }),
  ],
  "signed: a query that is a text": ["JOB_VERSION", (forger) => asking(forger, { query: "page=1" })],
  "signed: a parameter that is an object": [
    "JOB_VERSION",
    (forger) => asking(forger, { endpoint: "getAccount", params: { id: {} } }),
  ],
};

test(`none of ${Object.keys(FORGED).length} forged jobs makes a fetcher send anything`, async () => {
  const redis = await aRedis();
  const org = await anOrg("default", 4);
  const config = org.config(redis);
  const loader = await aLoader(redis, config);
  await loader.sender.turn(never());
  const client = new Redis(redis.url, { maxRetriesPerRequest: null });
  afterTest(async () => client.disconnect());
  const mirror = await mirrorIdOf(config.dataDir);
  const epoch = (await openMailbox(client, mirror).epoch()) ?? "";
  const warned: string[] = [];
  await aFetcher(redis, [config], { times: { strange: 0, unread: 0 }, warn: (text) => void warned.push(text) });
  const queue = new Queue("fetch", { connection: client, prefix: PREFIX });
  afterTest(() => queue.close());

  const found: Record<string, string> = {};
  for (const [index, [name, [, job]]] of Object.entries(FORGED).entries()) {
    const jobId = `forged-${index}`;
    const request = requestOf(aParcel(jobId, "run-1"));
    const payload: FetchPayload = { v: 1, profile: "default", mirror, epoch, slotAt: Date.now(), request };
    await queue.add("request", job({ config, ...sealsOf(config), payload }), { jobId });
    found[name] = await vi.waitFor(
      async () => {
        const { failedReason } = (await queue.getJob(jobId)) ?? {};
        if (!failedReason) throw new Error(`${name}: not refused yet`);
        return failedReason.split(":")[0] ?? "";
      },
      { timeout: 30_000, interval: 5 },
    );
  }
  expect(found).toEqual(Object.fromEntries(Object.entries(FORGED).map(([name, [code]]) => [name, code])));
  expect(org.service.log).toEqual([]);
  expect(warned.filter((text) => text.includes("was not made by a loader"))).toHaveLength(1);
  expect(await client.keys("*:mirror:0123456789abcdef:*")).toEqual([]);
  // A genuine one made the same way leaves: the others were not refused for another reason.
  const request = requestOf(aParcel("genuine", "run-1"));
  const payload: FetchPayload = { v: 1, profile: "default", mirror, epoch, slotAt: Date.now(), request };
  await queue.add("request", genuine({ config, ...sealsOf(config), payload }), { jobId: "genuine" });
  await vi.waitFor(() => expect(org.service.log).toMatchObject([{ path: "/v1/accounts" }]), { timeout: 30_000 });
});

const flipped = (letter: Buffer, at: number): Buffer => {
  const copy = Buffer.from(letter);
  copy.writeUInt8(copy.readUInt8(at) ^ 1, at);
  return copy;
};

const LETTERS: Readonly<
  Record<string, (letter: Buffer, lock: (place: string, more?: object) => Buffer, other: Buffer) => Buffer>
> = {
  "plain JSON": () => Buffer.from('{"v":1,"nth":1,"result":{"kind":"wire"}}'),
  nothing: () => Buffer.alloc(0),
  "a few bytes": () => Buffer.alloc(20),
  "random bytes": () => Buffer.alloc(4_000, 7),
  "half of it": (letter) => letter.subarray(0, letter.length / 2),
  "a byte more": (letter) => Buffer.concat([letter, Buffer.from([0])]),
  "another nonce": (letter) => flipped(letter, 0),
  "another tag": (letter) => flipped(letter, 15),
  "a changed note": (letter) => flipped(letter, 40),
  "a changed body": (letter) => flipped(letter, letter.length - 1),
  "that of another request": (_, lock) => lock("run-1-2.1"),
  "that of another attempt": (_, lock) => lock(`${ID}.1`, { nth: 2 }),
  "of another token": (_, __, other) => other,
};

test(`none of ${Object.keys(LETTERS).length} forged answers is believed, and the genuine one still arrives`, async () => {
  const redis = await aRedis();
  const org = await anOrg("default", 4);
  const config = org.config(redis);
  const warned: string[] = [];
  const loader = await aLoader(redis, config, (text) => void warned.push(text));
  const parcel = aParcel(ID, "run-1");
  await announced(loader.warehouse, parcel);
  await loader.sender.turn(never());
  const sending = loader.sender.send(parcel, { signal: never(), hardSignal: never() });
  const client = new Redis(redis.url, { maxRetriesPerRequest: null });
  afterTest(async () => client.disconnect());
  const mirror = await mirrorIdOf(config.dataDir);
  const mailbox = openMailbox(client, mirror);
  const pages = new Queue(`pages-${mirror}`, { connection: client, prefix: PREFIX });
  afterTest(() => pages.close());

  const text = Buffer.from('{"data":[{"id":666,"name":"forged"}],"meta":{},"usage":{}}');
  const noted = (more: object) => ({
    note: {
      ...({ v: 1, request: requestOf(parcel), nth: 1, sentAt: Date.now() } as const),
      result: { kind: "wire", durationMs: 1, rate: null, contentEncoding: "" } as const,
      ...more,
    },
    body: text,
  });
  const { seals } = sealsOf(config);
  const lock = (place: string, more: object = {}) => sealAnswer(seals, mirror, place, noted(more));
  const letter = lock(`${ID}.1`);
  const other = sealAnswer(sealsOf(config, new Secret("another-token")).seals, mirror, `${ID}.1`, noted({}));
  for (const [name, forge] of Object.entries(LETTERS)) {
    const before = warned.length;
    await mailbox.put(`${ID}.1`, forge(letter, lock, other));
    await pages.add("page", { v: 1, delivery: `${ID}.1` }, { jobId: `${ID}.1`, removeOnComplete: true });
    await vi.waitFor(() => expect(warned.length, name).toBeGreaterThan(before), { timeout: 30_000, interval: 5 });
    await vi.waitFor(async () => expect(await mailbox.deliveries(), name).toEqual([]), { timeout: 30_000 });
  }
  await aFetcher(redis, [config]);
  expect(await sending).toMatchObject({ kind: "outcome", outcome: { kind: "ok" } });
  expect(org.service.log).toHaveLength(1);
});

test("what lies in Redis of an answer cannot be read there", async () => {
  const redis = await aRedis();
  const org = await anOrg("default", 4);
  const config = org.config(redis);
  const loader = await aLoader(redis, config);
  const parcel = aParcel(ID, "run-1");
  await announced(loader.warehouse, parcel);
  await aFetcher(redis, [config]);
  await loader.sender.turn(never());
  const sent = await loader.sender.send(parcel, { signal: never(), hardSignal: never() });
  if (sent.kind !== "outcome" || sent.outcome.kind !== "ok") throw new Error("no answer");
  const [account] = Array.isArray(sent.outcome.data) ? sent.outcome.data : [];
  if (typeof account !== "object" || account === null || !("name" in account)) throw new Error("no account");
  const client = new Redis(redis.url, { maxRetriesPerRequest: null });
  afterTest(async () => client.disconnect());
  const mailbox = openMailbox(client, await mirrorIdOf(config.dataDir));
  const letter = await mailbox.read(`${ID}.1`);
  expect(letter?.length).toBeGreaterThan(100);
  expect(letter?.includes(String(account.name))).toBe(false);
  expect(letter?.includes("listAccounts")).toBe(false);
});

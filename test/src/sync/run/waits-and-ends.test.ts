// Every wait against every end: whatever ends a run ends its waits at once. A run is brought into a wait, on a clock that
// stands; then it is ended, and at most a second of that clock may pass until it says how it ended.
import { readFileSync } from "node:fs";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { type Connect, connectAlone } from "../../../../jobs/connection.ts";
import { createSessions } from "../../../../jobs/session.ts";
import { type SyncRequest, syncJob } from "../../../../jobs/sync.ts";
import { createOrganizationLedger } from "../../../../src/budget/organization-ledger.ts";
import { organizationKey } from "../../../../src/budget/redis-store.ts";
import { redisLedger } from "../../../../src/budget/stored-state.ts";
import { STREAM_NAMES } from "../../../../src/catalog/streams.ts";
import { vocabulary } from "../../../../src/catalog/vocabulary.ts";
import { systemClock } from "../../../../src/core/clock.ts";
import { type Config, resolveConfig } from "../../../../src/core/config/config.ts";
import { DuckmirrorError, EXIT } from "../../../../src/core/errors.ts";
import { Secret } from "../../../../src/core/secret.ts";
import { openAsking } from "../../../../src/queue/bullmq/connection.ts";
import { connectShared } from "../../../../src/queue/bullmq/shared-connection.ts";
import { startLocalWorker } from "../../../../src/queue/local/worker.ts";
import { remoteConnection } from "../../../../src/queue/remote/loader/remote-connection.ts";
import { sharedLimits } from "../../../../src/queue/remote/organizations.ts";
import { openWarehouse } from "../../../../src/warehouse/file/warehouse.ts";
import { anOrganization } from "../../../support/fake-data.ts";
import { startFakeServer } from "../../../support/fake-server.ts";
import { createFakeService, type FakeAnswer, type FakeService } from "../../../support/fake-service.ts";
import { startRedis } from "../../../support/redis.ts";
import { type StandingClock, standingClock } from "../../../support/standing-clock.ts";
import { hurriedClock } from "../../../support/sync-rig.ts";
import { ENDS, type EndName, WAIT_NAMES, WAITS, type WaitName, waitsTable } from "./waits.ts";

/** How far the run's clock moves after its end, ms. */
const AT_ONCE_MS = 1_000;
/** Waits up to this length pass at once: the spacing of requests, a look at Redis. */
const SHORT_MS = 50;
const GRACE_MS = 8_000;
const TICK_MS = 20;
const STUCK_MS = 300_000;
/** Like no other wait, so that the clock can tell it. */
const TIME_LIMIT_MS = 123_456_789;
const TOKEN = new Secret("test-token");
const RESETS_AT = Date.parse("2026-12-01T00:00:00.000Z");

const refused = (status: number, headers: Record<string, string> = {}): FakeAnswer => ({
  status,
  headers,
  body: { error: { message: "refused" } },
});

const configOf = (url: string, dataDir: string, env: Record<string, string>): Config =>
  resolveConfig({
    flags: {},
    env: { DUCKMIRROR_BASE_URL: url, DUCKMIRROR_TOKEN: "test-token", DUCKMIRROR_DATA_DIR: dataDir, ...env },
    file: null,
    cwd: dataDir,
    vocabulary: vocabulary(),
  });

/** A mirror that is complete, so that the next full sync asks for several lists at once. */
let complete = "";
const service = (): FakeService => createFakeService(anOrganization(2), { maxPerPage: 25 });

beforeAll(async () => {
  complete = await mkdtemp(join(tmpdir(), "duckmirror-waits-"));
  const server = await startFakeServer(service());
  const config = configOf(server.url, complete, { DUCKMIRROR_RATE_LIMIT: "100000" });
  const request = { streams: [], full: false, maxDurationMs: null, allowMassDelete: false };
  const clock = hurriedClock();
  const { error } = await syncJob(config, request, {
    clock,
    random: () => 0.5,
    emit: () => undefined,
    signal: new AbortController().signal,
    version: "0.0.0",
    token: TOKEN,
  });
  expect(error).toBeNull();
  await server.close();
});
afterAll(() => rm(complete, { recursive: true, force: true }));

const deferred = () => {
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
};

const aRedis = async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.kill());
  return redis;
};

/** What a run is brought into its wait with. */
interface Stage {
  readonly clock: StandingClock;
  readonly config: Config;
  readonly connect: Connect;
  /** Resolves once the run waits. The first request is on the wire then, unanswered. */
  waits(): Promise<void>;
}

interface Place {
  readonly clock: StandingClock;
  readonly url: string;
  readonly dataDir: string;
  /** The first request has reached the service. */
  readonly arrived: Promise<void>;
  /** How every request but the first is answered from now on. */
  answerOthers(answer: FakeAnswer): void;
}

type Enter = (place: Place) => Promise<Stage>;

const FAST = { DUCKMIRROR_RATE_LIMIT: "100000" };
const SLOW = { DUCKMIRROR_RATE_LIMIT: "1" };
const between = (least: number, most: number) => (ms: number) => ms >= least && ms <= most;

/** In one process, with this environment; it waits once a wait of this length stands. */
const alone =
  (env: Record<string, string>, isIt: (ms: number) => boolean, others?: FakeAnswer): Enter =>
  async ({ clock, url, dataDir, arrived, answerOthers }) => {
    if (others !== undefined) answerOthers(others);
    return {
      clock,
      config: configOf(url, dataDir, env),
      connect: connectAlone,
      waits: () => arrived.then(() => clock.stands(isIt)),
    };
  };

const shared = async ({ clock, url, dataDir }: Place, env: Record<string, string>) => {
  const redis = await aRedis();
  const connection = await openAsking(new Secret(redis.url), () => undefined);
  onTestFinished(() => connection.close());
  const config = configOf(url, dataDir, { ...env, REDIS_URL: redis.url });
  const organization = organizationKey(url, TOKEN.reveal());
  const limits = sharedLimits(config);
  const ledger = createOrganizationLedger({
    clock,
    store: redisLedger({ connection, organization, clock }, limits),
    limits,
  });
  return { config, ledger, connect: connectShared(connection) };
};

/** Waits that a run of the engine can be brought into; the others have tests of their own below. */
type EngineWait = Exclude<
  WaitName,
  "Redis, in a run" | "Redis, before a run" | "mailbox" | "writer lock" | "loader" | "publish"
>;

const ENTER: Readonly<Record<EngineWait, Enter> & Partial<Record<WaitName, Enter>>> = {
  turn: alone(SLOW, between(50_000, 61_000)),
  "Retry-After": alone(
    { ...FAST, DUCKMIRROR_CONCURRENCY: "2" },
    between(1_700_000, 1_801_000),
    refused(429, { "retry-after": "1800" }),
  ),
  backoff: alone({ ...FAST, DUCKMIRROR_CONCURRENCY: "2" }, between(900, 1_000), refused(500)),
  "first answer": alone({}, between(29_000, 30_000)),
  "credits of this run": async (place) => {
    const { clock, url, dataDir, arrived } = place;
    // This wait has no length. The next request asks for its credit as soon as the first one has left.
    const waits = async () => {
      await arrived;
      for (let turns = 0; turns < 200; turns++) await new Promise((resolve) => setImmediate(resolve));
    };
    return {
      clock,
      config: configOf(url, dataDir, { ...FAST, DUCKMIRROR_MAX_CREDITS: "1" }),
      connect: connectAlone,
      waits,
    };
  },
  "credits of other processes": async (place) => {
    const { config, ledger, connect } = await shared(place, FAST);
    const { clock, arrived } = place;
    // One is left, and the first request takes it.
    await ledger.observe({ limit: 100, used: 99, remaining: 1, resetsAt: RESETS_AT }, clock.now());
    return { clock, config, connect, waits: () => arrived.then(() => clock.stands((ms) => ms === 200)) };
  },
  // Others may still ask: here nothing else is left to be asked.
  "answer on the wire": async ({ clock, url, dataDir, arrived }) => ({
    clock,
    config: configOf(url, dataDir, { ...FAST, DUCKMIRROR_CONCURRENCY: "1" }),
    connect: connectAlone,
    waits: () => arrived,
  }),
};

const CODES: Partial<Record<EndName, number>> = {
  stop: EXIT.interrupted,
  signal: EXIT.interrupted,
  quota: EXIT.budget,
  credentials: EXIT.credentials,
  "time limit": EXIT.budget,
  budget: EXIT.budget,
};

const contextOf = (clock: StandingClock) => ({
  clock,
  random: () => 0.99,
  emit: () => undefined,
  version: "0.0.0",
  token: TOKEN,
  graceMs: GRACE_MS,
});

/** Nothing but time could end what still waits: says so long before the test's own limit. */
const stuck = async (clock: StandingClock): Promise<never> => {
  const late = new AbortController();
  onTestFinished(() => late.abort());
  await delay(STUCK_MS, undefined, { signal: late.signal, ref: false });
  throw new Error(`still waits for ${clock.standing().join(", ")} ms`);
};

/** Lets the clock go on by a second, little by little, until it is told that the run is over. */
const letASecondPass = (clock: StandingClock): (() => void) => {
  let passed = 0;
  const ticking = setInterval(() => {
    if (passed < AT_ONCE_MS) clock.pass(TICK_MS);
    passed += TICK_MS;
  }, TICK_MS);
  return () => clearInterval(ticking);
};

/** Runs a sync into its wait, ends it, and measures. */
const runPair = async (wait: WaitName, enter: Enter, end: EndName): Promise<void> => {
  const dataDir = await mkdtemp(join(tmpdir(), "duckmirror-pair-"));
  await cp(complete, dataDir, { recursive: true });
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }));

  const source = service();
  let others: FakeAnswer | undefined;
  let held: FakeAnswer | undefined;
  let first: string | null = null;
  const { promise: arrived, resolve: arrive } = deferred();
  const { promise: released, resolve: release } = deferred();
  source.options = { ...source.options, before: ({ path }) => (path === first ? held : others) };
  const server = await startFakeServer(source, async (path) => {
    if (first !== null) return;
    first = path;
    arrive();
    await released;
  });
  onTestFinished(() => server.close());
  onTestFinished(() => release());

  const clock = standingClock(SHORT_MS);
  const stage = await enter({
    clock,
    url: server.url,
    dataDir,
    arrived,
    answerOthers: (answer) => {
      others = answer;
    },
  });

  let breakIt = () => {};
  const fault = new TypeError("the wire is cut");
  const broken = new Promise<never>((_, reject) => {
    breakIt = () => reject(fault);
  });
  broken.catch(() => undefined);
  const connect: Connect = async (config, context) => {
    const connection = await stage.connect(config, context);
    const { sender } = connection;
    return { ...connection, sender: { ...sender, send: (...order) => Promise.race([sender.send(...order), broken]) } };
  };
  const signal = new AbortController();
  const context = { ...contextOf(clock), connect };
  const request: SyncRequest = {
    streams: [],
    full: true,
    maxDurationMs: end === "time limit" ? TIME_LIMIT_MS : null,
    allowMassDelete: false,
  };
  const start = async () => {
    if (end !== "stop") return syncJob(stage.config, request, { ...context, signal: signal.signal });
    // As a worker runs it: cancelled, or stopped, is what its session is left for.
    const sessions = createSessions({
      clock,
      most: 1,
      graceMs: GRACE_MS,
      emit: () => undefined,
      run: (config, sync, ends) => syncJob(config, { ...sync, full: true }, { ...context, ...ends }),
    });
    const ask = { syncId: "20261121T000000Z-waits", profile: stage.config, streams: STREAM_NAMES, full: true };
    const runs = await sessions.join({ ...ask, open: async () => STREAM_NAMES, named: false, signal: signal.signal });
    const [last] = runs.slice(-1);
    if (last === undefined) throw new Error("the session made no run");
    return last;
  };

  const running = start();
  const ended = running.then(
    ({ error }) => error,
    (error: unknown) => error,
  );
  await Promise.race([stage.waits(), ended.then((error) => Promise.reject(error ?? new Error("it ended by itself")))]);
  const sentBefore = source.log.length;

  switch (end) {
    case "stop":
    case "signal":
      signal.abort(new DuckmirrorError("INTERRUPTED"));
      break;
    case "quota":
      held = refused(429, { "retry-after": "10800" });
      break;
    case "budget":
      held = undefined;
      break;
    case "credentials":
      held = refused(401);
      break;
    case "time limit":
      clock.over(TIME_LIMIT_MS);
      break;
    case "fault":
      breakIt();
      break;
    case "second signal":
      throw new Error("a process of its own");
    default:
      end satisfies never;
  }
  const onTheWire = wait === "answer on the wire";
  if (onTheWire) {
    await clock.stands((ms) => ms === GRACE_MS);
    clock.over(GRACE_MS);
  } else release();
  const over = letASecondPass(clock);
  const error = await Promise.race([ended, stuck(clock)]);
  over();
  if (end === "fault") expect(error).toBe(fault);
  else expect(error).toMatchObject({ exitCode: CODES[end] });
  // The first one was on the wire; nothing follows.
  expect(source.log.length - sentBefore).toBeLessThanOrEqual(1);
};

const ENGINE_ENDS = ENDS.filter((end) => end !== "second signal");

/** Whether a figure is older than the run is seen on Redis's clock, which does not stand: a test of its own, below. */
const needsRealTime = (wait: WaitName, end: EndName) => wait === "credits of other processes" && end === "budget";

for (const wait of WAIT_NAMES) {
  for (const end of ENGINE_ENDS.filter((each) => WAITS[wait][each] === "run" && !needsRealTime(wait, each))) {
    const enter = ENTER[wait];
    if (enter !== undefined)
      test(`a run that waits for ${wait} ends at once by ${end}`, () => runPair(wait, enter, end));
  }
}

test("a run that waits for credits of other processes ends at once by budget", async () => {
  const redis = await aRedis();
  const connection = await openAsking(new Secret(redis.url), () => undefined);
  onTestFinished(() => connection.close());
  const asked = deferred();
  const release = deferred();
  let requests = 0;
  const source = service();
  const server = await startFakeServer(source, async () => {
    requests += 1;
    asked.resolve();
    await release.promise;
  });
  onTestFinished(() => server.close());
  const dataDir = await mkdtemp(join(tmpdir(), "duckmirror-pair-"));
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
  await cp(complete, dataDir, { recursive: true });
  const config = configOf(server.url, dataDir, { ...FAST, REDIS_URL: redis.url });
  const limits = sharedLimits(config);
  const place = { connection, organization: organizationKey(server.url, TOKEN.reveal()), clock: systemClock };
  const ledger = createOrganizationLedger({ clock: systemClock, store: redisLedger(place, limits), limits });
  const left = () => ledger.observe({ limit: 100, used: 99, remaining: 1, resetsAt: RESETS_AT }, Date.now());
  await left();
  const running = syncJob(
    config,
    { streams: [], full: true, maxDurationMs: null, allowMassDelete: false },
    {
      ...contextOf(standingClock(SHORT_MS)),
      clock: systemClock,
      connect: connectShared(connection),
      signal: new AbortController().signal,
    },
  );
  await asked.promise;
  // Said again after the run began: it is believed.
  await left();
  release.resolve();
  const { error } = await running;
  expect(error).toMatchObject({ exitCode: EXIT.budget });
  expect(requests).toBe(1);
});

for (const end of ["stop", "signal", "time limit"] as const) {
  test(`an answer on the wire is waited for no longer than the grace after ${end}`, () =>
    runPair("answer on the wire", ENTER["answer on the wire"], end));
}

for (const end of ["signal", "time limit"] as const) {
  test(`a Redis that does not answer before a run keeps nobody from ending by ${end}`, async () => {
    const redis = await aRedis();
    redis.pause();
    onTestFinished(() => redis.resume());
    const clock = standingClock(SHORT_MS);
    const dataDir = await mkdtemp(join(tmpdir(), "duckmirror-pair-"));
    onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
    const config = configOf("http://127.0.0.1:9", dataDir, { ...FAST, REDIS_URL: redis.url });
    const connect = remoteConnection({ redisUrl: new Secret(redis.url), warn: () => undefined });
    const signal = new AbortController();
    const maxDurationMs = end === "time limit" ? TIME_LIMIT_MS : null;
    const running = syncJob(
      config,
      { streams: [], full: false, maxDurationMs, allowMassDelete: false },
      { ...contextOf(clock), connect, signal: signal.signal },
    );
    if (end === "time limit") clock.over(TIME_LIMIT_MS);
    else signal.abort(new DuckmirrorError("INTERRUPTED"));
    // Not REDIS_UNAVAILABLE, as which the wait would end by itself.
    await expect(running).rejects.toMatchObject({ exitCode: CODES[end] });
  });
}

for (const end of ["stop", "signal"] as const) {
  test(`a worker that waits for the writer lock ends that by ${end}`, async () => {
    const dataDir = await mkdtemp(join(tmpdir(), "duckmirror-pair-"));
    onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
    const other = await openWarehouse({ dataDir, clock: systemClock });
    onTestFinished(() => other.close());
    const clock = standingClock(SHORT_MS);
    const config = configOf("http://127.0.0.1:9", dataDir, { ...FAST, DUCKMIRROR_SCHEDULE: "off" });
    const worker = startLocalWorker({
      profiles: [config],
      clock,
      random: () => 0.5,
      log: () => undefined,
      run: (profile, request, ends) => syncJob(profile, request, { ...contextOf(clock), ...ends }),
      emit: () => undefined,
    });
    onTestFinished(() => worker.stop());
    const ask = { streams: ["accounts"], full: false, profile: null, idempotencyKey: null };
    const { runId } = await worker.triggers.start(ask);
    await clock.stands((ms) => ms === 2_000);
    if (end === "stop") await worker.triggers.cancel(runId);
    else await worker.stop();
    await vi.waitFor(async () => expect(await worker.triggers.active()).toEqual([]), { timeout: 120_000, interval: 5 });
    expect((await worker.triggers.find(runId))?.state).toBe("cancelled");
  });
}

test("docs/RELIABILITY.md shows every wait against every end", () => {
  const text = readFileSync(new URL("../../../../docs/RELIABILITY.md", import.meta.url), "utf8");
  expect(text).toContain(waitsTable());
});

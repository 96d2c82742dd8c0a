// One pair: brings a run into a wait, on a clock that stands still, ends it, and lets at most a second of that clock pass
// until it says how it ended.
import { setTimeout as delay } from "node:timers/promises";
import { expect, onTestFinished } from "vitest";
import { type OpenAccess, openOwnAccess } from "../../../../../jobs/service-access.ts";
import { createSessions, WORKER_GRACE_MS as GRACE_MS } from "../../../../../jobs/session.ts";
import { type SyncRequest, syncJob } from "../../../../../jobs/sync.ts";
import { STREAM_NAMES } from "../../../../../src/catalog/streams.ts";
import type { Config } from "../../../../../src/core/config/config.ts";
import { DuckmirrorError, EXIT } from "../../../../../src/core/errors.ts";
import { Secret } from "../../../../../src/core/secret.ts";
import { anOrganization } from "../../../../support/fake-data.ts";
import { startFakeServer } from "../../../../support/fake-server.ts";
import { createFakeService, type FakeAnswer, type FakeService } from "../../../../support/fake-service.ts";
import { configOf as givenConfig } from "../../../../support/given-config.ts";
import { useMirrored } from "../../../../support/mirrored-rig.ts";
import { type StandingClock, standingClock } from "../../../../support/standing-clock.ts";

/** A second signal ends the process in its handler, whatever it waits for; a copy that is published ends by itself. */
export type EndName = "stop" | "budget" | "quota" | "credentials" | "signal" | "time limit" | "fault";

/** Ends of a run that waits with a credit in its hand: its allowance is not spent. */
export const ENDS_WITH_CREDIT = ["stop", "quota", "credentials", "signal", "time limit", "fault"] as const;

/** How far the run's clock moves after its end, ms. */
const AT_ONCE_MS = 1_000;
/** Waits up to this length pass at once: the spacing of requests, a look at Redis. */
export const SHORT_MS = 150;
const TICK_MS = 20;
const STUCK_MS = 60_000;
/** Like no other wait, so that the clock can tell it. */
export const TIME_LIMIT_MS = 123_456_789;
export const TOKEN = new Secret("test-token");
export const FAST = { DUCKMIRROR_RATE_LIMIT: "100000" };

export const refused = (status: number, headers: Record<string, string> = {}): FakeAnswer => ({
  status,
  headers,
  body: { error: { message: "refused" } },
});

export const configOf = (url: string, dataDir: string, env: Record<string, string>): Config =>
  givenConfig(null, {
    DUCKMIRROR_BASE_URL: url,
    DUCKMIRROR_TOKEN: "test-token",
    DUCKMIRROR_DATA_DIR: dataDir,
    ...env,
  });

export const service = (): FakeService => createFakeService(anOrganization(2), { maxPerPage: 25 });

/** A mirror that is complete, so that the next full sync asks for several lists at once. Call it once per file. */
export const useCompleteMirror = (): (() => Promise<string>) => {
  const startMirrored = useMirrored(service);
  return async () => (await startMirrored()).rig.dataDir;
};

export const deferred = () => {
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
};

/** What a run is brought into its wait with. */
export interface Stage {
  readonly clock: StandingClock;
  readonly config: Config;
  readonly connect: OpenAccess;
  /** Resolves once the run waits. The held request is on the wire then, unanswered. */
  waits(): Promise<void>;
  /** Its clock goes on until it waits: shared limits let the held request wait a little, too. */
  readonly goesOn?: boolean;
  /** Requests that another process may send before it hears of the end; unset: none. */
  readonly mayFollow?: number;
}

export interface Place {
  readonly clock: StandingClock;
  readonly url: string;
  readonly dataDir: string;
  /** The held request has reached the service. */
  readonly arrived: Promise<void>;
  /**
   * The first request is answered with these headers, so that more may follow, and the second one is held. Otherwise the
   * first is held.
   */
  answerFirst(headers?: Readonly<Record<string, string>>): void;
  /** How every request after the held one is answered. */
  answerOthers(answer: FakeAnswer): void;
}

export type Enter = (place: Place) => Promise<Stage>;

/** Headers of the first answer, and how all requests after the held one are answered. */
interface Said {
  readonly headers: Readonly<Record<string, string>>;
  readonly others: FakeAnswer;
}

/** In one process, with this environment; it waits once a wait of this length stands. */
export const alone =
  (env: Record<string, string>, isIt: (ms: number) => boolean, said: Partial<Said> = {}): Enter =>
  async ({ clock, url, dataDir, arrived, answerFirst, answerOthers }) => {
    answerFirst(said.headers);
    const { others } = said;
    if (others !== undefined) answerOthers(others);
    return {
      clock,
      config: configOf(url, dataDir, env),
      connect: openOwnAccess,
      waits: () => arrived.then(() => clock.stands(isIt)),
    };
  };

/** Resolves when all that needs no timer has happened. */
export const allIsAsked = async (): Promise<void> => {
  for (let turns = 0; turns < 200; turns++) await new Promise((resolve) => setImmediate(resolve));
};

const CODES: Readonly<Partial<Record<EndName, number>>> = {
  stop: EXIT.interrupted,
  signal: EXIT.interrupted,
  quota: EXIT.budget,
  credentials: EXIT.credentials,
  "time limit": EXIT.budget,
  budget: EXIT.budget,
};

export const contextOf = (clock: StandingClock) => ({
  clock,
  random: () => 0.99,
  emit: () => undefined,
  version: "0.0.0",
  token: TOKEN,
  graceMs: GRACE_MS,
});

/** Nothing but time could end what still waits: says so long before the test's own limit. */
const stuck = async (clock: StandingClock, until: string): Promise<never> => {
  const late = new AbortController();
  onTestFinished(() => late.abort());
  await delay(STUCK_MS, undefined, { signal: late.signal, ref: false });
  throw new Error(`${until}: still waits for ${clock.standing().join(", ")} ms`);
};

/**
 * Lets a second of waiting pass, little by little, until the run is over. While it works, its clock stands: a busy machine
 * takes none of that second.
 */
const letASecondPass = (clock: StandingClock): (() => void) => {
  let passed = 0;
  const ticking = setInterval(() => {
    if (passed >= AT_ONCE_MS || !clock.standing().some((ms) => ms <= AT_ONCE_MS)) return;
    clock.pass(TICK_MS);
    passed += TICK_MS;
  }, TICK_MS);
  return () => clearInterval(ticking);
};

/** A service that holds one request until the test says how to answer it. */
const heldService = async () => {
  const source = service();
  const answers: { held?: FakeAnswer | undefined; others?: FakeAnswer } = {};
  let held: string | null = null;
  let firstHeaders: Readonly<Record<string, string>> | undefined;
  const arrived = deferred();
  const released = deferred();
  source.answerInstead(({ path }) => (held === null ? undefined : path === held ? answers.held : answers.others));
  const answer: FakeService["answer"] = (...request) => {
    const plain = source.answer(...request);
    return source.log.length === 1 ? { ...plain, headers: { ...plain.headers, ...firstHeaders } } : plain;
  };
  const server = await startFakeServer({ ...source, answer }, async (path) => {
    if (held !== null) return;
    if (firstHeaders !== undefined && source.log.length === 0) return;
    held = path;
    arrived.resolve();
    await released.promise;
  });
  onTestFinished(() => server.close());
  onTestFinished(() => released.resolve());
  const answerFirst = (headers: Readonly<Record<string, string>> = {}) => {
    firstHeaders = headers;
  };
  return { source, url: server.url, arrived: arrived.promise, release: released.resolve, answers, answerFirst };
};

/** What cuts the way to the service, as a fault of the machine or of duckmirror would. */
const breakable = (connect: OpenAccess) => {
  const fault = new TypeError("the wire is cut");
  let cut = () => {};
  const broken = new Promise<never>((_, reject) => {
    cut = () => reject(fault);
  });
  broken.catch(() => undefined);
  const cuttable: OpenAccess = async (config, context) => {
    const connection = await connect(config, context);
    const { sender } = connection;
    return { ...connection, sender: { ...sender, send: (...order) => Promise.race([sender.send(...order), broken]) } };
  };
  return { fault, cut: () => cut(), connect: cuttable };
};

/** As a worker runs it: cancelled, or stopped, is what its session is left for. */
export const runInSession = async (
  stage: Pick<Stage, "clock" | "config">,
  connect: OpenAccess,
  signal: AbortSignal,
) => {
  const context = { ...contextOf(stage.clock), connect };
  const sessions = createSessions({
    clock: stage.clock,
    most: 1,
    emit: () => undefined,
    run: (config, sync, ends) => syncJob(config, { ...sync, full: true }, { ...context, ...ends }),
  });
  const ask = { syncId: "20261121T000000Z-waits", profile: stage.config, streams: STREAM_NAMES, full: true };
  const runs = await sessions.run({
    ...ask,
    named: false,
    signal,
    leftMs: null,
    readLeftMs: async () => null,
    runMs: null,
  });
  const [last] = runs.slice(-1);
  if (last === undefined) throw new Error("the session made no run");
  return last;
};

/** Runs a sync into its wait, ends it, and measures. `onTheWire`: the wait is for an answer, as long as the grace is. */
export const runPair = async (dataDir: string, enter: Enter, end: EndName, onTheWire = false): Promise<void> => {
  const clock = standingClock(SHORT_MS);
  const { source, url, arrived, release, answers, answerFirst } = await heldService();
  const answerOthers = (answer: FakeAnswer) => {
    answers.others = answer;
  };
  const stage = await enter({ clock, url, dataDir, arrived, answerFirst, answerOthers });
  const { fault, cut, connect } = breakable(stage.connect);
  const signal = new AbortController();
  const request: SyncRequest = {
    streams: [],
    full: true,
    maxDurationMs: end === "time limit" ? TIME_LIMIT_MS : null,
    allowMassDelete: false,
  };
  const running =
    end === "stop"
      ? runInSession(stage, connect, signal.signal)
      : syncJob(stage.config, request, { ...contextOf(clock), connect, signal: signal.signal });
  const ended = running.then(
    ({ error }) => error,
    (error: unknown) => error,
  );
  const byItself = ended.then((error) => Promise.reject(error ?? new Error("it ended by itself")));
  const going = stage.goesOn === true ? setInterval(() => clock.pass(TICK_MS), 5) : undefined;
  onTestFinished(() => clearInterval(going));
  await Promise.race([stage.waits(), byItself, stuck(clock, "before its wait")]);
  clearInterval(going);
  const sentBefore = source.log.length;

  switch (end) {
    case "stop":
    case "signal":
      signal.abort(new DuckmirrorError("INTERRUPTED"));
      break;
    case "quota":
      answers.held = refused(429, { "retry-after": "10800" });
      break;
    case "budget":
      answers.held = undefined;
      break;
    case "credentials":
      answers.held = refused(401);
      break;
    case "time limit":
      clock.over(TIME_LIMIT_MS);
      break;
    case "fault":
      cut();
      break;
    default:
      end satisfies never;
  }
  if (onTheWire) {
    await clock.stands((ms) => ms === GRACE_MS);
    clock.over(GRACE_MS);
  } else release();
  const over = letASecondPass(clock);
  const error = await Promise.race([ended, stuck(clock, "after its end")]);
  over();
  if (end === "fault") expect(error).toBe(fault);
  else expect(error).toMatchObject({ exitCode: CODES[end] });
  // The held one was on the wire; nothing follows that knows of the end.
  expect(source.log.length - sentBefore).toBeLessThanOrEqual(1 + (stage.mayFollow ?? 0));
};

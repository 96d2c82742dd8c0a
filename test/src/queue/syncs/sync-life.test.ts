// Thousands of histories of a sync with kills, stops, freezes, lost locks, a Redis that is away or emptied, and cancels, under
// virtual time. Every sync that is requested ends, with one result, and it is true.

import { expect, test } from "vitest";
import { createManualClock } from "../../../../bench/rates/manual-clock.ts";
import { untilEnded } from "../../../../src/cli/worker/await-sync.ts";
import { isCode } from "../../../../src/core/errors.ts";
import type { RequestedState, RequestedSync, TriggerRequest } from "../../../../src/core/report/triggers.ts";
import { payloadOf } from "../../../../src/queue/requests/sync-requests.ts";
import { seededRandom } from "../../../support/chance.ts";
import { configOf } from "../../../support/given-config.ts";
import { SimQueue } from "./simulated-queue.ts";
import { type SimMirror, SimWorker } from "./simulated-worker.ts";

const HISTORIES = Number(process.env.DUCKMIRROR_LIFE_HISTORIES ?? "60");
const FIRST_SEED = Number(process.env.DUCKMIRROR_LIFE_SEED ?? "1");
/** After the last fault every sync ends within this time, ms. */
const DEADLINE_MS = 600_000;

const configWith = (timeout: string) =>
  configOf(null, { DUCKMIRROR_DATA_DIR: "/mirror", DUCKMIRROR_SYNC_TIMEOUT: timeout });
/** Of every third history. */
const SYNC_TIMEOUT_MS = 12_000;
/** A worker that is frozen at the deadline, or has lost Redis, ends late. */
const LATE_AT_MOST_MS = 60_000 + 1_000;
const ASKS = [[], ["accounts"], ["accounts", "account_insights"], ["signals", "contacts"]];

interface Client {
  readonly askedAt: number;
  endedAt: number;
  readonly ask: TriggerRequest;
  /** Ids it followed. */
  readonly runs: Set<string>;
  /** `waited`: its time was over, and the sync goes on. */
  end: RequestedSync | "away" | "waited" | null;
}

/** Everything that goes wrong in one history, and how often. */
const COUNTED = {
  asks: 0,
  kills: 0,
  stops: 0,
  freezes: 0,
  lostLocks: 0,
  absences: 0,
  amnesias: 0,
  cancels: 0,
  timeouts: 0,
};

const aHistory = async (seed: number) => {
  const random = seededRandom(seed);
  const config = configWith(seed % 3 === 0 ? `${SYNC_TIMEOUT_MS}ms` : "none");
  const clock = createManualClock();
  const queue = new SimQueue(clock, random);
  const mirror: SimMirror = { writer: null, runs: [], reads: [], faulty: new Set() };
  const world = { clock, random, queue, mirror, config };
  let born = 0;
  const aWorker = () => new SimWorker(`worker-${++born}`, world);
  const workers = [aWorker(), aWorker()];
  const clients: Client[] = [];
  const cancelled = new Set<string>();
  let emptied = false;
  /** State of each sync when it was last read. */
  const seen = new Map<string, RequestedState>();
  const pick = <T>(items: readonly T[]): T | undefined => items[Math.floor(random() * items.length)];

  const ask = async () => {
    COUNTED.asks += 1;
    const timeoutMs = random() < 0.3 ? Math.round(1_000 + random() * 60_000) : null;
    if (timeoutMs !== null) COUNTED.timeouts += 1;
    const streams = pick(ASKS) ?? [];
    const asked: TriggerRequest = { streams, full: false, profile: null, idempotencyKey: `key ${random()}`, timeoutMs };
    const client: Client = { askedAt: clock.now(), endedAt: 0, ask: asked, runs: new Set(), end: null };
    const triggers = queue.triggers(config);
    const following = {
      ...triggers,
      find: async (runId: string) => {
        client.runs.add(runId);
        return triggers.find(runId);
      },
    };
    try {
      const { runId } = await triggers.start(asked);
      clients.push(client);
      const waiting = { triggers: following, clock, signal: new AbortController().signal, timeoutMs };
      client.end = await untilEnded(runId, asked, waiting);
    } catch (error) {
      if (!isCode(error, "REDIS_UNAVAILABLE") && !isCode(error, "WAIT_SPENT")) throw error;
      client.end = error.code === "WAIT_SPENT" ? "waited" : "away";
    }
    client.endedAt = clock.now();
  };
  const replace = (nth: number) => {
    workers[nth] = aWorker();
  };
  const nth = () => Math.floor(random() * workers.length);
  const faults: (() => unknown)[] = [
    () => void ask(),
    () => void ask(),
    () => {
      COUNTED.kills += 1;
      const which = nth();
      workers[which]?.kill();
      replace(which);
    },
    () => {
      COUNTED.stops += 1;
      const which = nth();
      workers[which]?.stop();
      replace(which);
    },
    () => {
      COUNTED.freezes += 1;
      const worker = workers[nth()];
      if (worker !== undefined) worker.frozenUntil = clock.now() + random() * 40_000;
    },
    () => {
      COUNTED.lostLocks += 1;
      for (const job of queue.jobs.values()) if (random() < 0.5) job.lockedUntil = 0;
      queue.findStalled();
    },
    async () => {
      COUNTED.absences += 1;
      queue.away = true;
      await clock.sleep(random() < 0.3 ? 75_000 : random() * 40_000);
      queue.away = false;
    },
    () => {
      if (random() < 0.5) return;
      COUNTED.amnesias += 1;
      emptied = true;
      queue.wipe();
      seen.clear();
    },
    () => {
      const runId = pick([...queue.syncs.keys()]);
      if (runId === undefined || queue.away || !queue.isLive(runId)) return;
      COUNTED.cancels += 1;
      cancelled.add(runId);
      queue.marks.add(`cancelled ${runId}`);
    },
  ];

  /** A sync never goes back: neither from its end, nor from a run to waiting. */
  const look = () => {
    const rank = (state: RequestedState | undefined) =>
      state === undefined || state === "queued" ? 0 : state === "running" ? 1 : 2;
    for (const syncId of queue.syncs.keys()) {
      const state = queue.isLive(syncId) ? queue.stateOf(syncId) : "done";
      const before = seen.get(syncId);
      if (rank(state) < rank(before)) throw new Error(`${syncId} went from ${before} to ${state}`);
      seen.set(syncId, state);
    }
  };

  void ask();
  for (let event = 0; event < 12; event += 1) {
    await clock.advance(random() * 12_000);
    void pick(faults)?.();
    look();
  }
  await clock.advance(80_000);
  queue.away = false;
  const calmAt = clock.now();
  while (clients.some(({ end }) => end === null) && clock.now() - calmAt < DEADLINE_MS) {
    await clock.advance(1_000);
    look();
  }
  for (const worker of workers) worker.kill();
  return { clients, mirror, config, cancelled, emptied, endedAfterMs: clock.now() - calmAt };
};

const check = ({ clients, mirror, config, cancelled }: Awaited<ReturnType<typeof aHistory>>) => {
  for (const { end, ask, askedAt, endedAt, runs } of clients) {
    expect(end).not.toBeNull();
    const timeoutMs = ask.timeoutMs ?? null;
    if (timeoutMs !== null) expect(endedAt - askedAt).toBeLessThanOrEqual(timeoutMs + LATE_AT_MOST_MS);
    if (end === "waited") expect(endedAt - askedAt).toBeGreaterThanOrEqual(timeoutMs ?? Number.POSITIVE_INFINITY);
    if (end === null || end === "away" || end === "waited") continue;
    const followed = [...runs];
    switch (end.state) {
      case "done": {
        const { streams } = payloadOf(ask, config, 0, () => 0);
        // Every stream was read, by a run that began after the ask.
        const read = mirror.reads.filter(({ begunAt }) => begunAt >= askedAt).map(({ stream }) => stream);
        expect(read).toEqual(expect.arrayContaining([...streams]));
        break;
      }
      case "cancelled":
        expect(followed.some((runId) => cancelled.has(runId))).toBe(true);
        break;
      case "stopped": {
        // The deadline of the ask or that of the profile was over, and not before.
        expect(end.error?.code).toBe("DURATION_SPENT");
        const limits = [timeoutMs, config.syncTimeoutMs].filter((limit) => limit !== null);
        expect(endedAt - askedAt).toBeGreaterThanOrEqual(Math.min(...limits));
        break;
      }
      case "partial":
        expect(followed.some((runId) => mirror.faulty.has(runId))).toBe(true);
        break;
      default:
        throw new Error(`a sync ended as ${end.state}: ${JSON.stringify(end.error)}`);
    }
  }
};

test(`${HISTORIES} histories: every sync asked for ends with one true result, in time`, async () => {
  let slowest = 0;
  const ends = new Map<string, number>();
  for (let seed = FIRST_SEED; seed < FIRST_SEED + HISTORIES; seed += 1) {
    try {
      const history = await aHistory(seed);
      check(history);
      slowest = Math.max(slowest, history.endedAfterMs);
      for (const { end } of history.clients) {
        const state = typeof end === "string" ? end : (end?.state ?? "none");
        ends.set(state, (ends.get(state) ?? 0) + 1);
      }
    } catch (error) {
      throw new Error(`seed ${seed} (DUCKMIRROR_LIFE_SEED=${seed} DUCKMIRROR_LIFE_HISTORIES=1)`, { cause: error });
    }
  }
  const figures = { histories: HISTORIES, ...COUNTED, ends: Object.fromEntries(ends), slowestMs: slowest };
  process.stdout.write(`${JSON.stringify(figures)}\n`);
});

// Waiting for the end of a sync that was asked for, even if Redis forgets it or the worker goes away meanwhile.
import { once } from "node:events";
import { createServer } from "node:http";
import { describe, expect, test } from "vitest";
import { createManualClock } from "../../../../../bench/rates/manual-clock.ts";
import { untilEnded } from "../../../../../src/cli/worker/asking/await-sync.ts";
import { DuckmirrorError } from "../../../../../src/core/errors.ts";
import type { AskedSync, SyncAsk } from "../../../../../src/core/report/triggers.ts";
import type { Triggers } from "../../../../../src/queue/asking/asks.ts";
import { cli } from "../../../../support/cli.ts";

const ask: SyncAsk = { streams: [], full: false, profile: null, idempotencyKey: "k" };
const aSync = (runId: string, state: AskedSync["state"]): AskedSync => ({
  runId,
  state,
  profile: "default",
  askedAt: 0,
  report: null,
  error: null,
});

type Answer = AskedSync | null | Error;

/** Triggers that answer `find` with these, in turn; the last one for ever. */
const aRig = (answers: Answer[], timeoutMs: number | null = null) => {
  const clock = createManualClock();
  const asked: SyncAsk[] = [];
  const looked: string[] = [];
  const triggers: Triggers = {
    start: async (again) => {
      asked.push(again);
      return { runId: `again-${asked.length}`, joined: false };
    },
    find: async (runId) => {
      looked.push(runId);
      const answer = answers.length > 1 ? answers.shift() : answers[0];
      if (answer instanceof Error) throw answer;
      return answer ?? null;
    },
    cancel: async () => false,
    active: async () => [],
  };
  const end = new AbortController();
  const result = untilEnded("run-1", ask, { triggers, clock, signal: end.signal, timeoutMs });
  result.catch(() => undefined);
  return { clock, asked, looked, end, result };
};

const AWAY = new DuckmirrorError("REDIS_UNAVAILABLE", { address: "x", detail: "y" });

describe("waiting for a sync", () => {
  test("ends when it has ended", async () => {
    const { clock, result, asked } = aRig([
      aSync("run-1", "queued"),
      aSync("run-1", "running"),
      aSync("run-1", "partial"),
    ]);
    await clock.advance(1_000);
    expect((await result).state).toBe("partial");
    expect(asked).toEqual([]);
  });

  test("asks again, with the same key, when everybody has forgotten it", async () => {
    const { clock, result, asked, looked } = aRig([aSync("run-1", "running"), null, aSync("again-1", "done")]);
    await clock.advance(1_000);
    expect((await result).runId).toBe("again-1");
    expect(asked).toEqual([ask]);
    expect(looked).toEqual(["run-1", "run-1", "again-1"]);
  });

  test("outlasts a minute without Redis, and no longer", async () => {
    const patient = aRig([...Array.from({ length: 100 }, () => AWAY), aSync("run-1", "done")]);
    await patient.clock.advance(50_000);
    expect((await patient.result).state).toBe("done");
    const spent = aRig([AWAY]);
    await spent.clock.advance(61_000);
    await expect(spent.result).rejects.toMatchObject({ code: "REDIS_UNAVAILABLE" });
  });

  test("ends with exit code 4 when its time is over, and the sync goes on", async () => {
    const { clock, result } = aRig([aSync("run-1", "running")], 1_200);
    await clock.advance(1_200);
    await expect(result).rejects.toMatchObject({ code: "WAIT_SPENT", exitCode: 4 });
  });

  test("outlasts the deadline of a sync that ends by it, and ends with what it says", async () => {
    const late = { ...aSync("run-1", "running"), dueAt: 1_000_000 + 1_200 };
    const answers = [...Array.from({ length: 10 }, () => late), aSync("run-1", "stopped")];
    const { clock, result } = aRig(answers, 1_200);
    await clock.advance(6_000);
    expect((await result).state).toBe("stopped");
    const never = aRig([late], 1_200);
    await never.clock.advance(62_000);
    await expect(never.result).rejects.toMatchObject({ code: "WAIT_SPENT", exitCode: 4 });
  });

  test("that is asked for again has what is left of the time", async () => {
    const { clock, result, asked } = aRig([aSync("run-1", "running"), null, aSync("again-1", "done")], 10_000);
    await clock.advance(1_500);
    await result;
    // Another key, because the same one with another time limit would be refused.
    expect(asked).toEqual([{ ...ask, timeoutMs: 9_500, idempotencyKey: "k again run-1" }]);
  });

  test("ends when it is interrupted", async () => {
    const { clock, end, result } = aRig([aSync("run-1", "running")]);
    await clock.advance(600);
    end.abort(new DuckmirrorError("INTERRUPTED"));
    await expect(result).rejects.toMatchObject({ code: "INTERRUPTED" });
    expect(clock.sleeping()).toBe(0);
  });
});

test("--timeout wants a duration", async () => {
  const env = { DUCKMIRROR_BASE_URL: "https://api.example" };
  expect((await cli(["trigger", "--timeout", "0s"], { env })).err).toContain('"0s" is not a duration');
  expect((await cli(["trigger", "--wait", "--timeout", "soon"], { env })).err).toContain('"soon" is not a duration');
});

test("a stream that does not exist is refused although no worker is there to ask", async () => {
  const env = { DUCKMIRROR_BASE_URL: "https://api.example", DUCKMIRROR_LISTEN: "127.0.0.1:1" };
  const { code, err } = await cli(["trigger", "signal"], { env });
  expect([code, err]).toEqual([2, expect.stringContaining("signal is not a stream. Did you mean signals?")]);
});

test("a wrong server key ends with exit code 3 and says which setting to correct", async () => {
  const server = createServer((_, response) => void response.end('{"salt":"a","proofs":[]}'));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    const address = server.address();
    if (address === null || typeof address === "string") throw new TypeError("no port");
    const listen = `127.0.0.1:${address.port}`;
    const env = {
      DUCKMIRROR_BASE_URL: "https://api.example",
      DUCKMIRROR_LISTEN: listen,
      DUCKMIRROR_SERVER_KEY: "a-key-that-is-not-the-one-of-the-worker",
    };
    const { code, err } = await cli(["trigger"], { env });
    expect(code).toBe(3);
    expect(err).toContain(`The worker at ${listen} refuses the server key: what listens there did not prove`);
    expect(err).toContain("DUCKMIRROR_SERVER_KEY_FILE");
    expect(err).toContain("`trigger` and `jobs --cancel` the role operate");
  } finally {
    server.close();
  }
});

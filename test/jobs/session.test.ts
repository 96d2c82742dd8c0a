// Sessions without queue and engine: which run waits for another, what is run again, and what ends a run.

import { describe, expect, test } from "vitest";
import { createManualClock, settled } from "../../bench/rates/manual-clock.ts";
import { createSessions, type SyncRunRequest } from "../../jobs/session.ts";
import type { SyncRequest } from "../../jobs/sync.ts";
import type { StreamName } from "../../src/catalog/streams.ts";
import { DuckmirrorError } from "../../src/core/errors.ts";
import type { RunStatus, StreamStatus } from "../../src/core/report/sync-report.ts";
import type { SyncResult } from "../../src/sync/run/run-sync.ts";
import { configOf } from "../support/given-config.ts";
import { aReport } from "../support/reports.ts";

const configIn = (dir: string) => configOf(null, { DUCKMIRROR_DATA_DIR: dir });

interface Started {
  readonly request: SyncRequest;
  readonly dir: string;
  readonly signal: AbortSignal;
  readonly hardSignal: AbortSignal;
  end(status?: RunStatus, streams?: StreamStatus, error?: DuckmirrorError): Promise<void>;
  fail(error: Error): Promise<void>;
}

const aRig = (most = 8) => {
  const clock = createManualClock();
  const started: Started[] = [];
  const said: string[] = [];
  const sessions = createSessions({
    clock,
    most,
    emit: () => undefined,
    onStart: async (syncId) => void said.push(`start ${syncId}`),
    run: (profile, request, { signal, hardSignal }) =>
      new Promise<SyncResult>((resolve, reject) => {
        started.push({
          request,
          dir: profile.dataDir,
          signal,
          hardSignal,
          end: async (status = "done", streams = "done", error) => {
            const report = aReport({ run_id: `run-${started.length}`, status, streams: [...request.streams] }, streams);
            resolve({ report, error: error ?? null });
            await settled();
          },
          fail: async (error) => {
            reject(error);
            await settled();
          },
        });
      }),
  });
  const run = (streams: readonly StreamName[], more: Partial<SyncRunRequest> = {}, profile = "acme") =>
    sessions.run({
      syncId: "s1",
      profile: configIn(`/data/${profile}`),
      streams,
      full: false,
      named: false,
      signal: new AbortController().signal,
      leftMs: null,
      readLeftMs: async () => (more.leftMs == null ? null : 0),
      runMs: null,
      ...more,
    });
  /** A run that has started; `leave`: its signal. */
  const begun = async (more: Partial<SyncRunRequest> = {}) => {
    const leaving = new AbortController();
    const result = run(["accounts"], { signal: leaving.signal, ...more });
    result.catch(() => undefined);
    await settled();
    return { result, leave: () => leaving.abort() };
  };
  /** A run from its start to this end. */
  const whole = async (...end: Parameters<Started["end"]>) => {
    const { result } = await begun();
    await started.at(-1)?.end(...end);
    return result;
  };
  return { clock, started, said, run, begun, whole };
};

const streamsOf = (results: readonly SyncResult[]) =>
  results.flatMap(({ report }) => report.streams.map(({ stream }) => stream));

describe("a sync", () => {
  test("is one run of all of its streams, which nobody joins once it has started", async () => {
    const { started, said, run } = aRig();
    const both = run(["accounts", "contacts"], { full: true });
    await settled();
    expect(said).toEqual(["start s1"]);
    expect(started.map(({ request }) => request)).toEqual([
      expect.objectContaining({ runId: "s1", streams: ["accounts", "contacts"], full: true, named: false }),
    ]);
    await started[0]?.end();
    expect(streamsOf(await both)).toEqual(["accounts", "contacts"]);
  });

  test("delivered again gets the result that the queue did not receive, without another run", async () => {
    const { started, run, whole } = aRig();
    await whole();
    expect(streamsOf(await run(["accounts"]))).toEqual(["accounts"]);
    expect(started).toHaveLength(1);
  });

  test("delivered again after an interruption, or after Redis broke its run off, runs again", async () => {
    const { started, begun, whole } = aRig();
    const first = await begun();
    first.leave();
    await started[0]?.end("interrupted", "interrupted");
    expect((await first.result)[0]?.report.status).toBe("interrupted");
    await whole("failed", "failed", new DuckmirrorError("REDIS_UNAVAILABLE", { address: "x", detail: "y" }));
    expect((await whole()).map(({ report }) => report.status)).toEqual(["interrupted", "failed", "done"]);
  });

  test("delivered again while its run is being broken off waits until the directory is free", async () => {
    const { started, run, begun } = aRig();
    const first = await begun();
    first.leave();
    await expect(run(["accounts"])).rejects.toMatchObject({ code: "WRITER_BUSY" });
    await started[0]?.end("interrupted", "interrupted");
    await first.result;
  });

  test("passes a fault of its run on, and the next one may try again", async () => {
    const { started, begun, whole } = aRig();
    const { result } = await begun();
    await started[0]?.fail(new Error("disk"));
    await expect(result).rejects.toThrow("disk");
    expect(streamsOf(await whole())).toEqual(["accounts"]);
  });

  test("that is ended ends cleanly, and breaks off what is in flight a grace later", async () => {
    const { clock, started, begun } = aRig();
    const { result, leave } = await begun();
    leave();
    expect([started[0]?.signal.aborted, started[0]?.hardSignal.aborted]).toEqual([true, false]);
    await clock.advance(6_000);
    expect(started[0]?.hardSignal.aborted).toBe(true);
    await started[0]?.end("interrupted", "interrupted");
    await result;
    expect(clock.sleeping()).toBe(0);
  });

  test("that is ended before its run started starts none", async () => {
    const { started, run } = aRig();
    const leaving = new AbortController();
    const ended = run(["accounts"], { signal: leaving.signal });
    leaving.abort();
    await expect(ended).rejects.toMatchObject({ code: "INTERRUPTED" });
    expect(started).toHaveLength(0);
  });
});

describe("syncs of", () => {
  test("one data directory never overlap: the second fails because the writer is busy", async () => {
    const { started, run } = aRig();
    const first = run(["accounts"]);
    const second = run(["accounts"], { syncId: "s2" });
    await expect(second).rejects.toMatchObject({ code: "WRITER_BUSY" });
    await settled();
    await started[0]?.end();
    await first;
  });

  test("several profiles run side by side, up to the most that is wanted, the rest in turn", async () => {
    const { started, run } = aRig(2);
    const runs = ["a", "b", "c"].map((name) => run(["accounts"], { syncId: name }, name));
    await settled();
    expect(started.map(({ dir }) => dir)).toEqual(["/data/a", "/data/b"]);
    await started[0]?.end();
    await settled();
    expect(started.map(({ dir }) => dir)).toEqual(["/data/a", "/data/b", "/data/c"]);
    await started[1]?.end();
    await started[2]?.end();
    await Promise.all(runs);
  });
});

describe("a deadline", () => {
  test("ends the wait for a place, and nothing starts", async () => {
    const { clock, started, run } = aRig(1);
    void run(["accounts"], {}, "first");
    await settled();
    const waiting = run(["accounts"], { syncId: "s2", leftMs: 1_000 });
    waiting.catch(() => undefined);
    await clock.advance(1_000);
    await expect(waiting).rejects.toMatchObject({ code: "DURATION_SPENT" });
    expect(started).toHaveLength(1);
    await started[0]?.end();
  });

  test("of the run counts from its start, ends it with that reason, and breaks it off after a grace", async () => {
    const { clock, started, run } = aRig(1);
    void run(["accounts"], {}, "first");
    const result = run(["accounts"], { syncId: "s2", runMs: 1_000 });
    await clock.advance(5_000);
    expect(started).toHaveLength(1);
    await started[0]?.end();
    await clock.advance(999);
    expect(started[1]?.signal.aborted).toBe(false);
    await clock.advance(1);
    expect(started[1]?.signal.reason).toMatchObject({ code: "DURATION_SPENT" });
    await clock.advance(6_000);
    expect(started[1]?.hardSignal.aborted).toBe(true);
    await started[1]?.end("stopped", "stopped", new DuckmirrorError("DURATION_SPENT"));
    expect((await result)[0]?.report.status).toBe("stopped");
    // It has said how it ended: nothing is run again, though its time is over.
    expect((await run(["accounts"], { syncId: "s2", leftMs: -1 }))[0]?.report.status).toBe("stopped");
  });

  test.each([
    ["is away", () => Promise.reject(new Error("Redis is away"))],
    ["does not answer", () => new Promise<never>(() => undefined)],
  ])("that cannot be read again because Redis %s ends the sync within a second", async (_, readLeftMs) => {
    const { clock, started, run } = aRig();
    const result = run(["accounts"], { leftMs: 1_000, readLeftMs });
    await clock.advance(2_000);
    expect(started[0]?.signal.reason).toMatchObject({ code: "DURATION_SPENT" });
    await started[0]?.end("stopped", "stopped");
    await result;
  });

  test("that was lifted ends nothing", async () => {
    const { clock, started, run } = aRig();
    const result = run(["accounts"], { leftMs: 1_000, readLeftMs: async () => null });
    await clock.advance(10_000);
    expect(started[0]?.signal.aborted).toBe(false);
    await started[0]?.end();
    await result;
  });

  test("that another request extends while the sync waits for its place counts from then on", async () => {
    const { clock, started, run } = aRig(1);
    void run(["accounts"], { syncId: "other" }, "other");
    const left = [20_000, 15_000, 0];
    const late = run(["accounts"], { leftMs: 10_000, readLeftMs: async () => left.shift() ?? null });
    await clock.advance(12_000);
    await started[0]?.end();
    await clock.advance(17_000);
    expect(started[1]?.signal.aborted).toBe(false);
    await clock.advance(20_000);
    expect(started[1]?.signal.reason).toMatchObject({ code: "DURATION_SPENT" });
    await started[1]?.end("stopped", "stopped");
    expect(streamsOf(await late)).toEqual(["accounts"]);
  });
});

// Sessions without queue and engine: which jobs share a run, which wait for one, and who ends it.
import { describe, expect, test } from "vitest";
import { createSessions, type SessionAsk } from "../../jobs/session.ts";
import type { SyncRequest } from "../../jobs/sync.ts";
import type { StreamName } from "../../src/catalog/streams.ts";
import { vocabulary } from "../../src/catalog/vocabulary.ts";
import { resolveConfig } from "../../src/core/config/config.ts";
import { DuckmirrorError, isCode } from "../../src/core/errors.ts";
import type { RunStatus, StreamStatus } from "../../src/core/report/sync-report.ts";
import type { SyncResult } from "../../src/sync/run/run-sync.ts";
import { createManualClock, settled } from "../src/budget/manual-clock.ts";
import { aReport } from "../support/reports.ts";

const configIn = (dir: string) =>
  resolveConfig({
    flags: { data_dir: dir },
    env: {},
    file: null,
    cwd: "/",
    vocabulary: vocabulary(),
  });

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
    graceMs: 6_000,
    emit: () => undefined,
    onStart: async (syncId) => void said.push(`start ${syncId}`),
    onEnd: async (syncId, { report }) => void said.push(`end ${syncId} ${report.status}`),
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
  /** A job of a sync of accounts and contacts. */
  const join = (streams: readonly StreamName[], more: Partial<SessionAsk> = {}, profile = "acme") =>
    sessions.join({
      syncId: "s1",
      profile: configIn(`/data/${profile}`),
      streams,
      open: async () => ["accounts", "contacts"],
      full: false,
      named: false,
      signal: new AbortController().signal,
      leftMs: null,
      readLeftMs: async () => (more.leftMs == null ? null : 0),
      runMs: null,
      ...more,
    });
  return { clock, started, said, sessions, join };
};

const streamsOf = (results: readonly SyncResult[]) =>
  results.flatMap(({ report }) => report.streams.map(({ stream }) => stream));

describe("jobs of one sync", () => {
  test("share one run of all that is open, and each gets its own streams", async () => {
    const { started, join } = aRig();
    const accounts = join(["accounts"], { full: true });
    const contacts = join(["contacts"], { full: true });
    await settled();
    const late = join(["contacts"], { full: true });
    expect(started.map(({ request }) => request)).toEqual([
      expect.objectContaining({ runId: "s1", streams: ["accounts", "contacts"], full: true, named: false }),
    ]);
    await started[0]?.end();
    expect([streamsOf(await accounts), streamsOf(await contacts)]).toEqual([["accounts"], ["contacts"]]);
    expect(streamsOf(await late)).toEqual(["contacts"]);
  });

  test("are done by the run of the one that comes, also those that another worker has", async () => {
    const { started, join } = aRig();
    const accounts = join(["accounts"]);
    await settled();
    expect(started.map(({ request }) => request.streams)).toEqual([["accounts", "contacts"]]);
    await started[0]?.end();
    expect(streamsOf(await accounts)).toEqual(["accounts"]);
  });

  test("that the run under way does not do get a run of their own after it", async () => {
    const { started, join } = aRig();
    const accounts = join(["accounts"], { open: async () => ["accounts"] });
    await settled();
    const contacts = join(["contacts"], { open: async () => ["contacts"] });
    await settled();
    expect(started).toHaveLength(1);
    await started[0]?.end();
    await settled();
    expect(started.map(({ request }) => request.streams)).toEqual([["accounts"], ["contacts"]]);
    await started[1]?.end();
    expect([streamsOf(await accounts), streamsOf(await contacts)]).toEqual([["accounts"], ["contacts"]]);
  });

  test("delivered a second time after the run get its result, without another run", async () => {
    const { started, join } = aRig();
    const first = join(["accounts"]);
    await settled();
    const again = join(["accounts"]);
    await started[0]?.end();
    expect([streamsOf(await first), streamsOf(await again)]).toEqual([["accounts"], ["accounts"]]);
    expect(started).toHaveLength(1);
  });

  test("delivered again run only what an interrupted run left open", async () => {
    const { started, join } = aRig();
    const leaving = new AbortController();
    const signals: Partial<SessionAsk> = { open: async () => ["signals", "signal_counts"] };
    const first = join(["signals", "signal_counts"], { ...signals, signal: leaving.signal });
    await settled();
    leaving.abort();
    await started[0]?.end("interrupted", "interrupted");
    expect((await first)[0]?.report.status).toBe("interrupted");
    const again = join(["signals", "signal_counts"], signals);
    await settled();
    expect(started.map(({ request }) => request.streams)).toEqual([
      ["signals", "signal_counts"],
      ["signals", "signal_counts"],
    ]);
    await started[1]?.end();
    await again;
  });

  test("delivered again after Redis broke their run off run again, instead of reporting that failure", async () => {
    const { started, join } = aRig();
    const first = join(["accounts"]);
    await settled();
    await started[0]?.end("failed", "failed", new DuckmirrorError("REDIS_UNAVAILABLE", { address: "x", detail: "y" }));
    expect((await first)[0]?.error?.code).toBe("REDIS_UNAVAILABLE");
    const again = join(["accounts"]);
    await settled();
    expect(started.map(({ request }) => request.streams)).toEqual([
      ["accounts", "contacts"],
      ["accounts", "contacts"],
    ]);
    await started[1]?.end();
    expect((await again).at(-1)?.report.status).toBe("done");
  });

  test("that come while the run is being broken off wait for its end and run again", async () => {
    const { started, join } = aRig();
    const leaving = new AbortController();
    const first = join(["accounts"], { signal: leaving.signal });
    await settled();
    leaving.abort();
    const second = join(["contacts"]);
    await settled();
    await started[0]?.end("interrupted", "interrupted");
    await first;
    await settled();
    expect(started).toHaveLength(2);
    await started[1]?.end();
    expect(streamsOf(await second)).toEqual(["contacts", "contacts"]);
    expect((await second).map(({ report }) => report.status)).toEqual(["interrupted", "done"]);
  });

  test("may not be joined by other asks once the run starts, and go to others when it has ended", async () => {
    const { started, said, join } = aRig();
    const accounts = join(["accounts"]);
    await settled();
    expect([said, started.length]).toEqual([["start s1"], 1]);
    await started[0]?.end();
    await accounts;
    expect(said).toEqual(["start s1", "end s1 done"]);
  });

  test("all hear of a fault of the run, and the next one may try again", async () => {
    const { started, sessions, join } = aRig();
    const parts = Promise.allSettled([join(["accounts"]), join(["contacts"])]);
    await settled();
    await started[0]?.fail(new Error("disk"));
    expect((await parts).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    await sessions.idle();
    const again = join(["accounts"]);
    await settled();
    await started[1]?.end();
    await again;
  });
});

describe("leaving", () => {
  test("by one part lets the run go on for the others", async () => {
    const { started, join } = aRig();
    const leaving = new AbortController();
    const parts = [join(["accounts"], { signal: leaving.signal }), join(["contacts"])];
    await settled();
    leaving.abort();
    expect(started[0]?.signal.aborted).toBe(false);
    await started[0]?.end();
    await Promise.all(parts);
  });

  test("by all ends the run cleanly, and breaks off what is in flight a grace later", async () => {
    const { clock, started, join } = aRig();
    const leaving = new AbortController();
    const parts = [join(["accounts"], { signal: leaving.signal }), join(["contacts"], { signal: leaving.signal })];
    await settled();
    leaving.abort();
    expect([started[0]?.signal.aborted, started[0]?.hardSignal.aborted]).toEqual([true, false]);
    await clock.advance(6_000);
    expect(started[0]?.hardSignal.aborted).toBe(true);
    await started[0]?.end("interrupted", "interrupted");
    await Promise.all(parts);
    expect(clock.sleeping()).toBe(0);
  });

  test("before the run started means that none starts", async () => {
    const { started, sessions, join } = aRig();
    const leaving = new AbortController();
    const part = join(["accounts"], { signal: leaving.signal });
    leaving.abort();
    await expect(part).rejects.toSatisfy((error) => isCode(error, "INTERRUPTED"));
    await sessions.idle();
    expect(started).toHaveLength(0);
  });
});

describe("syncs of", () => {
  test("one data directory never overlap: the second fails because the writer is busy", async () => {
    const { started, join } = aRig();
    const first = join(["accounts"]);
    const second = join(["accounts"], { syncId: "s2" });
    await expect(second).rejects.toSatisfy((error) => isCode(error, "WRITER_BUSY"));
    await settled();
    await started[0]?.end();
    await first;
  });

  test("several profiles run side by side, up to the most that is wanted, the rest in turn", async () => {
    const { started, join } = aRig(2);
    const runs = ["a", "b", "c"].map((name) => join(["accounts"], { syncId: name }, name));
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
    const { clock, started, join } = aRig(1);
    void join(["accounts"], {}, "first");
    await settled();
    const waiting = join(["accounts"], { syncId: "s2", leftMs: 1_000 });
    waiting.catch(() => undefined);
    await clock.advance(1_000);
    await expect(waiting).rejects.toMatchObject({ code: "DURATION_SPENT" });
    expect(started).toHaveLength(1);
    await started[0]?.end();
  });

  test("of the run counts from its start, ends it with that reason, and breaks it off after a grace", async () => {
    const { clock, started, join } = aRig(1);
    void join(["accounts"], {}, "first");
    const result = join(["accounts"], { syncId: "s2", runMs: 1_000 });
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
    expect((await join(["accounts"], { syncId: "s2", leftMs: -1 }))[0]?.report.status).toBe("stopped");
  });
});

describe("a deadline that is read again", () => {
  test("that another request extends while the sync waits for its place counts from then on", async () => {
    const { clock, started, join } = aRig(1);
    void join(["accounts"], { syncId: "other" }, "other");
    const left = [20_000, 15_000, 0];
    const late = join(["accounts"], { leftMs: 10_000, readLeftMs: async () => left.shift() ?? null });
    await clock.advance(12_000);
    await started[0]?.end();
    await clock.advance(17_000);
    expect(started[1]?.signal.aborted).toBe(false);
    await clock.advance(20_000);
    expect(started[1]?.signal.reason).toMatchObject({ code: "DURATION_SPENT" });
    await started[1]?.end("stopped", "stopped");
    expect(streamsOf(await late)).toEqual(["accounts"]);
  });

  test("that nobody can read again ends the sync all the same", async () => {
    const { clock, started, join } = aRig(1);
    void join(["accounts"], { leftMs: 10_000, readLeftMs: () => new Promise(() => undefined) });
    await clock.advance(10_500);
    expect(started[0]?.signal.aborted).toBe(false);
    await clock.advance(600);
    expect(started[0]?.signal.reason).toMatchObject({ code: "DURATION_SPENT" });
    await started[0]?.end("stopped", "stopped");
  });
});

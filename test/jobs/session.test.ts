// Sessions without queue and engine: which jobs share a run, which wait for one, and who ends it.
import { describe, expect, test } from "vitest";
import { createSessions, type SessionAsk } from "../../jobs/session.ts";
import type { SyncRequest } from "../../jobs/sync.ts";
import type { StreamName } from "../../src/catalog/streams.ts";
import { vocabulary } from "../../src/catalog/vocabulary.ts";
import { resolveConfig } from "../../src/core/config/config.ts";
import { isCode } from "../../src/core/errors.ts";
import type { RunStatus, StreamStatus } from "../../src/core/sync-report.ts";
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
  end(status?: RunStatus, streams?: StreamStatus): Promise<void>;
  fail(error: Error): Promise<void>;
}

const aRig = (most = 8) => {
  const clock = createManualClock();
  const started: Started[] = [];
  const sessions = createSessions({
    clock,
    most,
    gatherMs: 300,
    graceMs: 6_000,
    emit: () => undefined,
    run: (profile, request, { signal, hardSignal }) =>
      new Promise<SyncResult>((resolve, reject) => {
        started.push({
          request,
          dir: profile.dataDir,
          signal,
          hardSignal,
          end: async (status = "done", streams = "done") => {
            const report = aReport({ run_id: `run-${started.length}`, status, streams: [...request.streams] }, streams);
            resolve({ report, error: null });
            await settled();
          },
          fail: async (error) => {
            reject(error);
            await settled();
          },
        });
      }),
  });
  const join = (part: string, streams: readonly StreamName[], more: Partial<SessionAsk> = {}, profile = "acme") =>
    sessions.join({
      syncId: "s1",
      profile: configIn(`/data/${profile}`),
      part,
      streams,
      expected: ["accounts", "contacts"],
      full: false,
      named: false,
      signal: new AbortController().signal,
      ...more,
    });
  return { clock, started, sessions, join };
};

const streamsOf = (result: SyncResult) => result.report.streams.map(({ stream }) => stream);

describe("jobs of one sync", () => {
  test("share one run as soon as all have joined, and each gets its own streams", async () => {
    const { started, join } = aRig();
    const accounts = join("accounts", ["accounts"]);
    const contacts = join("contacts", ["contacts"], { full: true });
    await settled();
    expect(started.map(({ request }) => request)).toEqual([
      expect.objectContaining({ runId: "s1", streams: ["accounts", "contacts"], full: true, named: false }),
    ]);
    await started[0]?.end();
    expect([streamsOf(await accounts), streamsOf(await contacts)]).toEqual([["accounts"], ["contacts"]]);
  });

  test("start without the one that does not come", async () => {
    const { clock, started, join } = aRig();
    const accounts = join("accounts", ["accounts"]);
    await clock.advance(299);
    expect(started).toHaveLength(0);
    await clock.advance(1);
    expect(started.map(({ request }) => request.streams)).toEqual([["accounts"]]);
    await started[0]?.end();
    await accounts;
  });

  test("that come while the run is under way get a run of their own after it", async () => {
    const { clock, started, join } = aRig();
    const accounts = join("accounts", ["accounts"]);
    await clock.advance(300);
    const contacts = join("contacts", ["contacts"]);
    await clock.advance(1_000);
    expect(started).toHaveLength(1);
    await started[0]?.end();
    await clock.advance(300);
    expect(started.map(({ request }) => request.streams)).toEqual([["accounts"], ["contacts"]]);
    await started[1]?.end();
    expect([streamsOf(await accounts), streamsOf(await contacts)]).toEqual([["accounts"], ["contacts"]]);
  });

  test("delivered a second time after the run get its result, without another run", async () => {
    const { started, join } = aRig();
    const first = join("accounts", ["accounts"], { expected: ["accounts"] });
    await settled();
    const again = join("accounts", ["accounts"], { expected: ["accounts"] });
    await started[0]?.end();
    expect([streamsOf(await first), streamsOf(await again)]).toEqual([["accounts"], ["accounts"]]);
    expect(started).toHaveLength(1);
  });

  test("delivered again run only what an interrupted run left open", async () => {
    const { started, join } = aRig();
    const leaving = new AbortController();
    const first = join("signals", ["signals", "signal_counts"], { expected: ["signals"], signal: leaving.signal });
    await settled();
    leaving.abort();
    await started[0]?.end("interrupted", "interrupted");
    expect((await first).report.status).toBe("interrupted");
    const again = join("signals", ["signals", "signal_counts"], { expected: ["signals"] });
    await settled();
    expect(started.map(({ request }) => request.streams)).toEqual([
      ["signals", "signal_counts"],
      ["signals", "signal_counts"],
    ]);
    await started[1]?.end();
    await again;
  });

  test("all hear of a fault of the run, and the next one may try again", async () => {
    const { started, sessions, join } = aRig();
    const parts = Promise.allSettled([join("accounts", ["accounts"]), join("contacts", ["contacts"])]);
    await settled();
    await started[0]?.fail(new Error("disk"));
    expect((await parts).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    await sessions.idle();
    const again = join("accounts", ["accounts"], { expected: ["accounts"] });
    await settled();
    await started[1]?.end();
    await again;
  });
});

describe("leaving", () => {
  test("by one part lets the run go on for the others", async () => {
    const { started, join } = aRig();
    const leaving = new AbortController();
    const parts = [join("accounts", ["accounts"], { signal: leaving.signal }), join("contacts", ["contacts"])];
    await settled();
    leaving.abort();
    expect(started[0]?.signal.aborted).toBe(false);
    await started[0]?.end();
    await Promise.all(parts);
  });

  test("by all ends the run cleanly, and breaks off what is in flight a grace later", async () => {
    const { clock, started, join } = aRig();
    const leaving = new AbortController();
    const parts = [
      join("accounts", ["accounts"], { signal: leaving.signal }),
      join("contacts", ["contacts"], { signal: leaving.signal }),
    ];
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
    const part = join("accounts", ["accounts"], { signal: leaving.signal });
    leaving.abort();
    await expect(part).rejects.toSatisfy((error) => isCode(error, "INTERRUPTED"));
    await sessions.idle();
    expect(started).toHaveLength(0);
  });
});

describe("syncs of", () => {
  test("one data directory never overlap: the second is told that the writer is busy", async () => {
    const { started, join } = aRig();
    const first = join("accounts", ["accounts"], { expected: ["accounts"] });
    const second = join("accounts", ["accounts"], { syncId: "s2" });
    await expect(second).rejects.toSatisfy((error) => isCode(error, "WRITER_BUSY"));
    await settled();
    await started[0]?.end();
    await first;
  });

  test("several profiles run side by side, up to the most that is wanted, the rest in turn", async () => {
    const { started, join } = aRig(2);
    const runs = ["a", "b", "c"].map((name) =>
      join("accounts", ["accounts"], { syncId: name, expected: ["accounts"] }, name),
    );
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

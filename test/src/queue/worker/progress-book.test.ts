// Progress of the syncs that run in a process: there from start to end, with a sign of life.
import { expect, test } from "vitest";
import type { SessionDeps } from "../../../../jobs/session.ts";
import type { ProgressEvent } from "../../../../src/core/report/sync-progress.ts";
import { createProgressBook } from "../../../../src/queue/worker/run-engine.ts";
import { aReport } from "../../../support/reports.ts";
import { config } from "../asking/an-ask.ts";

const request = (runId: string) =>
  ({ streams: [], full: false, maxDurationMs: null, allowMassDelete: false, runId }) as const;
const context: Parameters<SessionDeps["run"]>[2] = {
  signal: new AbortController().signal,
  hardSignal: new AbortController().signal,
  emit: () => undefined,
  onWait: () => () => undefined,
};
const page = (rows: number): ProgressEvent => ({
  kind: "page",
  stream: "accounts",
  requests: 2,
  credits: 2,
  rows,
  pagesDone: 2,
  pagesTotal: 5,
  rowsTotal: null,
});

/** A book on a clock; its engine's runs end when they are told to. */
const rig = () => {
  const clock = { at: 1_000 };
  const ends = new Map<string, (failure?: Error) => void>();
  const book = createProgressBook(
    (_, { runId }) =>
      new Promise((resolve, reject) => {
        const result = { report: aReport({ run_id: runId ?? "" }), error: null };
        ends.set(runId ?? "", (failure) => (failure === undefined ? resolve(result) : reject(failure)));
      }),
    { now: () => clock.at },
  );
  return {
    clock,
    book,
    start: (id: string) => book.run(config, request(id), context),
    end: (id: string) => ends.get(id),
  };
};

test("a sync has progress from its start, of that time, to its end", async () => {
  const { clock, book, start, end } = rig();
  expect([...book.all().keys()]).toEqual([]);
  const run = start("a");
  clock.at = 9_000;
  expect(book.all().get("a")).toMatchObject({ started_at: 1_000, requests: 0 });
  end("a")?.();
  expect((await run).report.run_id).toBe("a");
  expect([...book.all().keys()]).toEqual([]);
});

test("a run that fails leaves no progress behind, and its error is its caller's", async () => {
  const { book, start, end } = rig();
  const run = start("a");
  end("a")?.(new Error("lost"));
  await expect(run).rejects.toThrow("lost");
  expect([...book.all().keys()]).toEqual([]);
});

test("events count for their own sync, and those of a sync that does not run here for none", async () => {
  const { book, start } = rig();
  void start("a");
  void start("b");
  book.note(page(40), "a");
  book.note(page(7), "elsewhere");
  const all = book.all();
  expect([all.get("a")?.rows, all.get("b")?.rows, all.has("elsewhere")]).toEqual([40, 0, false]);
});

test("every look at the progress is a sign of life of that moment", () => {
  const { clock, book, start } = rig();
  void start("a");
  clock.at = 60_000;
  expect(book.all().get("a")?.heartbeat_at).toBe(60_000);
});

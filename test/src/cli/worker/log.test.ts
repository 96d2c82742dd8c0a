// Runs and faults of requests in a worker's log.
import { expect, test } from "vitest";
import { createWorkerLog, faultLog } from "../../../../src/cli/worker/log.ts";
import { systemClock } from "../../../../src/core/clock.ts";
import { DuckmirrorError } from "../../../../src/core/errors.ts";
import { createLogger } from "../../../../src/core/log.ts";
import type { ProgressEvent } from "../../../../src/core/report/sync-progress.ts";
import { createScrubber } from "../../../../src/core/secret.ts";

test("a known failure of a request is one line with code and hint, without a stack", () => {
  const lines: unknown[][] = [];
  const log = faultLog({
    warn: (...args: unknown[]) => void lines.push(["warn", ...args]),
    error: (...args: unknown[]) => void lines.push(["error", ...args]),
  });
  log(new DuckmirrorError("DISK_FULL", { detail: "no space" }));
  log(new DuckmirrorError("REQUEST_FAILED", { endpoint: "e", detail: "d" }));
  expect(lines).toEqual([
    ["error", expect.stringMatching(/^a request failed: DISK_FULL: .* Free some space/)],
    ["warn", expect.stringMatching(/^a request failed: REQUEST_FAILED: /)],
  ]);
});

/** A worker's log, and the runs for which it began to keep progress. */
const aWorkerLog = () => {
  const begun: unknown[] = [];
  const target = { write: () => undefined };
  const logger = createLogger({ level: "info", format: "json", colour: false, scrubber: createScrubber(), target });
  const child = logger.child.bind(logger);
  logger.child = (bindings) => {
    begun.push(bindings.runId);
    return child(bindings);
  };
  return { begun, log: createWorkerLog(logger, systemClock, "json") };
};
const started = (runId: string): ProgressEvent => ({ kind: "run-started", runId, mode: "incremental", at: 0 });
const note: ProgressEvent = { kind: "note", level: "info", text: "more" };

test("a run that found nothing new is kept no longer, like one that published", () => {
  const { begun, log } = aWorkerLog();
  const run = { runId: "run-1", profile: "acme" };
  log.emit(started("run-1"), run);
  log.emit(note, run);
  expect(begun).toEqual(["run-1"]);
  log.emit({ kind: "looked", path: "warehouse.duckdb" }, run);
  log.emit(note, run);
  expect(begun).toEqual(["run-1", "run-1"]);
});

test("a run that ended without a word is kept until the next one of its profile begins", () => {
  const { begun, log } = aWorkerLog();
  for (const runId of ["run-1", "run-2", "run-1"]) log.emit(started(runId), { runId, profile: "acme" });
  expect(begun).toEqual(["run-1", "run-2", "run-1"]);
});

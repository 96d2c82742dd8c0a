// Runs and faults of requests in a worker's log.
// When a profile's schedules start its next sync, as the page shows it.
// The check of a worker's profiles: a broken one is tried again every minute.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createManualClock } from "../../../../bench/rates/manual-clock.ts";
import { createWorkerLog, faultLog } from "../../../../src/cli/worker/log.ts";
import { nextSyncOf, watchProfiles } from "../../../../src/cli/worker/served-profile.ts";
import { systemClock } from "../../../../src/core/clock.ts";
import { DuckmirrorError } from "../../../../src/core/errors.ts";
import { createLogger } from "../../../../src/core/log.ts";
import type { ProgressEvent } from "../../../../src/core/report/sync-progress.ts";
import { createScrubber } from "../../../../src/core/secret.ts";
import { aFolder } from "../../../support/cli.ts";
import { configOf } from "../../../support/given-config.ts";

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

/** On the evening before the clocks go forward. */
const NOW = Date.UTC(2026, 2, 28, 22, 0);
const next = (schedule: string) => {
  const at = nextSyncOf(configOf(`schedule: ${schedule}\n`), NOW);
  return at === null ? null : new Date(at).toISOString();
};
const inBerlin = (...crons: string[]) => JSON.stringify(crons.map((cron) => ({ cron, time_zone: "Europe/Berlin" })));

test("the next sync is that of the earliest schedule, in its time zone; without a schedule there is none", () => {
  expect(next(inBerlin("0 6 * * *", "0 1 * * *"))).toBe("2026-03-29T00:00:00.000Z");
  expect(next("off")).toBeNull();
});

test("a time that the change to summer time leaves out is the first moment after it", () => {
  expect(next(inBerlin("30 2 * * *"))).toBe("2026-03-29T01:00:00.000Z");
});

const aRig = (folder: string) => {
  const profileOf = (name: string) => {
    const env = {
      DUCKMIRROR_BASE_URL: "https://api.example",
      DUCKMIRROR_TOKEN_FILE: join(folder, `${name}.token`),
      DUCKMIRROR_DATA_DIR: join(folder, name),
    };
    return { ...configOf(null, env), profile: name };
  };
  const lines: string[] = [];
  const logger = {
    error: (text: string) => void lines.push(`error ${text}`),
    info: (text: string) => void lines.push(`info ${text}`),
  };
  const clock = createManualClock();
  const stop = new AbortController();
  const context = { clock, version: "1.2.3", scrubber: createScrubber(), signal: stop.signal };
  return { profiles: [profileOf("acme"), profileOf("bolt")], lines, logger, clock, stop, context };
};

test("a broken profile is reported once, and works again a minute after it was mended", async () => {
  const folder = aFolder();
  writeFileSync(join(folder, "bolt.token"), "test-token");
  const { profiles, lines, logger, clock, stop, context } = aRig(folder);
  const { unable } = await watchProfiles(profiles, logger, context);
  expect(unable()).toMatchObject([{ profile: "acme", code: "TOKEN_FILE_UNREADABLE" }]);
  await clock.advance(60_000);
  expect(lines).toEqual([expect.stringMatching(/^error profile acme cannot sync: TOKEN_FILE_UNREADABLE: .*Check /)]);
  writeFileSync(join(folder, "acme.token"), "test-token");
  await clock.advance(60_000);
  await expect.poll(unable).toEqual([]);
  expect(lines.slice(1)).toEqual(["info profile acme can sync again"]);
  stop.abort();
});

test("if no profile can sync, the first one's problem is thrown", async () => {
  const { profiles, logger, context } = aRig(aFolder());
  await expect(watchProfiles(profiles, logger, context)).rejects.toMatchObject({
    code: "TOKEN_FILE_UNREADABLE",
    exitCode: 2,
  });
});

// Failures as one stored line, and what is read from it.

import { expect, test } from "vitest";
import { systemClock } from "../../../../src/core/clock.ts";
import { DuckmirrorError, ERRORS } from "../../../../src/core/errors.ts";
import { createScrubber, Secret } from "../../../../src/core/secret.ts";
import { failureToKeep, findStored, storedProblem } from "../../../../src/queue/requests/stored-failures.ts";
import { openWarehouse } from "../../../../src/warehouse/file/warehouse.ts";
import { aFolder } from "../../../support/cli.ts";
import { configOf } from "../../../support/given-config.ts";
import { copyMigratedMirror } from "../../../support/migrated-mirror.ts";

// Syncs that no queue knows any more, found in the mirror.

test("a run that a kill ended is no result: its sync is asked for again; one that a fault ended is", async () => {
  const dataDir = aFolder();
  await copyMigratedMirror(dataDir);
  const warehouse = await openWarehouse({ dataDir, clock: systemClock });
  const end = async (runId: string, status: "interrupted" | "failed", error: string) => {
    await warehouse.startRun({ runId, mode: "full", startedAt: 1, forecast: {} });
    await warehouse.finishRun(runId, { status, finishedAt: 2, summary: null, error });
  };
  // As recovery notes it.
  await end("killed", "interrupted", "the process ended");
  await end("faulty", "failed", "DISK_FULL");
  await warehouse.publish();
  await warehouse.close();
  const env = { DUCKMIRROR_DATA_DIR: dataDir };
  const config = configOf(null, env);
  expect(await findStored([config], "killed")).toBeNull();
  expect(await findStored([config], "faulty")).toMatchObject({ state: "failed" });
  expect(await findStored([config], "unknown")).toBeNull();
});

test("a failure is kept as one line with its code, without stack and secret", () => {
  const scrubber = createScrubber();
  scrubber.hide(new Secret("hush-hush-hush").reveal());
  const kept = failureToKeep(new DuckmirrorError("DISK_FULL", { detail: "at hush-hush-hush" }), scrubber);
  expect(kept.message).toMatch(/^DISK_FULL: The disk is full: at /);
  expect(`${kept.message}${kept.stack}`).not.toContain("hush-hush");
  expect(kept.stack).toBe(kept.message);
  expect(failureToKeep(new TypeError("x is undefined"), scrubber).message).toBe("UNEXPECTED: x is undefined");
});

test("a stored failure is the problem that it was, with a hint where the hint needs nothing more", () => {
  expect(storedProblem("DISK_FULL: The disk is full: no space")).toEqual({
    code: "DISK_FULL",
    message: "The disk is full: no space",
    hint: ERRORS.DISK_FULL.hint,
  });
  expect(storedProblem("INTERRUPTED")).toEqual({
    code: "INTERRUPTED",
    message: ERRORS.INTERRUPTED.message,
    hint: ERRORS.INTERRUPTED.hint,
  });
});

test("no gap of a message or hint is shown unfilled", () => {
  const gaps = Object.keys(ERRORS).map((code) => storedProblem(code));
  expect(gaps.filter((problem) => /\{\w+\}/.test(`${problem?.message}${problem?.hint}`))).toEqual([]);
});

test("a line without a known code is unexpected, as it is; nothing is no problem", () => {
  const unexpected = (message: string) => ({ code: "UNEXPECTED", message, hint: ERRORS.UNEXPECTED.hint });
  expect(storedProblem("NO_SUCH_CODE: x")).toEqual(unexpected("NO_SUCH_CODE: x"));
  expect(storedProblem("job stalled more than allowable limit")).toEqual(
    unexpected("job stalled more than allowable limit"),
  );
  expect(storedProblem("")).toBeNull();
});

// Two workers on one Redis: one of them runs a sync, the other one waits, and goes on when the first is lost.
import { expect, test } from "vitest";
import { syncReportSchema } from "../../../../../src/core/report/sync-report.ts";
import type { SyncResult } from "../../../../../src/sync/run/run-sync.ts";
import { aReport } from "../../../../support/reports.ts";
import { aFleet, anAsk, anOrg, aRedis, aWorker, reached, someTriggers } from "../../worker-rig.ts";

/** A worker whose engine only notes what it was asked for. */
const aNotingWorker = (notes: string[][], name: string, wait: Promise<void> = Promise.resolve()) => ({
  run: () => async (_: unknown, request: { readonly streams: readonly string[]; readonly runId?: string }) => {
    notes.push([name, ...request.streams]);
    await wait;
    const run_id = `${request.runId}-${notes.length}`;
    const result: SyncResult = { report: aReport({ run_id, streams: request.streams }), error: null };
    return result;
  },
});

test("one run does all of a sync, though two workers share its jobs, and both report it", async () => {
  const { redis, profiles } = await aFleet();
  const { triggers } = await someTriggers(redis, profiles);
  const notes: string[][] = [];
  for (const name of ["first", "second"]) await aWorker(redis, profiles, aNotingWorker(notes, name));
  const asked = 10;
  for (let nth = 1; nth <= asked; nth += 1) {
    const { runId } = await triggers.start(anAsk());
    const { state, report } = await reached(triggers, runId);
    expect(state).toBe("done");
    const streams = syncReportSchema.parse(report).streams;
    expect(streams.map(({ status }) => status)).toEqual(streams.map(() => "done"));
    expect(notes).toHaveLength(nth);
  }
  // Each run had every stream: what follows from accounts is never run before or without them.
  for (const [, ...streams] of notes) expect(streams).toEqual(expect.arrayContaining(["accounts", "account_insights"]));
});

test("two workers with one directory fetch what follows from a change of an account", async () => {
  const redis = await aRedis();
  const org = await anOrg("default", 5);
  const profiles = [org.config(redis)];
  const { triggers } = await someTriggers(redis, profiles);
  const workers = [await aWorker(redis, profiles), await aWorker(redis, profiles)];
  const { runId } = await triggers.start(anAsk());
  expect((await reached(triggers, runId)).state).toBe("done");
  expect(await org.rows("SELECT count(*)::INTEGER FROM account_insights")).toEqual([[5]]);
  const runs = workers.flatMap(({ events }) => events.filter(({ event }) => event.kind === "run-started"));
  expect(runs).toHaveLength(1);
});

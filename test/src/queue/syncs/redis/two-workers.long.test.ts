// Two workers on one Redis: one of them runs a sync, the other one waits, and goes on when the first is lost.

import { expect, test } from "vitest";
import { syncReportSchema } from "../../../../../src/core/report/sync-report.ts";
import { aFleet, aNotingEngine, anOrg, aRedis, aWorker, someTriggers, synced } from "../../worker-rig.ts";

test("one run does all of a sync, though two workers share its jobs, and both report it", async () => {
  const { redis, profiles } = await aFleet();
  const { triggers } = await someTriggers(redis, profiles);
  const notes: string[] = [];
  for (let nth = 0; nth < 2; nth += 1) await aWorker(redis, profiles, aNotingEngine(notes));
  const asked = 10;
  for (let nth = 1; nth <= asked; nth += 1) {
    const { state, report } = await synced(triggers);
    expect(state).toBe("done");
    const streams = syncReportSchema.parse(report).streams;
    expect(streams.map(({ status }) => status)).toEqual(streams.map(() => "done"));
    expect(notes).toHaveLength(nth);
  }
  // Each run had every stream: what follows from accounts is never run before or without them.
  for (const note of notes) expect(note).toMatch(/\baccounts\b.*\baccount_insights\b/);
});

test("two workers with one directory fetch what follows from a change of an account", async () => {
  const redis = await aRedis();
  const org = await anOrg("default", 5);
  const profiles = [org.config(redis)];
  const { triggers } = await someTriggers(redis, profiles);
  const workers = [await aWorker(redis, profiles), await aWorker(redis, profiles)];
  expect((await synced(triggers)).state).toBe("done");
  expect(await org.rows("SELECT count(*)::INTEGER FROM account_insights")).toEqual([[5]]);
  const runs = workers.flatMap(({ events }) => events.filter(({ event }) => event.kind === "run-started"));
  expect(runs).toHaveLength(1);
});

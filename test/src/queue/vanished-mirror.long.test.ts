// A worker whose mirror vanishes (deleted, or its volume unmounted), or whose files are struck during a run: what it
// reports, and that it pays for nothing again by itself. Shows P40.

import { existsSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { syncReportSchema } from "../../../src/core/report/sync-report.ts";
import type { RequestedSync } from "../../../src/core/report/triggers.ts";
import { afterTest } from "../../support/after-test.ts";
import { aWorkerOf, type Organization, synced, WAYS } from "./worker-rig.ts";

/** A worker of that kind whose mirror is complete. */
const aSyncedWorker = async (way: (typeof WAYS)[number]) => {
  const { org, worker } = await aWorkerOf(way);
  expect((await synced(worker.triggers)).state).toBe("done");
  return { org, triggers: worker.triggers };
};

const reportOf = ({ report }: RequestedSync) => syncReportSchema.parse(report);

/** Does `strike` at a request of the next sync. */
const strikeAt = (org: Organization, request: number, strike: () => void): void => {
  const from = org.service.log.length;
  org.service.options = {
    ...org.service.options,
    before: ({ number }) => {
      if (number === from + request) strike();
      return undefined;
    },
  };
};

test.each(WAYS)("a mirror that vanished between two syncs is not made anew, %s", async (way) => {
  const { org, triggers } = await aSyncedWorker(way);
  const asked = org.service.log.length;
  const away = `${org.dataDir}-away`;
  renameSync(org.dataDir, away);
  for (let times = 0; times < 2; times++) {
    expect(await synced(triggers)).toMatchObject({ state: "failed", error: { code: "MIRROR_GONE" } });
  }
  expect(org.service.log).toHaveLength(asked);
  expect(existsSync(join(org.dataDir, "state", "working.duckdb"))).toBe(false);
  rmSync(org.dataDir, { recursive: true, force: true });
  renameSync(away, org.dataDir);
  expect(await synced(triggers)).toMatchObject({ state: "done", report: { mode: "incremental" } });
});

test.each(WAYS)("a mirror that vanishes during a sync ends it, which reports what was sent, %s", async (way) => {
  const { org, triggers } = await aSyncedWorker(way);
  const asked = org.service.log.length;
  const away = `${org.dataDir}-away`;
  afterTest(async () => rmSync(away, { recursive: true, force: true }));
  strikeAt(org, 5, () => renameSync(org.dataDir, away));
  const ended = await synced(triggers, { full: true });
  expect(ended).toMatchObject({ state: "failed", error: { code: "MIRROR_GONE" } });
  expect(reportOf(ended).requests).toBe(org.service.log.length - asked);
  const sent = org.service.log.length;
  expect(await synced(triggers)).toMatchObject({ state: "failed", error: { code: "MIRROR_GONE" } });
  expect(org.service.log).toHaveLength(sent);
});

test.each(WAYS)("a sync that a fault of its files ends reports what was sent, %s", async (way) => {
  const { org, triggers } = await aSyncedWorker(way);
  const asked = { requests: org.service.log.length, credits: org.service.spent() };
  strikeAt(org, 5, () => rmSync(join(org.dataDir, "state", "working.duckdb")));
  const ended = await synced(triggers, { full: true });
  expect(ended).toMatchObject({ state: "failed", error: { code: "WAREHOUSE_CORRUPT" }, report: { status: "failed" } });
  expect(reportOf(ended).requests).toBe(org.service.log.length - asked.requests);
  expect(reportOf(ended).credits.spent).toBe(org.service.spent() - asked.credits);
});

// The end of a sync that took two runs, of which the first one left no report.

import { expect, test } from "vitest";
import { publishJob } from "../../jobs/publish.ts";
import { openOwnAccess } from "../../jobs/service-access.ts";
import { STREAM_NAMES } from "../../src/catalog/streams.ts";
import { anOrganization } from "../support/fake-data.ts";
import { createFakeService } from "../support/fake-service.ts";
import { configOf } from "../support/given-config.ts";
import { hurriedClock, startSyncRig } from "../support/sync-rig.ts";

test("the report of a sync counts what a run wrote that a fault ended", async () => {
  const service = createFakeService(anOrganization(6), { maxPerPage: 5 });
  let left = 25;
  const rig = await startSyncRig(service, { DUCKMIRROR_CONCURRENCY: "1" }, hurriedClock(), async (config, context) => {
    const connection = await openOwnAccess(config, context);
    const send: typeof connection.sender.send = (...order) => {
      left -= 1;
      return left < 0 && left > -5 ? Promise.reject(new TypeError("killed")) : connection.sender.send(...order);
    };
    return { ...connection, sender: { ...connection.sender, send } };
  });
  await expect(rig.sync({ runId: "s1" })).rejects.toThrow("killed");
  left = 1_000;
  const { report, error } = await rig.sync({ runId: "s1" });
  expect([report.run_id, error]).toEqual(["s1-2", null]);

  const config = configOf(null, { DUCKMIRROR_DATA_DIR: rig.dataDir });
  const ended = {
    syncId: "s1",
    full: false,
    streams: STREAM_NAMES,
    results: [{ report, problem: null }],
    problem: null,
  };
  const merged = await publishJob(config, ended, { clock: hurriedClock(), signal: new AbortController().signal });
  expect(merged.problem).toBeNull();
  const reported = new Map(merged.report.streams.map((stream) => [stream.stream, stream]));
  for (const stream of ["accounts", "contacts", "signals", "companies", "news_articles", "job_openings", "filings"]) {
    const [row] = await rig.rows(`SELECT count(*)::INTEGER AS n FROM ${stream}`);
    expect([stream, reported.get(stream)?.inserted, reported.get(stream)?.status]).toEqual([stream, row?.n, "done"]);
  }
  // The request whose sending the fault ended may have been charged.
  expect(merged.report.credits.ambiguous).toBe(1);
  expect(merged.report.requests).toBe(service.log.length + 1);
  const second = report.streams.reduce((sum, { inserted }) => sum + inserted, 0);
  const both = merged.report.streams.reduce((sum, { inserted }) => sum + inserted, 0);
  expect(both).toBeGreaterThan(second);
});

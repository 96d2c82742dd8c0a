// Results of ended runs, for jobs that are delivered again.
import { expect, test } from "vitest";
import { createEndedRuns, partOf } from "../../jobs/session-results.ts";
import { DuckmirrorError } from "../../src/core/errors.ts";
import type { StreamStatus } from "../../src/core/report/sync-report.ts";
import { aReport } from "../support/reports.ts";

const result = (streams: readonly string[], status: StreamStatus = "done", error: DuckmirrorError | null = null) => ({
  report: aReport({ streams }, status),
  error,
});

test("a job gets the part of its own streams, and what no run settled is left", () => {
  const ended = createEndedRuns();
  ended.remember("s1", result(["accounts", "contacts"]));
  const { runs, left } = ended.knownOf("s1", ["accounts", "signals"]);
  expect(runs.map(({ report }) => report.streams.map(({ stream }) => stream))).toEqual([["accounts"]]);
  expect(left).toEqual(["signals"]);
  expect(ended.knownOf("s2", ["accounts"])).toEqual({ runs: [], left: ["accounts"] });
});

test("an interrupted stream, and one of a run that Redis interrupted, are not settled; a failed one is", () => {
  const leftAfter = (...results: Parameters<ReturnType<typeof createEndedRuns>["remember"]>[1][]) => {
    const ended = createEndedRuns();
    for (const each of results) ended.remember("s", each);
    return ended.knownOf("s", ["accounts"]).left;
  };
  const away = new DuckmirrorError("REDIS_UNAVAILABLE", { address: "redis", detail: "away" });
  expect(leftAfter(result(["accounts"], "interrupted"))).toEqual(["accounts"]);
  expect(leftAfter(result(["accounts"], "done", away))).toEqual(["accounts"]);
  expect(leftAfter(result(["accounts"], "failed", new DuckmirrorError("INTERRUPTED")))).toEqual([]);
  expect(leftAfter(result(["accounts"], "interrupted"), result(["accounts"]))).toEqual([]);
});

test("the results of the latest two hundred syncs are kept", () => {
  const ended = createEndedRuns();
  for (let nth = 0; nth <= 200; nth++) ended.remember(`s${nth}`, result(["accounts"]));
  expect([0, 1, 200].map((nth) => ended.knownOf(`s${nth}`, ["accounts"]).runs.length)).toEqual([0, 1, 1]);
});

test("a part keeps the run's own figures and its error", () => {
  const whole = result(["accounts", "contacts"], "done", new DuckmirrorError("INTERRUPTED"));
  const part = partOf(whole, ["contacts"]);
  expect([part.error, part.report.requests, part.report.streams.length]).toEqual([whole.error, 2, 1]);
});

import { expect, test } from "vitest";
import { atMost, ofRounds } from "../../bench/case.ts";
import { accepted, regressions } from "../../bench/regression.ts";

const run = (publish: readonly number[], load: readonly number[]) => [
  { id: "publish", figures: [ofRounds("publish", publish, { most: 1.2 }), atMost("bytes", 1, 5, "%")] },
  { id: "throughput", figures: [ofRounds("load", load, { least: 0.5 }), ofRounds("beside", load)] },
];
const baseline = accepted({}, run([1.0, 1.1, 1.2], [0.5, 0.55, 0.6]));

test("a ratio that is worse in every round is named, in either direction; what only scatters is not", () => {
  expect(regressions(baseline, run([1.15, 1.3, 1.6], [0.42, 0.44, 0.47]))).toEqual([]);
  expect(regressions(baseline, run([1.4, 1.5, 1.6], [0.3, 0.35, 0.4]))).toEqual([
    "publish: publish: 1.50 × now, 1.10 × before",
    "throughput: load: 0.35 × now, 0.55 × before",
  ]);
  expect(regressions(baseline, run([0.1, 0.2, 0.3], [5, 6, 7]))).toEqual([]);
});

test("accepting takes over the cases that were run and keeps the others; new measures pass", () => {
  const next = accepted(baseline, run([2, 2, 2], [1, 1, 1]).slice(0, 1));
  expect(next.publish).toEqual({ publish: { least: 2, median: 2, most: 2, better: "less" } });
  expect(next.throughput).toEqual(baseline.throughput);
  expect(regressions({}, run([9, 9, 9], [0, 0, 0]))).toEqual([]);
});

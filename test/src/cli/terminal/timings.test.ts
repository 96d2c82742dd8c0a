// `sync --timings`: the chain of a run's steps, and how often each kind came.
import { expect, test } from "vitest";
import { createTimings } from "../../../../src/cli/terminal/timings.ts";
import { inSpan, noTracer } from "../../../../src/core/tracing.ts";

const STARTED_AT = 1_000_000;

const aRun = () => {
  let now = STARTED_AT;
  const clock = { now: () => now, sleep: async () => undefined };
  const timings = createTimings(clock, STARTED_AT);
  const pass = (ms: number) => {
    now += ms;
  };
  return { timings, pass, tracer: timings.around(noTracer) };
};

test("steps stand in the order of their starts, inside what they belong to, with when they began and how long they took", async () => {
  const { timings, pass, tracer } = aRun();
  pass(100);
  await inSpan(tracer, "sync", async (span) => {
    await inSpan(span, "open", async () => pass(50));
    pass(50);
    // A wait is told when it is over.
    span.start("wait", { startedAt: STARTED_AT + 150 }).end(STARTED_AT + 200);
    await inSpan(span, "GET /v1/accounts", async () => pass(200));
  });
  const [, , , ...lines] = timings.render(120).split("\n");
  const cells = lines.slice(0, 4).map((line) => line.split("│").map((cell) => cell.trimEnd()));
  expect(cells.map(([, name, from, took]) => [name?.slice(1), Number(from), Number(took)])).toEqual([
    ["sync", 100, 300],
    ["  open", 100, 50],
    ["  wait", 150, 50],
    ["  GET /v1/accounts", 200, 200],
  ]);
  expect(cells[1]?.[4]).toBe(` ${"·".repeat(10)}${"█".repeat(6)}${"·".repeat(24)}`);
});

test("a long run shows its first hundred steps, and all of them in the sums; what has not ended lasts until now", async () => {
  const { timings, pass, tracer } = aRun();
  tracer.start("sync");
  for (let n = 0; n < 150; n++) await inSpan(tracer, "commit", async () => pass(2));
  const text = timings.render(120);
  expect(text).toContain("… and 51 more steps\n");
  expect(text).toMatch(/│ commit +│ +150 +│ +300 +│ +2 │/);
  expect(text).toMatch(/│ sync +│ +1 +│ +300 +│ +300 │/);
});

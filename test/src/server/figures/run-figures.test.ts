// Metrics of runs: waits that overlap count once, and what a worker does now and then has its times.
import { expect, test } from "vitest";
import type { ProgressEvent } from "../../../../src/core/report/sync-progress.ts";
import { createRunFigures } from "../../../../src/server/figures/metrics.ts";

const waits = (why: "rate" | "retry" | "quota", until: number): ProgressEvent => ({
  kind: "waiting",
  why,
  until,
  stream: null,
});

/** Figures after these events: profile, event, time. */
const after = async (...events: readonly (readonly [profile: string, event: ProgressEvent, now: number])[]) => {
  const figures = createRunFigures();
  for (const [profile, event, now] of events) figures.note(profile, event, now);
  const lines = (await figures.registry.metrics()).split("\n");
  return (series: string) => {
    const line = lines.find((text) => text.startsWith(`${series} `));
    return line === undefined ? null : Number(line.split(" ").at(-1));
  };
};
const rate = 'duckmirror_wait_seconds_total{profile="a",why="rate"}';

test("a wait counts from when it begins to when it ends", async () => {
  const value = await after(["a", waits("rate", 31_000), 1_000]);
  expect(value(rate)).toBe(30);
});

test("requests that wait at the same time count once", async () => {
  const value = await after(
    ["a", waits("rate", 11_000), 1_000],
    ["a", waits("rate", 11_000), 2_000],
    ["a", waits("rate", 15_000), 5_000],
  );
  expect(value(rate)).toBe(14);
});

test("a wait after another one counts on its own, and a shorter one within it does not", async () => {
  const value = await after(
    ["a", waits("rate", 11_000), 1_000],
    ["a", waits("rate", 6_000), 2_000],
    ["a", waits("rate", 25_000), 20_000],
  );
  expect(value(rate)).toBe(15);
});

test("waits of several profiles and of several reasons are apart", async () => {
  const value = await after(
    ["a", waits("rate", 2_000), 0],
    ["b", waits("rate", 3_000), 0],
    ["a", waits("retry", 9_000), 2_000],
  );
  expect(value(rate)).toBe(2);
  expect(value('duckmirror_wait_seconds_total{profile="b",why="rate"}')).toBe(3);
  expect(value('duckmirror_wait_seconds_total{profile="a",why="retry"}')).toBe(7);
});

test("no run waits for the next period of credits: it ends", async () => {
  const value = await after(["a", waits("quota", 86_400_000), 0]);
  expect(value('duckmirror_wait_seconds_total{profile="a",why="quota"}')).toBeNull();
});

test("publishes and exports have their number, their sum and the last one", async () => {
  const published = (ms: number): ProgressEvent => ({ kind: "published", path: "/w", bytes: 1, ms });
  const value = await after(
    ["a", published(1_500), 0],
    ["a", published(500), 1],
    ["a", { kind: "exported", formats: ["parquet"], ms: 250 }, 2],
    ["a", { kind: "resumed" }, 3],
  );
  expect(value('duckmirror_publishes_total{profile="a"}')).toBe(2);
  expect(value('duckmirror_publish_seconds_total{profile="a"}')).toBe(2);
  expect(value('duckmirror_publish_seconds{profile="a"}')).toBe(0.5);
  expect(value('duckmirror_exports_total{profile="a"}')).toBe(1);
  expect(value('duckmirror_export_seconds{profile="a"}')).toBe(0.25);
});

// After a sync that found nothing new, the server knows its run, its checks and its credits, although the snapshot is older.
import { statSync } from "node:fs";
import { expect, test } from "vitest";
import { looksSince } from "../../../../src/warehouse/read/looks.ts";
import { HERE, mirrorForFile } from "../served-mirror.ts";

interface Overview {
  readonly run_count: number;
  readonly runs: readonly { readonly run_id: string; readonly credits: number }[];
  readonly tables: readonly { readonly table_name: string; readonly oldest_checked_at: number }[];
  readonly credits: { readonly burn: readonly { readonly remaining: number | null }[] };
}

const get = async (url: string) => server.app.inject({ url, headers: HERE });
const overview = async (): Promise<Overview> => (await get("/api/status")).json();

const mirror = await mirrorForFile(3, { DUCKMIRROR_PUBLISH_UNCHANGED_BELOW: "0B" });
const server = await mirror.server();
const request = { streams: ["accounts", "signals"] };
const publishedBy = async () => {
  await mirror.sync(request);
  return statSync(mirror.snapshot).ino;
};
for (let last = await publishedBy(), now = 0; last !== now; last = now, now = await publishedBy());
/** Answers of the server before the last look. */
const before = { overview: await overview(), metrics: (await get("/metrics")).body };
const { ino } = statSync(mirror.snapshot);
await mirror.sync(request);
expect(statSync(mirror.snapshot).ino).toBe(ino);
const look = looksSince(mirror.snapshot).at(-1);
if (look === undefined) throw new Error("the sync left no look");

test("the page shows its run first, and when it checked", async () => {
  const now = await overview();
  expect(now.runs[0]).toMatchObject({ run_id: look.run.run_id, credits: look.run.credits });
  expect(now.run_count).toBe(before.overview.run_count + 1);
  const checked = ({ tables }: Overview) => tables.find((row) => row.table_name === "signals")?.oldest_checked_at ?? 0;
  expect(checked(now)).toBeGreaterThan(checked(before.overview));
  expect(now.credits.burn[0]?.remaining).toBe(look.credits?.remaining);
});

test("the run can be opened, with what its report has of its streams", async () => {
  const run = (await get(`/api/runs/${look.run.run_id}`)).json();
  expect(run).toMatchObject({ run_id: look.run.run_id, status: "done" });
  expect(run.streams.map(({ stream }: { stream: string }) => stream)).toEqual(["accounts", "signals"]);
});

test("metrics count it and have its credits and its time", async () => {
  const value = (text: string, name: string) =>
    Number(
      text
        .split("\n")
        .find((line) => line.startsWith(name))
        ?.split(" ")
        .at(-1),
    );
  const { body } = await get("/metrics");
  const runs = 'duckmirror_runs_total{profile="default",status="done"}';
  expect(value(body, runs)).toBe(value(before.metrics, runs) + 1);
  expect(value(body, "duckmirror_credits_remaining")).toBe(look.credits?.remaining);
  const last = 'duckmirror_last_run_timestamp_seconds{profile="default",status="done"}';
  expect(value(body, last)).toBe((look.run.finished_at ?? 0) / 1000);
});

test("the served API has its time and its credits", async () => {
  const answer = await get("/v1/signals?perPage=1");
  expect(answer.json().usage.remaining).toBe(look.credits?.remaining);
  const checkedAt = look.tables.find((table) => table.table_name === "signals")?.oldest_checked_at ?? 0;
  expect(Date.parse(String(answer.headers["x-duckmirror-data-time"]))).toBe(Math.floor(checkedAt));
});

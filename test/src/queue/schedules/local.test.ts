// Without Redis a schedule runs at the times of its one meaning, also over a sleeping machine and a clock that is set. Shows P39.

import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { DuckmirrorError } from "../../../../src/core/errors.ts";
import type { Started, TriggerRequest } from "../../../../src/core/report/triggers.ts";
import { TICKS } from "../../../../src/queue/redis/queues.ts";
import { createDueCheck, startScheduled } from "../../../../src/queue/schedules/local.ts";
import { aFolder } from "../../../support/cli.ts";
import { configOf } from "../../../support/given-config.ts";
import { anAsk } from "../requests/a-sync-request.ts";

// Starting the sync of a schedule, with its lines in the audit trail.

const NOW = Date.UTC(2026, 10, 21, 5);

const rig = (start: (ask: TriggerRequest) => Promise<Started>, env: Record<string, string> = {}) => {
  const dataDir = aFolder();
  const config = configOf(null, { DUCKMIRROR_DATA_DIR: dataDir, ...env });
  const warnings: string[] = [];
  const deps = { triggers: { start }, clock: { now: () => NOW }, warn: (text: string) => void warnings.push(text) };
  const lines = () => {
    const dir = join(dataDir, "state", "audit");
    const [file = ""] = readdirSync(dir);
    return readFileSync(join(dir, file), "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
  };
  return {
    dataDir,
    warnings,
    lines,
    start: (ask = anAsk({ streams: ["accounts", "signals"] })) => startScheduled(ask, config, deps),
  };
};

test("the sync is asked for as a schedule's, and the trail says who asked, for what, and which sync it became", async () => {
  const asked: TriggerRequest[] = [];
  const { start, lines } = rig(async (ask) => {
    asked.push(ask);
    return { runId: "run-1", joined: false };
  });
  expect(await start()).toEqual({ runId: "run-1", joined: false });
  expect(asked).toMatchObject([{ scheduled: true, streams: ["accounts", "signals"] }]);
  expect(lines()).toMatchObject([
    { actor: "schedule", action: "sync", subject: "accounts,signals", outcome: "started" },
    { actor: "schedule", action: "sync", outcome: "ok", run_id: "run-1" },
  ]);
});

test("a refused start is in the trail with its code, and is the caller's error", async () => {
  const refused = rig(() => Promise.reject(new DuckmirrorError("REDIS_UNAVAILABLE", { detail: "x" })));
  await expect(refused.start()).rejects.toMatchObject({ code: "REDIS_UNAVAILABLE" });
  expect(refused.lines().at(-1)).toMatchObject({ outcome: "REDIS_UNAVAILABLE" });
  const broken = rig(() => Promise.reject(new TypeError("a bug")));
  await expect(broken.start()).rejects.toThrow("a bug");
  expect(broken.lines().at(-1)).toMatchObject({ outcome: "UNEXPECTED" });
});

/** Puts a file where the trail's folder belongs. */
const block = (dataDir: string): void => {
  mkdirSync(join(dataDir, "state"), { recursive: true });
  writeFileSync(join(dataDir, "state", "audit"), "");
};

test("a trail that cannot be written is a warning, and the sync starts all the same", async () => {
  const { start, warnings, dataDir } = rig(async () => ({ runId: "run-1", joined: false }));
  block(dataDir);
  expect((await start()).runId).toBe("run-1");
  expect(warnings.length).toBeGreaterThan(0);
});

test("where the trail is required, no sync starts without it", async () => {
  let starts = 0;
  const { start, dataDir } = rig(
    async () => {
      starts += 1;
      return { runId: "run-1", joined: false };
    },
    { DUCKMIRROR_AUDIT_REQUIRED: "yes" },
  );
  block(dataDir);
  await expect(start()).rejects.toMatchObject({ code: "AUDIT_UNWRITABLE" });
  expect(starts).toBe(0);
});

test("once the sync has started, a trail that can no longer be written does not hide that", async () => {
  const { start, warnings, dataDir } = rig(
    async () => {
      rmSync(join(dataDir, "state", "audit"), { recursive: true });
      block(dataDir);
      return { runId: "run-1", joined: false };
    },
    { DUCKMIRROR_AUDIT_REQUIRED: "yes" },
  );
  expect((await start()).runId).toBe("run-1");
  expect(warnings).toHaveLength(1);
});

const at = (text: string) => Date.parse(text);

test("a check each minute finds each time once; the day in which the clocks change has one run of 2:30", () => {
  const start = at("2026-03-28T00:00:00Z");
  const isDue = createDueCheck({ cron: "30 2 * * *", timeZone: "Europe/Berlin" }, start);
  const found: string[] = [];
  for (let now = start; now < start + 3 * 86_400_000; now += 60_000) {
    if (isDue(now)) found.push(new Date(now).toISOString());
  }
  expect(found).toEqual(["2026-03-28T01:30:00.000Z", "2026-03-29T01:00:00.000Z", "2026-03-30T00:30:00.000Z"]);
});

test("times that passed while the machine slept are one run; a clock that is set back repeats none", () => {
  const isDue = createDueCheck({ cron: "0 * * * *", timeZone: "UTC" }, at("2026-01-01T00:30:00Z"));
  expect(isDue(at("2026-01-01T09:10:00Z"))).toBe(true);
  expect(isDue(at("2026-01-01T09:11:00Z"))).toBe(false);
  expect(isDue(at("2026-01-01T05:00:00Z"))).toBe(false);
  expect(isDue(at("2026-01-01T05:59:00Z"))).toBe(false);
  expect(isDue(at("2026-01-01T06:00:00Z"))).toBe(true);
});

test("with Redis, BullMQ gets the same next time; it makes no tick of an expression that only an older program knows", () => {
  const next = (pattern: string) => TICKS.repeatStrategy(at("2026-03-29T00:00:00Z"), { pattern, tz: "Europe/Berlin" });
  expect(next("30 2 * * *")).toBe(at("2026-03-29T01:00:00Z"));
  expect(next("0 5 30 * 0")).toBe(at("2026-03-29T03:00:00Z"));
  expect(next("0 22-2 * * *")).toBe(at("2026-03-29T01:00:00Z"));
  expect(next("0 5 L * *")).toBeUndefined();
});

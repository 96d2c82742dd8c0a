// Starting the sync of a schedule, with its lines in the audit trail.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { DuckmirrorError } from "../../../../src/core/errors.ts";
import type { Started, SyncAsk } from "../../../../src/core/report/triggers.ts";
import { startScheduled } from "../../../../src/queue/schedules/start.ts";
import { aFolder } from "../../../support/cli.ts";
import { configOf } from "../../../support/given-config.ts";
import { anAsk } from "../asking/an-ask.ts";

const NOW = Date.UTC(2026, 10, 21, 5);

const rig = (start: (ask: SyncAsk) => Promise<Started>, env: Record<string, string> = {}) => {
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
  const asked: SyncAsk[] = [];
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

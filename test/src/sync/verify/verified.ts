// Mirrors to verify, and what verify found as lines.
import { expect } from "vitest";
import type { SyncRig } from "../../../support/sync-rig.ts";

/** What was found, as short lines. */
export const named = (result: Awaited<ReturnType<SyncRig["verify"]>>): readonly string[] =>
  result.report.differences
    .map(({ stream, scope, kind, key, field, mirror, api }) =>
      [stream, scope, kind, key, field, kind === "field" || kind === "count" ? `${mirror} -> ${api}` : null]
        .filter((part) => part !== null && part !== "")
        .join(" "),
    )
    .sort();

/** Verifies a mirror whose source has not changed since: everything is equal, and the ledger is right. */
export const verifyUnchanged = async (mirror: SyncRig): Promise<void> => {
  const { service } = mirror;
  const before = service.spent();
  const result = await mirror.verify({ maxCredits: 60 });
  expect(named(result)).toEqual([]);
  expect(result.error).toBeNull();
  expect(result.report.credits.spent).toBe(service.spent() - before);
  expect(result.report.checks.filter(({ status }) => status === "equal").length).toBeGreaterThan(20);
  expect(await mirror.rows("select mode, status from sync.runs order by started_at desc limit 1")).toEqual([
    { mode: "verify", status: "done" },
  ]);
};

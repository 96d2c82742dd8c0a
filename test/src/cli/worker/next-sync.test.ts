// When a profile's schedules start its next sync, as the page shows it.
import { expect, test } from "vitest";
import { vocabulary } from "../../../../src/catalog/field-rules.ts";
import { nextSyncOf } from "../../../../src/cli/worker/served-profile.ts";
import { resolveConfig } from "../../../../src/core/config/config.ts";
import { parseConfigFile } from "../../../../src/core/config/config-file.ts";

/** On the evening before the clocks go forward. */
const NOW = Date.UTC(2026, 2, 28, 22, 0);
const next = (schedule: string) => {
  const file = parseConfigFile(`schedule: ${schedule}\n`, "duckmirror.yaml");
  const at = nextSyncOf(resolveConfig({ flags: {}, env: {}, file, cwd: "/", vocabulary: vocabulary() }), NOW);
  return at === null ? null : new Date(at).toISOString();
};
const inBerlin = (...crons: string[]) => JSON.stringify(crons.map((cron) => ({ cron, time_zone: "Europe/Berlin" })));

test("the next sync is that of the earliest schedule, in its time zone; without a schedule there is none", () => {
  expect(next(inBerlin("0 6 * * *", "0 1 * * *"))).toBe("2026-03-29T00:00:00.000Z");
  expect(next("off")).toBeNull();
});

test("a time that the change to summer time leaves out is the first moment after it", () => {
  expect(next(inBerlin("30 2 * * *"))).toBe("2026-03-29T01:00:00.000Z");
});

// Readings of the quota that a run stores.
import { expect, test } from "vitest";
import { createQuotaRecorder } from "../../../../src/sync/rows/quota-recorder.ts";

test("a later reading of the same millisecond is stored, too", () => {
  const recorder = createQuotaRecorder({ now: () => 5_000, sleep: async () => undefined });
  const seen = (used: number) => ({
    quota: { limit: 100, used, remaining: 100 - used, resetsAt: 1_000_000 },
    sentAt: 4_990 + used,
    receivedAt: 5_000,
  });
  recorder.see(seen(1));
  expect(recorder.take()).toMatchObject({ capturedAt: 5_000, remaining: 99 });
  recorder.see(seen(2));
  expect(recorder.take()).toBeNull();
  expect(recorder.take(true)).toMatchObject({ capturedAt: 5_001, remaining: 98 });
});

import { expect, test } from "vitest";
import type { SyncOutcome } from "../../../../../jobs/publish.ts";
import type { TriggerRequest } from "../../../../../src/core/report/triggers.ts";
import { createKnownSyncs, type Entry } from "../../../../../src/queue/syncs/local/local-triggers.ts";
import { aReport } from "../../../../support/reports.ts";
import { anAsk, config, syncOf } from "../../requests/a-sync-request.ts";

const DAY_MS = 86_400_000;
const OUTCOME: SyncOutcome = { report: aReport({}), problem: null };

const anEntry = (more: Partial<Entry> = {}, ask: Partial<TriggerRequest> = {}): Entry => ({
  sync: syncOf(ask),
  config,
  cancel: new AbortController(),
  isStarted: false,
  dueAt: null,
  startedAt: null,
  outcome: null,
  ...more,
});

test("a key means the same run for a day, and a new one after that", () => {
  let now = 0;
  const known = createKnownSyncs({ now: () => now });
  const ask = anAsk({ idempotencyKey: "k" });
  known.keepKey(ask, null, "run-1");
  now = DAY_MS - 1;
  known.dropOld();
  expect(known.runOfKey(ask, null)).toBe("run-1");
  now = DAY_MS;
  known.dropOld();
  expect(known.runOfKey(ask, null)).toBeNull();
});

test("the last thousand ended syncs are remembered, and every sync under way", () => {
  const known = createKnownSyncs({ now: () => 0 });
  const sync = syncOf({});
  const under = anEntry({ sync: { ...sync, syncId: "under-way" } });
  known.add(under);
  for (let n = 0; n < 1002; n++) known.add(anEntry({ sync: { ...sync, syncId: `s${n}` }, outcome: OUTCOME }));
  known.dropOld();
  expect(known.all()).toHaveLength(1001);
  expect(known.get("under-way")).toBe(under);
  expect(known.get("s1")).toBeUndefined();
  expect(known.get("s2")).toBeDefined();
});

test("a key belongs to its profile, and a request without one has none", () => {
  const known = createKnownSyncs({ now: () => 0 });
  const ask = anAsk({ idempotencyKey: "k" });
  known.keepKey(ask, "north", "run-1");
  known.keepKey(anAsk({}), null, "run-2");
  expect(known.runOfKey(ask, "south")).toBeNull();
  expect(known.runOfKey(anAsk({}), null)).toBeNull();
});

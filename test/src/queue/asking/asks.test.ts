// Requests for a sync: what is stored of one, what is refused, and its digest.
import { expect, test } from "vitest";
import type { SyncAsk } from "../../../../src/core/report/triggers.ts";
import { askDigest } from "../../../../src/queue/asking/asks.ts";
import { readability } from "../../../../src/queue/asking/payloads.ts";
import { anAsk, syncOf } from "./an-ask.ts";

test("a sync of all that is due names no part", () => {
  const { since: plain, ...rest } = syncOf({ full: true });
  expect([plain, "reset" in rest, "datedAfter" in rest]).toEqual([3, false, false]);
  expect(syncOf({ reset: ["signals"] })).toMatchObject({ v: 3, since: 3, streams: ["signals"], reset: ["signals"] });
  const dated = syncOf({ since: "2026-11-01" });
  expect(dated).toMatchObject({ v: 3, since: 3, streams: ["contacts", "signals"], datedAfter: "2026-11-01" });
  expect(readability(dated)).toBe("readable");
});

test("the digest of a request knows lists and days, and is that of earlier versions without them", () => {
  const digest = (more: Partial<SyncAsk>) => askDigest(anAsk(more));
  const reset = digest({ reset: ["signals", "accounts"] });
  expect(new Set([digest({}), reset, digest({ reset: ["signals"] }), digest({ since: "2026-11-01" })]).size).toBe(4);
  expect(digest({ reset: ["accounts", "signals", "signals"] })).toBe(reset);
  expect(digest({ reset: [], since: undefined })).toBe(digest({}));
});

import type { SyncAsk } from "../../../../src/core/report/triggers.ts";
import { payloadOf } from "../../../../src/queue/asking/asks.ts";
import { configOf } from "../../../support/given-config.ts";

export const config = configOf(null, {});
export const anAsk = (more: Partial<SyncAsk> = {}): SyncAsk => ({
  streams: [],
  full: false,
  profile: null,
  idempotencyKey: null,
  ...more,
});
export const syncOf = (more: Partial<SyncAsk>) => payloadOf(anAsk(more), config, 0, () => 0.5);

// A request for a sync, and what is queued of it.
import { vocabulary } from "../../../../src/catalog/field-rules.ts";
import { resolveConfig } from "../../../../src/core/config/config.ts";
import type { SyncAsk } from "../../../../src/core/report/triggers.ts";
import { payloadOf } from "../../../../src/queue/asking/asks.ts";

export const config = resolveConfig({ flags: {}, env: {}, file: null, cwd: "/", vocabulary: vocabulary() });
export const anAsk = (more: Partial<SyncAsk>): SyncAsk => ({
  streams: [],
  full: false,
  profile: null,
  idempotencyKey: null,
  ...more,
});
export const syncOf = (more: Partial<SyncAsk>) => payloadOf(anAsk(more), config, 0, () => 0.5);

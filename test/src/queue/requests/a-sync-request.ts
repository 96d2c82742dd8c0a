import type { TriggerRequest } from "../../../../src/core/report/triggers.ts";
import { payloadOf } from "../../../../src/queue/requests/sync-requests.ts";
import { configOf } from "../../../support/given-config.ts";

export const config = configOf(null, {});
export const anAsk = (more: Partial<TriggerRequest> = {}): TriggerRequest => ({
  streams: [],
  full: false,
  profile: null,
  idempotencyKey: null,
  ...more,
});
export const syncOf = (more: Partial<TriggerRequest>) => payloadOf(anAsk(more), config, 0, () => 0.5);

// Fields of `usage_snapshots` from the quota of GET /v1/usage. Pure.
import { meansUnlimited } from "../../api/envelope.ts";
import type { JsonObject } from "../../core/json.ts";

/**
 * Without a limit, the service may send -1 or 0 for `limit` and `remaining`. As numbers they would read as a quota that is
 * used up, so both columns stay empty and `_extra` keeps the quota as received.
 */
export const quotaFigures = (quota: JsonObject): JsonObject =>
  meansUnlimited(quota.limit, quota.remaining) ? { ...quota, limit: null, remaining: null, quota } : quota;

// The rate that headers of a response name.
import type { RateInfo } from "../../src/api/outcome.ts";

/** What headers said; null where they said nothing. */
export const said = (more: Partial<RateInfo>): RateInfo => ({
  limit: null,
  windowMs: null,
  remaining: null,
  resetsAt: null,
  retryAt: null,
  ...more,
});

// The JSON of a lookup's result, for the command and for assistants.
import type { LookupResult } from "../../../jobs/lookup.ts";

/** Contract of `lookup --json`. */
export const lookupJson = (result: LookupResult) => ({
  kind: result.kind,
  input: result.input,
  status: result.status,
  source: result.source,
  credits: result.credits,
  as_of: new Date(result.asOf).toISOString(),
  kept: result.kept,
  ...(result.kind === "company"
    ? {
        company: result.record,
        latest_earnings_call: result.latestEarningsCall,
        latest_earnings_call_analysis: result.latestEarningsCallAnalysis,
      }
    : { insight: result.record, candidates: result.candidates, best_match: result.bestMatch }),
});

// The result of a lookup as JSON and as lines, for the command `lookup` and for MCP.
import type { LookupResult } from "../../../jobs/lookup.ts";
import { exactJson, isJsonObject, type JsonValue } from "../../core/json.ts";
import { counted, formatDuration } from "../../core/text/units.ts";

// Shows the result of a lookup to people: single values first, then lists and objects.

const WIDTH = 24;

const plain = (value: JsonValue): string =>
  typeof value === "object" && value !== null ? exactJson(value) : String(value);

/** Lines of a member; objects and lists are indented below their name. */
const linesOf = (name: string, value: JsonValue, indent: string): readonly string[] => {
  if (value === null) return [];
  if (Array.isArray(value)) {
    const items = value.map((item: JsonValue) => `${indent}  - ${plain(item)}`);
    return items.length === 0 ? [] : [`${indent}${name}`, ...items];
  }
  if (!isJsonObject(value)) return [`${indent}${name.padEnd(WIDTH)}${plain(value)}`];
  const members = Object.entries(value).flatMap(([part, inner]) => linesOf(part, inner, `${indent}  `));
  return members.length === 0 ? [] : [`${indent}${name}`, ...members];
};

const membersOf = (value: JsonValue): readonly string[] =>
  isJsonObject(value) ? Object.entries(value).flatMap(([name, inner]) => linesOf(name, inner, "")) : [];

/** The result as text, with its source and cost. `now`: ms since the epoch. */
export const lookupLines = (result: LookupResult, now: number): string => {
  const { source, credits, asOf, kept, record, latestEarningsCall: call, candidates } = result;
  const age = source === "mirror" ? `, as of ${formatDuration(now - asOf)} ago` : "";
  const later = kept ? "" : "; it enters the mirror with the next run that can write to it";
  return [
    ...membersOf(record),
    ...(call === null ? [] : linesOf("latestEarningsCall", call, "")),
    ...candidates.map((candidate) => `candidate               ${plain(candidate)}`),
    `source: ${source}${age}, ${counted(credits, "credit")}${later}`,
    "",
  ].join("\n");
};

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

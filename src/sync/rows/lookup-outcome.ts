// Reads what a `lookup` found in the service's answer: found, several matches, or nothing, with the id. Pure.
import { z } from "zod";
import { isJsonObject, type JsonObject, type JsonValue } from "../../core/json.ts";

/** Prefix of a scope that is an account's name or domain instead of an account id. */
export const LOOKUP_SCOPE = "lookup:";

/** The question of a lookup; stored with the archived answer. */
export const lookupQuestion = z.object({ kind: z.enum(["company", "account"]), input: z.string() });
export type LookupQuestion = z.output<typeof lookupQuestion>;

export type LookupStatus = "found" | "multiple_matches" | "not_found";

export interface LookupOutcome extends LookupQuestion {
  readonly status: LookupStatus;
  /** Company or account that was found. */
  readonly id: JsonValue;
  readonly candidates: readonly JsonValue[];
  readonly bestMatch: JsonValue;
}

/** Account of an insight: `data.profile.accountId`; null: the answer names none. */
export const accountOf = (data: JsonValue): JsonValue => {
  if (!isJsonObject(data)) return null;
  const profile = isJsonObject(data.profile ?? null) ? data.profile : data;
  return isJsonObject(profile) ? (profile.accountId ?? data.accountId ?? null) : null;
};

const statusOf = (envelope: JsonObject, id: JsonValue): LookupStatus => {
  const { status } = envelope;
  if (status === "multiple_matches" || status === "not_found") return status;
  return id === null ? "not_found" : "found";
};

export const lookupOutcome = (question: LookupQuestion, envelope: JsonObject): LookupOutcome => {
  const data = envelope.data ?? null;
  const company = isJsonObject(data) ? (data.id ?? null) : null;
  const id = question.kind === "company" ? company : accountOf(data);
  const { candidates } = envelope;
  return {
    ...question,
    status: statusOf(envelope, id),
    id,
    candidates: Array.isArray(candidates) ? candidates : [],
    bestMatch: envelope.bestMatch ?? null,
  };
};

/** The outcome as the summary of a lookup's run in sync.runs. */
export const outcomeJson = ({ kind, input, status, id, candidates, bestMatch }: LookupOutcome): JsonObject => ({
  kind,
  input,
  status,
  id,
  candidates,
  best_match: bestMatch,
});

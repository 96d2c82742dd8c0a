// Ledger rows of requests: one per attempt. Pure.
import { readAnswerId } from "../../api/envelope.ts";
import type { ApiOutcome, Verdict } from "../../api/outcome.ts";
import { chargeOf } from "../../api/retry-policy.ts";
import { ENDPOINTS } from "../../catalog/endpoints.ts";
import type { RequestRecord } from "../../warehouse/record/checkpoint.ts";
import { urlOf } from "./calls.ts";
import type { FetchOrder } from "./turn.ts";

type Ordered = Pick<FetchOrder, "runId" | "stream" | "scope" | "call" | "work">;

interface Answered {
  readonly order: Ordered;
  readonly outcome: ApiOutcome;
}

const errorText = (outcome: ApiOutcome, verdict: Verdict): string | null => {
  if (outcome.kind === "ok") return null;
  const isDoubted = verdict.kind === "fail" && verdict.code === "ROUTE_NOT_FOUND";
  if (outcome.kind === "refused") return `${isDoubted ? "ROUTE_NOT_FOUND: " : ""}HTTP ${outcome.status}`;
  return verdict.kind === "fail" ? `${verdict.code}: ${outcome.detail}` : outcome.detail;
};

/** What a ledger row says before its request is answered. */
export const orderedRow = ({ runId, stream, scope, call, work }: Ordered) => ({
  runId,
  stream,
  scope,
  work,
  endpoint: ENDPOINTS[call.endpoint].path,
  url: urlOf(call),
});

/** Row of a request whose process ended before its answer came. It may have cost a credit. */
export const unansweredRow = (
  sent: Pick<RequestRecord, "requestId" | "runId" | "stream" | "scope" | "endpoint" | "url" | "startedAt">,
): RequestRecord => ({
  ...sent,
  work: null,
  status: null,
  charge: "ambiguous",
  durationMs: 0,
  bytes: 0,
  rows: 0,
  attempt: 1,
  error: "no answer before the process ended",
  serviceRequestId: null,
  apiVersion: null,
});

/** Credits of attempts; one without a response may have cost its credit, so it counts. */
export const creditsOf = (requests: readonly RequestRecord[]): number =>
  requests.filter(({ charge }) => charge !== "free").length;

/** Ids that the service gave its response. */
const idOf = (outcome: ApiOutcome): Pick<RequestRecord, "serviceRequestId" | "apiVersion"> => {
  const id =
    outcome.kind === "ok" ? readAnswerId(outcome.envelope) : outcome.kind === "refused" ? outcome.id : undefined;
  return { serviceRequestId: id?.requestId ?? null, apiVersion: id?.apiVersion ?? null };
};

/** Row of an attempt. `attempt`: 1-based. */
export const requestRow = (
  { order, outcome }: Answered,
  requestId: string,
  attempt: number,
  verdict: Verdict,
): RequestRecord => ({
  ...orderedRow(order),
  requestId,
  status: outcome.status,
  charge: chargeOf(outcome),
  startedAt: outcome.sentAt,
  durationMs: outcome.durationMs,
  bytes: outcome.kind === "broken" ? 0 : outcome.bytes,
  rows: outcome.kind === "ok" && Array.isArray(outcome.data) ? outcome.data.length : 0,
  attempt,
  error: errorText(outcome, verdict),
  ...idOf(outcome),
});

// Address check: a 404 says that a company or record does not exist only if the service is at the configured address. Where
// nothing has shown that, its one route that answers every request is asked without parameters: 400, and free (API.md,
// "Errors"). An organization without Full Access may pay a credit for it, once (docs/decisions/unusable-answers.md).

import { rateSaid } from "../../api/limits/quota-signs.ts";
import type { ApiCall, ApiOutcome, Verdict } from "../../api/outcome.ts";
import { causeOf, endpointOf } from "../../api/outcome.ts";
import { pathOf } from "../../catalog/endpoints.ts";
import type { RequestRecord } from "../../warehouse/record/checkpoint.ts";
import { requestRow } from "./ledger-rows.ts";
import { type Turn, type TurnDeps, takeTurn } from "./turn.ts";

type Answered = Extract<Turn, { kind: "outcome" }>;

const QUESTION: ApiCall = { endpoint: "getAccountInsight", path: pathOf("getAccountInsight", {}), query: {} };
/** Statuses of a service that knows the route, whatever it thinks of the request. */
const KNOWS_ROUTE: ReadonlySet<number> = new Set([400, 401, 402, 403, 422]);
const LACKS_ROUTE: ReadonlySet<number> = new Set([301, 302, 303, 307, 308, 404, 405, 410]);

/** What the answer to the question says about the 404 `absent`; null: the service is there. */
export const verdictAfter = (absent: ApiOutcome, outcome: ApiOutcome): Verdict | null => {
  if (outcome.kind === "ok" || (outcome.kind === "refused" && KNOWS_ROUTE.has(outcome.status))) return null;
  const context = (detail: string) => ({ endpoint: endpointOf(absent, undefined), detail });
  if (outcome.kind === "invalid" || (outcome.kind === "refused" && LACKS_ROUTE.has(outcome.status))) {
    const detail = `${causeOf(absent)}; nor was GET ${QUESTION.path}`;
    return { kind: "fail", code: "ROUTE_NOT_FOUND", context: context(detail) };
  }
  const code = outcome.kind === "broken" ? "SERVICE_UNREACHABLE" : "REQUEST_FAILED";
  return { kind: "fail", code, context: { endpoint: `GET ${QUESTION.path}`, detail: causeOf(outcome) } };
};

/** Verdict on a 404, and the ledger rows of what was asked for it. */
type Checked =
  /** null: the service is there, so the 404 is believed. */
  | { readonly kind: "checked"; readonly verdict: Verdict | null; readonly requests: readonly RequestRecord[] }
  | { readonly kind: "unanswered"; readonly turn: Exclude<Turn, Answered> };

export interface AddressCheck {
  /** The service has used a request of this run. */
  hasAnswered(): boolean;
  note(outcome: ApiOutcome): void;
  /** Checks a 404 to a route that names a company or record. */
  check(absent: Answered): Promise<Checked>;
}

/** `isKnown`: an earlier run was answered. */
export const createAddressCheck = (deps: TurnDeps, isKnown: boolean, nextRequestId: () => string): AddressCheck => {
  let answered = false;
  let known = isKnown;
  let asked: Promise<Turn> | null = null;

  return {
    hasAnswered: () => answered,
    note: ({ kind }) => {
      answered ||= kind === "ok";
      known ||= answered;
    },
    check: async (absent) => {
      if (known) return { kind: "checked", verdict: null, requests: [] };
      const isFirst = asked === null;
      const requestId = nextRequestId();
      const order = () => ({ ...absent.order, walkId: null, call: QUESTION, detail: null });
      asked ??= takeTurn(deps, { requestId, number: 1, backOffMs: 0, order });
      const turn = await asked;
      if (turn.kind !== "outcome") {
        asked = null;
        return { kind: "unanswered", turn };
      }
      const verdict = verdictAfter(absent.outcome, turn.outcome);
      known ||= verdict === null;
      if (verdict?.kind === "fail" && verdict.code !== "ROUTE_NOT_FOUND") asked = null;
      if (!isFirst) return { kind: "checked", verdict, requests: [] };
      const { sentAt, durationMs } = turn.outcome;
      const about = { sentAt, answeredAt: sentAt + durationMs };
      deps.sender.observe(rateSaid(turn.outcome, verdict ?? { kind: "absent" }, deps.clock.now()), about);
      const row = requestRow(turn, requestId, 1, verdict ?? { kind: "absent" });
      return { kind: "checked", verdict, requests: [row] };
    },
  };
};

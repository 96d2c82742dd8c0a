// Counts refused requests of a run and decides what follows. Many refusals in a row end the run. A path that is refused for its rate while
// others are answered waits alone. A 403 counts against its route; several refused routes end the run. On a 404, checks first that the
// address is the service's. A company whose lists all fail gets fewer attempts.

import {
  type ApiCall,
  type ApiOutcome,
  causeOf,
  endpointOf,
  type RefusedOutcome,
  type Verdict,
} from "../../api/outcome.ts";
import { rateToObserve } from "../../api/retry-policy.ts";
import { type EndpointName, pathOf } from "../../catalog/endpoints.ts";
import type { RequestRecord } from "../../warehouse/record/checkpoint.ts";

import { type AttemptDeps, type AttemptResult, makeAttempt, requestRow } from "./turn.ts";

// Address check: a 404 says that a company or record does not exist only if the service is at the configured address. Where
// nothing has shown that, its one route that answers every request is asked without parameters: 400, and free (API.md,
// "Errors"). An organization without Full Access may pay a credit for it, once (docs/decisions/unusable-answers.md).

type AnsweredAttempt = Extract<AttemptResult, { kind: "outcome" }>;

const QUESTION: ApiCall = { endpoint: "getAccountInsight", path: pathOf("getAccountInsight"), query: {} };
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
  | { readonly kind: "unanswered"; readonly attempted: Exclude<AttemptResult, AnsweredAttempt> };

/** `isKnown`: an earlier run was answered. */
export const createAddressCheck = (deps: AttemptDeps, isKnown: boolean, nextRequestId: () => string) => {
  let answered = false;
  let known = isKnown;
  let asked: Promise<AttemptResult> | null = null;

  return {
    /** The service has used a request of this run. */
    hasAnswered: () => answered,
    noteUse: (): void => {
      answered = true;
      known = true;
    },
    check: async (absent: AnsweredAttempt): Promise<Checked> => {
      if (known) return { kind: "checked", verdict: null, requests: [] };
      const isFirst = asked === null;
      const requestId = nextRequestId();
      const order = () => ({ ...absent.order, walkId: null, call: QUESTION, detail: null });
      asked ??= makeAttempt(deps, { requestId, number: 1, backOffMs: 0, order });
      const attempted = await asked;
      if (attempted.kind !== "outcome") {
        asked = null;
        return { kind: "unanswered", attempted };
      }
      const verdict = verdictAfter(absent.outcome, attempted.outcome);
      known ||= verdict === null;
      if (verdict?.kind === "fail" && verdict.code !== "ROUTE_NOT_FOUND") asked = null;
      if (!isFirst) return { kind: "checked", verdict, requests: [] };
      const { sentAt, durationMs } = attempted.outcome;
      const about = { sentAt, answeredAt: sentAt + durationMs };
      deps.sender.observe(rateToObserve(attempted.outcome, verdict ?? { kind: "absent" }, deps.clock.now()), about);
      const row = requestRow(attempted, requestId, 1, verdict ?? { kind: "absent" });
      return { kind: "checked", verdict, requests: [row] };
    },
  };
};

/** A run ends after this number of waits and this time, if every request since then was refused. */
const MOST_WAITS = 5;
const MOST_MS = 600_000;

export const createRefusals = () => {
  let since: number | null = null;
  let waits = 0;
  let openAt = Number.NEGATIVE_INFINITY;
  return {
    /** Takes the next outcome and its verdict. Returns true once the run should end. */
    note: (outcome: ApiOutcome, verdict: Verdict, now: number): boolean => {
      if (outcome.kind === "broken") return false;
      const refused = verdict.kind === "wait" || (outcome.kind === "refused" && outcome.status === 429);
      if (!refused) {
        since = null;
        waits = 0;
        return false;
      }
      since ??= now;
      // Requests that were under way together are refused together, which counts once.
      if (outcome.sentAt >= openAt) waits += 1;
      if (verdict.kind === "wait") openAt = Math.max(openAt, verdict.untilMs);
      return waits > MOST_WAITS && now - since >= MOST_MS;
    },
  };
};

/** Refusals of one path for its rate, and the time that they last, after which no limit of a minute explains them. */
const MOST_ALONE = 3;
const MOST_ALONE_MS = 120_000;

/**
 * Refusals of one path alone. A 429 is the limit of the key (API.md, "Limits"), unless one path gets it again and again while others
 * are answered between, and no other is refused.
 */
export const createLoneRefusals = () => {
  let refused: string | null = null;
  let since = 0;
  let times = 0;
  let answered = false;
  return {
    noteUse: (path: string): void => {
      if (path === refused) refused = null;
      answered = true;
    },
    /** Takes a refusal. Whose limit it is: the key's, or the path's own; `over`: it lasts too long for a limit. */
    note: (path: string, now: number): "key" | "own" | "over" => {
      if (path !== refused) [refused, since, times] = [path, now, 0];
      if (times === 0 || answered) times += 1;
      answered = false;
      if (times < MOST_ALONE) return "key";
      return now - since < MOST_ALONE_MS ? "own" : "over";
    },
  };
};

/** Routes that are refused with 403, one of them open to every organization, after which the token counts as refused. */
const MANY_ROUTES = 3;
const SEVERAL_ROUTES = 2;

/** Which routes a run was refused with 403, and whether anything was answered. */
export const createForbiddenRoutes = () => {
  const routes = new Set<EndpointName>();
  let isOpen = false;
  let isPublic = false;
  let latest: RefusedOutcome | null = null;
  return {
    /** Takes the next outcome. `openToAll`: the route needs no Full Access. */
    note: (outcome: ApiOutcome, openToAll: boolean): void => {
      if (outcome.kind === "ok" || outcome.kind === "invalid") isOpen = true;
      if (outcome.kind !== "refused") return;
      if ([400, 404, 410, 422].includes(outcome.status)) isOpen = true;
      if (outcome.status !== 403) return;
      routes.add(outcome.call.endpoint);
      isPublic ||= openToAll;
      latest = outcome;
    },
    /** The refusal if the token is refused; `ended`: no more requests follow. */
    refusal: (ended: boolean): RefusedOutcome | null =>
      !isOpen && (ended ? routes.size >= SEVERAL_ROUTES : isPublic && routes.size >= MANY_ROUTES) ? latest : null,
  };
};

/** Failed attempts at the lists of one company, after which each of its requests is tried twice: once more, since the fault may be another one. */
const MOST_OF_COMPANY = 6;

/** Failed attempts by company or record. The organization's own lists have no limit here. */
export const createScopeFailures = () => {
  const failures = new Map<string, number>();
  return {
    failed: (scope: string): void => void failures.set(scope, (failures.get(scope) ?? 0) + 1),
    /** Most attempts at a request of the scope; null: as many as else. */
    attempts: (scope: string): number | null =>
      scope !== "" && (failures.get(scope) ?? 0) >= MOST_OF_COMPANY ? 2 : null,
  };
};

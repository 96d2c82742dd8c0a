// Refusals of a run. In a row, over all requests: a service that refuses every request for long does not mean speed, and
// waiting on would only take time. Of routes: a 403 belongs to its route until all of several routes are refused so. Of companies:
// one that fails in each of its lists is not asked six times for each.
import type { ApiOutcome, RefusedOutcome, Verdict } from "../../api/outcome.ts";
import type { EndpointName } from "../../catalog/endpoints.ts";

/** A run ends after this number of waits and this time, if every request since then was refused. */
const MOST_WAITS = 5;
const MOST_MS = 600_000;

export interface Refusals {
  /** Takes the next outcome and its verdict. Returns true once the run should end. */
  note(outcome: ApiOutcome, verdict: Verdict, now: number): boolean;
}

export const createRefusals = (): Refusals => {
  let since: number | null = null;
  let waits = 0;
  let openAt = Number.NEGATIVE_INFINITY;
  return {
    note: (outcome, verdict, now) => {
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

// Which requests have a line in the audit trail, and what the line says of their address: the path's template and
// known names of parameters, never a value. Pure.
import { matchRoute } from "../../replica/query/route-match.ts";
import { Refusal } from "../../replica/refusal.ts";
import type { Action } from "../../warehouse/audit/audit-line.ts";
import { isSafe } from "../access/access-checks.ts";

/** Method and template → action. A logout changes nothing that needs a line. */
const ACTIONS: Readonly<Record<string, Action | null>> = {
  "POST /api/query": "query",
  "POST /api/syncs": "sync",
  "DELETE /api/syncs/:id": "cancel",
  "POST /api/verifications": "verify",
  "POST /api/feedback": "feedback",
  "POST /api/following": "follow",
  "DELETE /api/following": "unfollow",
  "POST /login": "login",
  "POST /logout": null,
};
/** Actions that have a line when they begin, so that none is done without one. */
export const BEGUN: readonly Action[] = ["query", "sync", "cancel", "verify", "feedback", "follow", "unfollow"];

const V1 = /^(\/profiles\/:profile)?\/v1\/\*$/;
/** Routes whose addresses may name records. */
const READS = ["/api/runs/:id/requests", "/api/changes", "/api/search"];
const OWN_PARAMETERS = ["profile", "before", "stream", "offset", "after", "limit", "tables", "q", "in", "since"];

/** The action of a request; null: it has no line. `template`: as registered; null: no such route. */
export const actionOf = (method: string, template: string | null): Action | null => {
  const named = ACTIONS[`${method} ${template}`];
  if (named !== undefined) return named;
  if (template !== null && (V1.test(template) || READS.includes(template))) return "read";
  return isSafe(method) ? null : "request";
};

const matched = (method: string, path: string) => {
  try {
    return matchRoute(method === "HEAD" ? "GET" : method, path).route;
  } catch (error) {
    if (error instanceof Refusal) return null;
    throw error;
  }
};

export interface Place {
  readonly route: string | null;
  readonly parameters: readonly string[];
}

/** Address of a request without values. */
export const placeOf = (method: string, url: string, template: string | null): Place => {
  const [path = "", query = ""] = url.split(/\?(.*)/s);
  const names = [...new Set(new URLSearchParams(query).keys())];
  const shown = (known: readonly string[]) => [...new Set(names.map((name) => (known.includes(name) ? name : "?")))];
  const prefix = V1.exec(template ?? "");
  if (prefix === null)
    return { route: template?.replace(/:(\w+)/g, "{$1}") ?? null, parameters: shown(OWN_PARAMETERS) };
  const inProfile = prefix[1] !== undefined;
  const route = matched(method, inProfile ? path.replace(/^\/profiles\/[^/]*/, "") : path);
  return {
    route: `${inProfile ? "/profiles/{profile}" : ""}${route?.path ?? "/v1/?"}`,
    parameters: shown(route?.query.map(({ name }) => name) ?? []),
  };
};

// Finds the route of a request and its path parameters. PURE.

import { ENDPOINTS, type RouteSpec } from "../../catalog/endpoints.ts";
import { Refusal } from "../refusal.ts";

export interface RouteMatch {
  readonly route: RouteSpec;
  /** Decoded path parameters. */
  readonly path: Readonly<Record<string, string>>;
}

const decode = (segment: string): string => {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new Refusal("bad_request", "The path is not correctly percent-encoded.");
  }
};

/** A website URL may be unencoded: the last parameter of by-input takes the rest of the path. */
const matchSegments = (route: RouteSpec, segments: readonly string[]): Record<string, string> | undefined => {
  const template = route.path.split("/").slice(1);
  const takesRest = route.name === "resolveCompany";
  if (takesRest ? segments.length < template.length : segments.length !== template.length) return undefined;
  const found: Record<string, string> = {};
  for (const [index, part] of template.entries()) {
    const name = /^\{(\w+)\}$/.exec(part)?.[1];
    const segment = takesRest && index === template.length - 1 ? segments.slice(index).join("/") : segments[index];
    if (segment === undefined) return undefined;
    if (name === undefined) {
      if (segment !== part) return undefined;
    } else {
      if (segment === "") return undefined;
      found[name] = decode(segment);
    }
  }
  return found;
};

/**
 * HEAD asks for what GET answers, without its body. Throws a 404 refusal for an unknown path, 405 for a known one with
 * another method.
 */
export const matchRoute = (given: string, path: string): RouteMatch => {
  const method = given === "HEAD" ? "GET" : given;
  const segments = path.split("/").slice(1);
  const allow: string[] = [];
  for (const route of Object.values(ENDPOINTS)) {
    const found = matchSegments(route, segments);
    if (found === undefined) continue;
    if (route.method === method) return { route, path: found };
    allow.push(route.method);
  }
  if (allow.length > 0) throw new Refusal("method_not_allowed", `${method} is not allowed here.`, allow);
  throw new Refusal("not_found", "There is no such route.");
};

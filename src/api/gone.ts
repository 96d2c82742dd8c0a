// Decides what a 404 or 410 means, by its route and body. Pure.
import { ENDPOINTS } from "../catalog/endpoints.ts";
import type { ApiOutcome } from "./outcome.ts";

export const isGone = (outcome: ApiOutcome): boolean =>
  outcome.kind === "refused" && [404, 410].includes(outcome.status);

/** Text in place of JSON. "All bodies are JSON" (API.md), so a gateway may have sent it; a service may leave out the body. */
export const isProse = (outcome: ApiOutcome): boolean =>
  outcome.kind === "refused" && outcome.excerpt !== "" && !/^[{["]/.test(outcome.excerpt);

/** Routes with a record or company in their path: there 404 means "does not exist" (API.md, "Errors"). */
export const namesOneThing = ({ call }: ApiOutcome): boolean => ENDPOINTS[call.endpoint].path.includes("{");

/** A 404 of a list means that its route is missing; one of a single account's insight need not (API.md does not say). */
export const lacksRoute = (outcome: ApiOutcome): boolean =>
  isGone(outcome) && outcome.call.query.accountId === undefined;

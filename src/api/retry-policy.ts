// Retry policy: THE table of verdicts on outcomes, read from top to bottom; the first matching row applies. Pure:
// time and randomness are arguments. No other code decides retries. docs/ERRORS.md shows the same table.
import { ENDPOINTS } from "../catalog/endpoints.ts";
import type { ErrorCode } from "../core/errors.ts";
import {
  creditsReturnAt,
  isEndless,
  isLongThrottle,
  isQuotaRefusal,
  LONGEST_RATE_WAIT_MS,
  openAgainAt,
} from "./limits/quota-signs.ts";
import type { ApiOutcome, BrokenOutcome, FailContext, RateInfo, Verdict, VerdictContext } from "./outcome.ts";
import { causeOf, endpointOf } from "./outcome.ts";

// Decides what a 404 or 410 means, by its route and body. Pure.

const isGone = (outcome: ApiOutcome): boolean => outcome.kind === "refused" && [404, 410].includes(outcome.status);

/** Text in place of JSON. "All bodies are JSON" (API.md), so a gateway may have sent it; a service may leave out the body. */
export const isProse = (outcome: ApiOutcome): boolean =>
  outcome.kind === "refused" && isGone(outcome) && outcome.excerpt !== "" && !/^[{["]/.test(outcome.excerpt);

/** Routes with a record or company in their path: there 404 means "does not exist" (API.md, "Errors"). */
export const namesOneThing = ({ call }: ApiOutcome): boolean => ENDPOINTS[call.endpoint].path.includes("{");

/**
 * A lasting redirect to another record of the same kind: this one was merged into it. A redirect to an address of the same
 * record, or to a page of a gateway, says nothing of it.
 */
const isMerged = (outcome: ApiOutcome): boolean => {
  if (outcome.kind !== "refused" || ![301, 308].includes(outcome.status) || outcome.movedTo === undefined) return false;
  const [collection = ""] = ENDPOINTS[outcome.call.endpoint].path.split("{");
  const idIn = (path: string) => path.slice(path.indexOf(collection) + collection.length).split("/")[0];
  const successor = outcome.movedTo.includes(collection) ? idIn(outcome.movedTo) : "";
  return successor !== "" && successor !== idIn(outcome.call.path);
};

/** A 404 of a list means that its route is missing; one of a single account's insight need not (API.md does not say). */
const lacksRoute = (outcome: ApiOutcome): boolean => isGone(outcome) && outcome.call.query.accountId === undefined;

const DEFAULT_MAX_ATTEMPTS = 6;
/** Attempts at a response that was, or may have been, charged, and at what a gateway may call gone. */
const MAX_CHARGED_ATTEMPTS = 3;
/** Together with the waits, five to ten minutes: before a run whose every request is refused ends (RATE_REFUSED). */
const MAX_RATE_ATTEMPTS = 15;
const BASE_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 60_000;

/** Exponential backoff with full jitter before the attempt after `attempt`, in ms: within 1 s, 2 s, 4 s, ... 60 s. */
export const backoffMs = (attempt: number, random: number): number =>
  Math.round(random * Math.min(LONGEST_WAIT_MS, BASE_WAIT_MS * 2 ** Math.min(attempt - 1, 30)));

const refusedStatus = (outcome: ApiOutcome): number | null => (outcome.kind === "refused" ? outcome.status : null);

const isBroken = (outcome: ApiOutcome, fits: (broken: BrokenOutcome) => boolean): boolean =>
  outcome.kind === "broken" && fits(outcome);

type Decide = (outcome: ApiOutcome, context: VerdictContext) => Verdict;

const give =
  (kind: "fail" | "stop", code: ErrorCode, more: (outcome: ApiOutcome) => FailContext = () => ({})): Decide =>
  (outcome, context) => ({
    kind,
    code,
    context: { endpoint: endpointOf(outcome, context.stream), detail: causeOf(outcome), ...more(outcome) },
  });

/** A repeated POST has a second effect, unless the first certainly had none. */
const mayRepeat = (outcome: ApiOutcome): boolean =>
  ENDPOINTS[outcome.call.endpoint].method === "GET" ||
  outcome.kind === "refused" ||
  isBroken(outcome, ({ reached }) => reached === "unsent");

const retry =
  (most: number, code: ErrorCode): Decide =>
  (outcome, context) => {
    const attempts = Math.min(most, DEFAULT_MAX_ATTEMPTS, context.maxAttempts ?? most);
    if (context.attempt >= attempts || !mayRepeat(outcome)) return give("fail", code)(outcome, context);
    return { kind: "retry", waitMs: backoffMs(context.attempt, context.random) };
  };

const retryPaid =
  (code: ErrorCode): Decide =>
  (outcome, context) =>
    retry(Math.min(MAX_CHARGED_ATTEMPTS, context.maxPaidAttempts ?? Infinity), code)(outcome, context);

const waitForRate: Decide = (outcome, context) => {
  const { attempt, random, now } = context;
  if (attempt >= MAX_RATE_ATTEMPTS) return give("fail", "REQUEST_FAILED")(outcome, context);
  // Without a time in the response, wait at least half of the backoff: a shorter wait would only cause the next
  // refusal. So did a time that the service named before: some count refused requests too, and name the time as if they did not.
  const patience = (step: number) => now + backoffMs(step, 0.5 + random / 2);
  const named = openAgainAt(outcome);
  const untilMs = named === null ? patience(attempt + 1) : Math.max(named, attempt > 1 ? patience(attempt) : now);
  return { kind: "wait", untilMs, why: "rate" };
};

const untilText = (at: number | null): string => (at === null ? "" : ` until ${new Date(at).toISOString()}`);

const stopWithoutCredits: Decide = (outcome, context) => {
  const at = creditsReturnAt(outcome, context.creditsResetAt ?? null, context.now);
  return give("stop", "QUOTA_SPENT", () => ({ until: untilText(at) }))(outcome, context);
};

const statusOf = (outcome: ApiOutcome): FailContext => ({ status: refusedStatus(outcome) ?? 0 });
const credentialsOf = (outcome: ApiOutcome): FailContext => {
  const problem = outcome.kind === "refused" ? outcome.tokenProblem : undefined;
  return { ...statusOf(outcome), token: problem === undefined ? "" : ` The token could not be read again: ${problem}` };
};
const sizeLimit = (outcome: ApiOutcome): FailContext =>
  outcome.kind === "broken" && outcome.limitBytes !== undefined ? { limit: outcome.limitBytes } : {};

/** A refusal with this status that names a time within the hour. */
const isClosedForNow = (outcome: ApiOutcome, status: number, now: number): boolean => {
  const retryAt = outcome.kind === "refused" && outcome.status === status ? outcome.rate?.retryAt : null;
  return typeof retryAt === "number" && retryAt - now <= LONGEST_RATE_WAIT_MS;
};

interface VerdictRow {
  /** Outcome, as text. */
  readonly when: string;
  /** Effect on credits. */
  readonly credit: "spent" | "free" | "ambiguous";
  /** Consequence, as text. */
  readonly follows: string;
  readonly applies: (outcome: ApiOutcome, context: VerdictContext) => boolean;
  readonly decide: Decide;
}

/** THE table. Source: API.md, "Errors" (statuses for credentials, rate and server errors are not shown there). */
export const VERDICT_ROWS: readonly VerdictRow[] = [
  {
    when: "200 with an envelope",
    credit: "spent",
    follows: "It is used.",
    applies: ({ kind }) => kind === "ok",
    decide: () => ({ kind: "use" }),
  },
  {
    when: "200 without an envelope",
    credit: "spent",
    follows: "Tried again, at most 3 times in all; then the scope fails.",
    applies: ({ kind }) => kind === "invalid",
    decide: retryPaid("RESPONSE_INVALID"),
  },
  {
    when: "402, 403 to a request that names heavy fields",
    credit: "free",
    follows: "Asked again without them; if that is refused as well, the run stops.",
    applies: (outcome, { namesContent = false }) => namesContent && [402, 403].includes(refusedStatus(outcome) ?? 0),
    decide: (outcome) => ({ kind: "adjust", detail: causeOf(outcome) }),
  },
  {
    when: "402, or 403 or 429 with no credits left",
    credit: "free",
    follows: "The run stops; the next one after the reset continues.",
    applies: (outcome, { remainingCredits, now }) => isQuotaRefusal(outcome, remainingCredits, now),
    decide: stopWithoutCredits,
  },
  {
    when: "403 with a Retry-After within the hour",
    credit: "free",
    follows: "Every request waits until then.",
    applies: (outcome, { now }) => isClosedForNow(outcome, 403, now),
    decide: waitForRate,
  },
  {
    when: "403 in a sync",
    credit: "free",
    follows: "The scope fails. The run stops if nothing was answered and several routes were refused so.",
    applies: (outcome, { routesDiffer = false }) => routesDiffer && refusedStatus(outcome) === 403,
    decide: give("fail", "ROUTE_FORBIDDEN", statusOf),
  },
  {
    when: "401, 403",
    credit: "free",
    follows: "The run stops: no other request would be answered.",
    applies: (outcome) => [401, 403].includes(refusedStatus(outcome) ?? 0),
    decide: give("stop", "CREDENTIALS_REFUSED", credentialsOf),
  },
  {
    when: "429 with a Retry-After of a month or more",
    credit: "free",
    follows: "The run stops: neither a rate nor a quota takes so long. The next one asks again.",
    applies: (outcome, { now }) => refusedStatus(outcome) === 429 && isEndless(outcome, now),
    decide: give("stop", "RATE_REFUSED", () => ({ how: ", and asks to wait for a month or more" })),
  },
  {
    when: "429 with a Retry-After of more than an hour, while credits are left",
    credit: "free",
    follows: "The scope fails: this run does not wait so long. The next one asks again.",
    applies: (outcome, { now }) => refusedStatus(outcome) === 429 && isLongThrottle(outcome, now),
    decide: give("fail", "RATE_REFUSED", (outcome) => ({ how: untilText(openAgainAt(outcome)) })),
  },
  {
    when: "429",
    credit: "free",
    follows: "Every request waits until Retry-After or the reset, else for a growing time.",
    applies: (outcome) => refusedStatus(outcome) === 429,
    decide: waitForRate,
  },
  {
    when: "503 with a Retry-After within the hour",
    credit: "free",
    follows: "Every request waits until then.",
    applies: (outcome, { now }) => isClosedForNow(outcome, 503, now),
    decide: waitForRate,
  },
  {
    when: "404, 410 where the path names a record or company; 301, 308 that name another one",
    credit: "free",
    follows:
      "It does not exist. Text in place of JSON may be a gateway's: it is asked for 3 times, and rows go only after several syncs.",
    applies: (outcome) => namesOneThing(outcome) && (isGone(outcome) || isMerged(outcome)),
    decide: (outcome, context) =>
      isProse(outcome) && context.attempt < Math.min(MAX_CHARGED_ATTEMPTS, context.maxAttempts ?? Infinity)
        ? retry(MAX_CHARGED_ATTEMPTS, "REQUEST_FAILED")(outcome, context)
        : { kind: "absent" },
  },
  {
    when: "400, 422",
    credit: "free",
    follows: "Asked again with other parameters, where there are any; else the scope fails.",
    applies: (outcome) => [400, 422].includes(refusedStatus(outcome) ?? 0),
    decide: (outcome) => ({ kind: "adjust", detail: causeOf(outcome) }),
  },
  {
    when: "408, 425, 5xx",
    credit: "free",
    follows: "Tried again with growing waits, at most 6 times in all; then the scope fails.",
    applies: (outcome) => {
      const status = refusedStatus(outcome) ?? 0;
      return status === 408 || status === 425 || (status >= 500 && status <= 599);
    },
    decide: retry(Infinity, "REQUEST_FAILED"),
  },
  {
    when: "301, 302, 303, 307, 308",
    credit: "free",
    follows: "The scope fails. No redirect is followed.",
    applies: (outcome) => [301, 302, 303, 307, 308].includes(refusedStatus(outcome) ?? 0),
    decide: give("fail", "REDIRECTED", statusOf),
  },
  {
    when: "any other status",
    credit: "free",
    follows: "The scope fails.",
    applies: ({ kind }) => kind === "refused",
    decide: (outcome, context) => {
      const missing = context.serviceAnswers === true ? "ROUTE_MISSING" : "ROUTE_NOT_FOUND";
      return give("fail", lacksRoute(outcome) ? missing : "REQUEST_FAILED")(outcome, context);
    },
  },
  {
    when: "a request that was aborted before it left",
    credit: "free",
    follows: "The run is being interrupted.",
    applies: (outcome) => isBroken(outcome, ({ reason, reached }) => reason === "aborted" && reached === "unsent"),
    decide: give("stop", "INTERRUPTED"),
  },
  {
    when: "a request that was aborted within the body of a 200",
    credit: "spent",
    follows: "The run is being interrupted.",
    applies: (outcome) => isBroken(outcome, ({ reason, status }) => reason === "aborted" && status === 200),
    decide: give("stop", "INTERRUPTED"),
  },
  {
    when: "a request that was aborted before any answer",
    credit: "ambiguous",
    follows: "The run is being interrupted.",
    applies: (outcome) => isBroken(outcome, ({ reason }) => reason === "aborted"),
    decide: give("stop", "INTERRUPTED"),
  },
  {
    when: "a body larger than max_body_bytes",
    credit: "spent",
    follows: "The scope fails: the next answer would be as large.",
    applies: (outcome) => isBroken(outcome, ({ reason }) => reason === "too_large"),
    decide: give("fail", "RESPONSE_TOO_LARGE", sizeLimit),
  },
  {
    when: "headers larger than 16 KiB",
    credit: "spent",
    follows: "The scope fails: the next answer would have the same headers.",
    applies: (outcome) => isBroken(outcome, ({ reason }) => reason === "headers"),
    decide: give("fail", "REQUEST_FAILED"),
  },
  {
    when: "a certificate that this machine does not trust",
    credit: "free",
    follows: "The run stops: every other request would meet the same certificate.",
    applies: (outcome) => isBroken(outcome, ({ reason }) => reason === "certificate"),
    decide: give("stop", "CERTIFICATE_REFUSED"),
  },
  {
    when: "no connection: DNS, TCP, TLS or proxy",
    credit: "free",
    follows: "Tried again with growing waits, at most 6 times in all; then the scope fails.",
    applies: (outcome) => isBroken(outcome, ({ reached }) => reached === "unsent"),
    decide: retry(Infinity, "SERVICE_UNREACHABLE"),
  },
  {
    when: "200 whose body broke off or cannot be unpacked",
    credit: "spent",
    follows: "Tried again, at most 3 times in all; then the scope fails.",
    applies: (outcome) => isBroken(outcome, ({ status }) => status === 200),
    decide: retryPaid("REQUEST_FAILED"),
  },
  {
    when: "an answer against the rules of HTTP, e.g. with two lengths",
    credit: "ambiguous",
    follows: "Tried again, at most 3 times in all; then the scope fails.",
    applies: (outcome) => isBroken(outcome, ({ reason }) => reason === "form"),
    decide: retryPaid("SERVICE_UNREACHABLE"),
  },
  {
    when: "a connection that ended, or a time limit, before any answer",
    credit: "ambiguous",
    follows: "Tried again with growing waits, at most 6 times in all; then the scope fails.",
    applies: ({ kind }) => kind === "broken",
    decide: retry(Infinity, "SERVICE_UNREACHABLE"),
  },
];

/** The row of an outcome; the last row matches everything else. */
export const rowFor = (outcome: ApiOutcome, context: VerdictContext): VerdictRow | undefined =>
  VERDICT_ROWS.find((row) => row.applies(outcome, context));

/** Verdict on one outcome. Throws nothing. Source: the table above. */
export const verdictOf = (outcome: ApiOutcome, context: VerdictContext): Verdict =>
  (rowFor(outcome, context)?.decide ?? give("fail", "UNEXPECTED"))(outcome, context);

/**
 * Charge of an outcome: a 200 is charged (API.md, "Errors", rule 3), whatever its body is. A request without a status
 * stays ambiguous until the service's own figures settle it. Throws nothing.
 */
export const chargeOf = (outcome: ApiOutcome): VerdictRow["credit"] => {
  if (outcome.kind === "ok" || outcome.kind === "invalid") return "spent";
  if (outcome.kind === "refused" || outcome.reached === "unsent") return "free";
  // The status is in the headers that were refused; a service rarely sends this many with a refusal.
  return outcome.status === 200 || outcome.reason === "headers" ? "spent" : "ambiguous";
};

/**
 * Rate information for the limiter. A refusal that ends the run carries none: credits return in their own time, and
 * waiting for them in the limiter would delay this run and later ones. The Retry-After of a refusal counts only if
 * its verdict is to wait. Throws nothing.
 */
export const rateToObserve = (outcome: ApiOutcome, verdict: Verdict, now: number): RateInfo | null => {
  if (outcome.kind === "broken" || outcome.rate === null || verdict.kind === "stop") return null;
  const { retryAt } = outcome.rate;
  const waits = verdict.kind === "wait" || (outcome.kind === "ok" && (retryAt ?? now) - now <= LONGEST_RATE_WAIT_MS);
  return waits ? outcome.rate : { ...outcome.rate, retryAt: null };
};

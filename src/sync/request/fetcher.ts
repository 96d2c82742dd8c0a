// Fetcher: sends one request until its response is final. turn.ts makes each attempt; the retry policy (api/retry-policy.ts) decides
// whether another one follows. Archives paid responses, and ends the run at once if a response requires it.
import { openAgainAt, refusalCause } from "../../api/limits/quota-signs.ts";
import { type ApiOutcome, causeOf, type OkOutcome, type RefusedOutcome, type Verdict } from "../../api/outcome.ts";
import { type Redactor, redactOutcome } from "../../api/redact.ts";
import { chargeOf, isProse, namesOneThing, rateToObserve, verdictOf } from "../../api/retry-policy.ts";
import { ENDPOINTS } from "../../catalog/endpoints.ts";
import { isStreamName, type LedgerStream, namesContent, streamSpec } from "../../catalog/streams.ts";
import { DuckmirrorError, type ErrorCode } from "../../core/errors.ts";
import type { RequestRecord } from "../../warehouse/record/checkpoint.ts";
import { urlOf } from "./calls.ts";

import { createOutage, type FailureSign, type Outage } from "./outage.ts";
import {
  createAddressCheck,
  createForbiddenRoutes,
  createLoneRefusals,
  createRefusals,
  createScopeFailures,
} from "./refusals.ts";
import { type SizeFailure, sizeFailureOf } from "./smaller-pages.ts";
import type { Sender } from "./turn.ts";
import { type AttemptDeps, type AttemptResult, makeAttempt, type PlannedRequest, requestRow } from "./turn.ts";

// Applies redaction to responses of the service, before anything of them is archived, planned with or loaded. The
// redactor itself is pure (api/redact.ts).

/** The sender with every outcome redacted. */
export const redactingSender = (sender: Sender, redact: Redactor | null): Sender =>
  redact === null
    ? sender
    : {
        ...sender,
        send: async (request, ends) => {
          const result = await sender.send(request, ends);
          return result.kind === "outcome" ? { ...result, outcome: redactOutcome(result.outcome, redact) } : result;
        },
      };

interface FetcherDeps extends AttemptDeps {
  /** In [0, 1): jitter. */
  readonly random: () => number;
  /** Ends the run, because no other request would succeed either. */
  readonly stop: (error: DuckmirrorError) => void;
  /** Credits left by the last report of earlier runs; null or unset: not known. */
  readonly lastRemaining?: number | null;
  /** The run asks several routes, so a 403 of one of them does not end it. */
  readonly routesDiffer?: boolean;
  /** False: no earlier run was answered, so a 404 may come from a wrong address. Unset: one was. */
  readonly addressKnown?: boolean;
}

export type FetchResult =
  | { readonly kind: "answer"; readonly requestId: string; readonly receivedAt: number; readonly outcome: OkOutcome }
  /** 404: the record or company does not exist. */
  /** `doubtful`: its body is text, not JSON, so a gateway may have sent it. */
  | { readonly kind: "absent"; readonly requestId: string; readonly receivedAt: number; readonly doubtful: boolean }
  /** 400 or 422, or heavy fields are not allowed: send another form of the request. */
  | { readonly kind: "adjust"; readonly outcome: RefusedOutcome }
  /** `notFound`: 404 or 410 to a route that names no record or company. */
  | {
      readonly kind: "failed";
      readonly error: DuckmirrorError;
      readonly notFound: boolean;
      /** A smaller page may be answered; null: the size of the page is not the reason. */
      readonly size: SizeFailure | null;
      /** The last attempt cost a credit. */
      readonly paid: boolean;
      /** The refusal is this route's or company's own, and would come again. */
      readonly own: boolean;
    }
  /** Nothing was sent: no credit is left, and no request in flight can refund one. */
  | { readonly kind: "no-credit"; readonly error: DuckmirrorError }
  /** The run ends, because of this request or another reason. */
  | { readonly kind: "ended" };

/** Result and ledger rows of all attempts; the row of the final response is last. */
export interface Fetched {
  readonly result: FetchResult;
  readonly requests: readonly RequestRecord[];
}

/** The wanted request, built when it may be sent; later attempts keep it. */
export interface FetchOptions {
  readonly order: () => PlannedRequest;
  /** Called once, when the first attempt has its slot. */
  readonly onLeaving?: () => void;
}

export interface Fetcher {
  /** Never rejects, except for faults of duckmirror. */
  fetch(wanted: FetchOptions): Promise<Fetched>;
  isFailing(stream: LedgerStream): boolean;
  /** Several requests got the same answer, paid and of no use: send one request at a time. */
  isDoubtful(): boolean;
  /** The error of a run to which several routes, and nothing else, were answered with 403. Asked when the run is over. */
  tokenRefused(): DuckmirrorError | null;
}

type AnsweredAttempt = Extract<AttemptResult, { kind: "outcome" }>;
/** The limit that a 429 belongs to: the key's, or that of one path alone (refusals.ts). */
type RateLimitOf = ReturnType<ReturnType<typeof createLoneRefusals>["note"]>;

/** What a failure says about the service; null: that it is there. */
const outageSign = (code: ErrorCode, outcome: ApiOutcome): FailureSign | null => {
  if (code === "SERVICE_UNREACHABLE" && outcome.kind === "broken" && outcome.reached === "unknown") return "silent";
  if (code === "SERVICE_UNREACHABLE" || code === "ROUTE_NOT_FOUND") return "unreachable";
  return ["REQUEST_FAILED", "RESPONSE_INVALID", "REDIRECTED", "RATE_REFUSED"].includes(code) ? "refused" : null;
};

/** A refusal of a route, or of a company or record: other requests may be answered. */
const isOwn = (outcome: ApiOutcome): boolean =>
  outcome.kind === "refused" && (outcome.status === 403 || namesOneThing(outcome));

/** A definite answer about one company or record, such as a redirect to the one that it was merged into. */
const isDefinite = (outcome: ApiOutcome): boolean =>
  outcome.kind === "refused" && (outcome.status === 403 || (outcome.status < 500 && namesOneThing(outcome)));

const USED: Verdict = { kind: "use" };

const keep = async ({ archive }: FetcherDeps, attempted: AnsweredAttempt, requestId: string, receivedAt: number) => {
  const { order, outcome } = attempted;
  if ((outcome.kind !== "ok" && outcome.kind !== "invalid") || outcome.wire === null) return;
  const { runId, stream, scope, walkId, call, detail } = order;
  const { sentAt, status, bytes } = outcome;
  const about = { requestId, runId, stream, scope, walkId, endpoint: call.endpoint, url: urlOf(call), detail };
  await archive.response({ ...about, sentAt, receivedAt, status, bytes }, outcome.wire);
};

/** Result of an attempt without a response. After the first attempt no other request could use the credit better. */
const withoutAnswer = (
  attempted: Exclude<AttemptResult, AnsweredAttempt>,
  attempt: number,
  { stop }: FetcherDeps,
): FetchResult => {
  if (attempted.kind === "ended") return attempted;
  if (attempted.kind === "unaddressable") {
    const { endpoint, path } = attempted.call;
    const context = { endpoint: ENDPOINTS[endpoint].path, detail: `the id in ${path} leads to another route` };
    const error = new DuckmirrorError("REQUEST_FAILED", context);
    return { kind: "failed", error, notFound: false, size: null, paid: false, own: false };
  }
  if (attempted.kind === "no-credit" && attempt === 1) return attempted;
  stop(attempted.error);
  return { kind: "ended" };
};

/** Result of an attempt; null: another attempt. */
const resultOf = (
  { outcome }: AnsweredAttempt,
  verdict: Verdict,
  requestId: string,
  receivedAt: number,
): FetchResult | null => {
  switch (verdict.kind) {
    case "use":
      throw new TypeError(`a ${outcome.kind} outcome cannot be used`);
    case "absent":
      return { kind: "absent", requestId, receivedAt, doubtful: isProse(outcome) };
    case "adjust":
      if (outcome.kind === "refused") return { kind: "adjust", outcome };
      throw new TypeError(`a ${outcome.kind} outcome cannot be adjusted`);
    case "wait":
    case "retry":
      return null;
    case "fail": {
      const error = new DuckmirrorError(verdict.code, verdict.context);
      const notFound = outcome.kind === "refused" && [404, 410].includes(outcome.status);
      const paid = chargeOf(outcome) === "spent";
      return { kind: "failed", error, notFound, size: sizeFailureOf(outcome), paid, own: isOwn(outcome) };
    }
    case "stop":
      return { kind: "ended" };
    default:
      return verdict satisfies never;
  }
};

/** Informs limiter and run at once, before another request is sent with outdated knowledge. */
const inform = (
  { outcome, order }: AnsweredAttempt,
  verdict: Verdict,
  { deps: { sender, clock, stop, emit }, refusals }: Watch,
  limit: RateLimitOf,
): void => {
  const { sentAt, durationMs } = outcome;
  const end = verdict.kind === "wait" ? ("refused" as const) : ("lost" as const);
  const isAnswered = verdict.kind !== "wait" && outcome.kind !== "broken";
  sender.observe(rateToObserve(outcome, verdict, clock.now()), {
    sentAt,
    answeredAt: sentAt + durationMs,
    ...(isAnswered ? {} : { end }),
  });
  if (verdict.kind === "stop") stop(new DuckmirrorError(verdict.code, verdict.context));
  if (refusals.note(outcome, verdict, clock.now()))
    stop(new DuckmirrorError("RATE_REFUSED", { how: ", every one of the last ten minutes", detail: causeOf(outcome) }));
  const { stream } = order;
  if (verdict.kind === "retry") {
    emit({ kind: "waiting", why: "retry", until: clock.now() + verdict.waitMs, stream });
  }
  if (verdict.kind !== "wait") return;
  const cause = refusalCause(outcome, clock.now());
  if (limit === "key") sender.backOff({ untilMs: verdict.untilMs, cause, namedAt: openAgainAt(outcome) });
  emit({ kind: "waiting", why: verdict.why, until: verdict.untilMs, stream });
};

/** Notes what the result says about the service, and ends the run if it fails as a whole. */
const noteOutage = (
  outage: Outage,
  attempted: AnsweredAttempt,
  result: FetchResult,
  stop: FetcherDeps["stop"],
): void => {
  const { stream, scope } = attempted.order;
  if (result.kind === "ended" || result.kind === "no-credit") return;
  const isFailure = result.kind === "failed" && !isDefinite(attempted.outcome);
  const sign = isFailure ? outageSign(result.error.code, attempted.outcome) : null;
  if (result.kind !== "failed" || sign === null) {
    outage.alive(stream);
    return;
  }
  const end = outage.failed(stream, sign, scope);
  if (end === "unreachable") stop(result.error);
  if (end === "failing") stop(new DuckmirrorError("SERVICE_FAILING", { detail: result.error.message }));
};

/** Notes an answer that was paid and cannot be used. */
const noteWaste = (outage: Outage, { outcome, order: { stream } }: AnsweredAttempt): void => {
  if (outcome.kind === "invalid") outage.wasted(stream, { url: urlOf(outcome.call), detail: outcome.detail });
  else if (chargeOf(outcome) === "spent") outage.wasted(stream);
};

/**
 * Wait of the refused request itself before its next attempt, ms. The limiter makes all requests wait for a rate; after a
 * refusal for the number in flight the others go on, and the refused ones come back one by one. So do they if the limit is not the key's.
 */
const waitOf = (
  { outcome }: AnsweredAttempt,
  verdict: Verdict,
  limit: RateLimitOf,
  now: number,
  random: () => number,
) => {
  if (verdict.kind === "retry") return verdict.waitMs;
  if (verdict.kind === "wait" && limit === "own") return Math.max(0, verdict.untilMs - now);
  if (verdict.kind !== "wait" || refusalCause(outcome, now) === "rate") return 0;
  return Math.max(0, Math.round((verdict.untilMs - now) * random()));
};

/** What a run knows of the service beside its latest outcome. */
const createWatch = (deps: FetcherDeps, nextRequestId: () => string) => ({
  deps,
  outage: createOutage(),
  refusals: createRefusals(),
  lone: createLoneRefusals(),
  routes: createForbiddenRoutes(),
  scopes: createScopeFailures(),
  address: createAddressCheck(deps, deps.addressKnown ?? true, nextRequestId),
  /** The path of each stream's last used answer since any request got anything else: another page of it says nothing new. */
  calm: new Map<LedgerStream, string>(),
});
type Watch = ReturnType<typeof createWatch>;

/** What the verdict on an attempt depends on beside its outcome. */
const factsOf = (
  { deps, outage, scopes, address }: Watch,
  attempted: AnsweredAttempt,
  attempt: number,
  now: number,
) => {
  const { stream, scope, maxAttempts = Infinity, maxPaidAttempts = Infinity } = attempted.order;
  const { remaining, resetsAt } = deps.ledger.snapshot();
  return {
    attempt,
    maxAttempts: Math.min(outage.attempts(stream) ?? Infinity, scopes.attempts(scope) ?? Infinity, maxAttempts),
    maxPaidAttempts: Math.min(outage.paidAttempts(stream) ?? Infinity, maxPaidAttempts),
    now,
    random: deps.random(),
    // The last report of an earlier run explains only a refusal that gives no other reason.
    remainingCredits: remaining ?? (openAgainAt(attempted.outcome) === null ? (deps.lastRemaining ?? null) : null),
    creditsResetAt: resetsAt,
    stream,
    serviceAnswers: address.hasAnswered(),
    routesDiffer: deps.routesDiffer === true,
    namesContent: namesContent(stream, attempted.outcome.call.query.onlyWithFields),
  };
};

/** Notes an answer that is used. */
const noteUse = (
  { deps, outage, refusals, lone, routes, address, calm }: Watch,
  { outcome, order: { stream } }: AnsweredAttempt,
) => {
  const { sentAt, durationMs, call } = outcome;
  const now = deps.clock.now();
  deps.sender.observe(rateToObserve(outcome, USED, now), { sentAt, answeredAt: sentAt + durationMs });
  if (calm.get(stream) === call.path) return;
  lone.noteUse(call.path);
  outage.alive(stream);
  refusals.note(outcome, USED, now);
  routes.note(outcome, false);
  address.noteUse();
  calm.set(stream, call.path);
};

/** The error of a run whose routes were all answered with 403; null: they were not. `ended`: no more requests follow. */
const tokenRefused = ({ deps, routes }: Watch, ended: boolean): DuckmirrorError | null => {
  const outcome = deps.routesDiffer === true ? routes.refusal(ended) : null;
  if (outcome === null) return null;
  const endpoint = ENDPOINTS[outcome.call.endpoint].path;
  return new DuckmirrorError("CREDENTIALS_REFUSED", { status: outcome.status, endpoint, token: "" });
};

/** What follows from any other outcome: a result, or the wait in ms before another attempt. Its ledger rows are added to `requests`. */
const judge = async (
  watch: Watch,
  attempted: AnsweredAttempt,
  attempt: { readonly requestId: string; readonly number: number },
  requests: RequestRecord[],
): Promise<FetchResult | number> => {
  const { deps, outage, lone, routes, scopes, address } = watch;
  const { requestId, number } = attempt;
  const { stream, scope } = attempted.order;
  const receivedAt = deps.clock.now();
  watch.calm.clear();
  noteWaste(outage, attempted);
  routes.note(attempted.outcome, isStreamName(stream) && streamSpec(stream).tier === "public");
  const facts = factsOf(watch, attempted, number, receivedAt);
  let verdict = verdictOf(attempted.outcome, facts);
  const limit = verdict.kind === "wait" ? lone.note(attempted.outcome.call.path, receivedAt) : "key";
  if (limit === "over") verdict = verdictOf(attempted.outcome, { ...facts, attempt: Number.POSITIVE_INFINITY });
  inform(attempted, verdict, watch, limit);
  if (["retry", "fail"].includes(verdict.kind) && isOwn(attempted.outcome)) scopes.failed(scope);
  const checked = verdict.kind === "absent" ? await address.check(attempted) : null;
  if (checked?.kind === "checked") {
    requests.push(...checked.requests);
    verdict = checked.verdict ?? verdict;
  }
  await keep(deps, attempted, requestId, receivedAt);
  requests.push(requestRow(attempted, requestId, number, verdict));
  // The question is another attempt: a result of the first one alone has no rows.
  if (checked?.kind === "unanswered") return withoutAnswer(checked.attempted, number + 1, deps);
  const own = resultOf(attempted, verdict, requestId, receivedAt);
  if (own === null) return waitOf(attempted, verdict, limit, receivedAt, deps.random);
  // A company that fails whatever it is asked for would fail with smaller pages, too.
  const isTried = own.kind === "failed" && scopes.attempts(scope) !== null;
  const result = isTried ? { ...own, size: null } : own;
  noteOutage(outage, attempted, result, deps.stop);
  // Others may have been answered while this one was checked and kept.
  watch.calm.clear();
  const refused = tokenRefused(watch, false);
  if (refused !== null) deps.stop(refused);
  return result;
};

/** `idPrefix` begins the id of every request. */
export const createFetcher = (deps: FetcherDeps, idPrefix: string): Fetcher => {
  let sequence = 0;
  const nextRequestId = () => `${idPrefix}-${(++sequence).toString(36)}`;
  const watch = createWatch(deps, nextRequestId);
  return {
    isFailing: watch.outage.isFailing,
    isDoubtful: watch.outage.isDoubtful,
    tokenRefused: () => tokenRefused(watch, true),
    fetch: async ({ order: decide, onLeaving = () => undefined }) => {
      const requests: RequestRecord[] = [];
      let decided: PlannedRequest | null = null;
      const order = () => {
        if (decided === null) onLeaving();
        decided ??= decide();
        return decided;
      };
      let backOffMs = 0;
      for (let number = 1; ; number++) {
        const requestId = nextRequestId();
        const attempted = await makeAttempt(deps, { requestId, number, backOffMs, order });
        if (attempted.kind !== "outcome") return { requests, result: withoutAnswer(attempted, number, deps) };
        const { outcome } = attempted;
        if (outcome.kind === "ok") {
          const receivedAt = deps.clock.now();
          noteUse(watch, attempted);
          await keep(deps, attempted, requestId, receivedAt);
          requests.push(requestRow(attempted, requestId, number, USED));
          return { requests, result: { kind: "answer", requestId, receivedAt, outcome } };
        }
        const next = await judge(watch, attempted, { requestId, number }, requests);
        if (typeof next !== "number") return { requests, result: next };
        backOffMs = next;
      }
    },
  };
};

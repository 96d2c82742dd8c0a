// The service around the routes: token, rate limit, credits, request history, faults. Takes one request, returns one
// response; independent of any HTTP server. Source: API.md, "Authentication", "Limits", "Errors".
import type { Clock } from "../core/clock.ts";
import { type Quota, writeEnvelope } from "../replica/envelope.ts";
import type { RawQuery } from "../replica/query/params.ts";
import { matchRoute, type RouteMatch } from "../replica/query/route-match.ts";
import { Refusal, type RefusalCode, refusalBody } from "../replica/refusal.ts";
import type { Replica } from "../replica/replica.ts";
import { advanceCredits, type CreditState, creditsLeft, quotaOf, refundCredit, spendCredit } from "./limits/credits.ts";
import { type RateHeaderOptions, rateHeaders } from "./limits/rate-headers.ts";
import { createRateWindow, type RateWindow } from "./limits/rate-window.ts";
import { type Quirks, quirkyBody, quirkyQuery } from "./quirks.ts";
import { createRandom } from "./random.ts";
import type { LoggedRequest, RequestLog } from "./request-log.ts";
import { apiKeyId } from "./tokens.ts";

export interface SandboxRequest {
  readonly method: string;
  /** Path without query, as sent. */
  readonly path: string;
  readonly query: RawQuery;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface SandboxResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /**
   * `silent`: the connection closes without a response; `midway`: in the middle of the body. A 200 is charged anyway.
   */
  readonly drop?: "silent" | "midway";
}

/** A function between accounting and routes: responds itself, or changes the request or the response. */
export type Intercept = (
  request: SandboxRequest,
  next: (request?: SandboxRequest) => Promise<SandboxResponse>,
) => Promise<SandboxResponse>;

/** Faults; they may change while the sandbox runs. */
export interface Faults {
  quirks: Quirks;
  intercept: Intercept | undefined;
}

export interface ServiceOptions {
  readonly replica: Replica;
  readonly faults: Faults;
  readonly log: RequestLog;
  readonly clock: Clock;
  readonly seed: number;
  readonly tokens: readonly string[];
  readonly requestsPerMinute: number;
  readonly creditsPerMonth: number;
  /** Credits at the start. */
  readonly credits: CreditState;
  readonly exhaustedStatus: 402 | 429;
  readonly rateHeaders: RateHeaderOptions;
  /** Time before an answer, in ms: both ends included. */
  readonly latencyMs: readonly [min: number, max: number];
  /** Ends waits when the sandbox closes. */
  readonly signal: AbortSignal;
}

export interface ServiceStats {
  readonly requests: number;
  /** HTTP status → requests. */
  readonly byStatus: Readonly<Record<string, number>>;
  /** Method and path template → requests with 200. */
  readonly charged: Readonly<Record<string, number>>;
  readonly credits: Quota;
}

export interface Service {
  respond(request: SandboxRequest): Promise<SandboxResponse>;
  stats(): ServiceStats;
  quota(): Quota;
}

const JSON_HEADERS = { "content-type": "application/json; charset=utf-8" };

const HTML = "<!doctype html><title>Error</title><h1>Something went wrong</h1>";

const parseBody = (request: SandboxRequest): unknown => {
  if (request.method !== "POST") return undefined;
  try {
    return JSON.parse(request.body);
  } catch {
    throw new Refusal("bad_request", "The body is not JSON.");
  }
};

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** A request from acceptance to charging. */
interface Flight {
  readonly entry: LoggedRequest;
  spent: boolean;
}

export const createService = (options: ServiceOptions): Service => {
  const { replica, log, clock, faults } = options;
  const random = createRandom(`${options.seed}/service`);
  const windows = new Map<string, RateWindow>(
    options.tokens.map((token) => [token, createRateWindow(options.requestsPerMinute)]),
  );
  const byStatus = new Map<number, number>();
  const charged = new Map<string, number>();
  let credits = options.credits;
  /** Number of accepted requests that may still cost a credit. */
  let pending = 0;

  const currentCredits = (): CreditState => {
    credits = advanceCredits(credits, clock.now(), options.creditsPerMonth);
    return credits;
  };

  const spend = (flight: Flight): void => {
    if (flight.spent) return;
    credits = spendCredit(currentCredits());
    flight.spent = true;
    pending--;
  };

  /** Only a 200 costs a credit, also one from an interceptor. */
  const settle = (flight: Flight, status: number): void => {
    if (status === 200) spend(flight);
    else if (flight.spent) credits = refundCredit(currentCredits());
    else pending--;
  };

  const refusal = (code: RefusalCode, status: number, message: string): SandboxResponse => {
    const kind = faults.quirks.errorBody ?? "json";
    if (kind === "empty") return { status, headers: {}, body: "" };
    if (kind === "html") return { status, headers: { "content-type": "text/html" }, body: HTML };
    return { status, headers: JSON_HEADERS, body: refusalBody(code, message) };
  };

  const refused = (error: unknown): SandboxResponse =>
    error instanceof Refusal
      ? refusal(error.code, error.status, error.message)
      : refusal("internal", 500, messageOf(error));

  const answer = async (request: SandboxRequest, flight: Flight): Promise<SandboxResponse> => {
    const match = matchRoute(request.method, request.path);
    const query = quirkyQuery(faults.quirks, match.route, request.query);
    if (match.route.tier === "any") {
      // The usage routes report their own requests too, so these are logged and charged before reading.
      await log.flush(flight.entry);
      spend(flight);
    }
    const found = await replica.answer({ match, query, body: parseBody(request) });
    spend(flight);
    const body = writeEnvelope(found, {
      requestId: `req_${random.id(16)}`,
      now: clock.now(),
      usage: quotaOf(currentCredits()),
      includedShape: faults.quirks.includedShape ?? "plural-array",
    });
    return { status: 200, headers: JSON_HEADERS, body: quirkyBody(faults.quirks, body) };
  };

  /** Applies latency, faults and routes; every error becomes a response. */
  const serve = async (request: SandboxRequest, flight: Flight): Promise<SandboxResponse> => {
    try {
      const [min, max] = options.latencyMs;
      if (max > 0) await clock.sleep(random.int(min, max), options.signal);
      const next = (altered: SandboxRequest = request) => answer(altered, flight).catch(refused);
      return await (faults.intercept === undefined ? next() : faults.intercept(request, next));
    } catch (error) {
      return refused(error);
    }
  };

  const count = (response: SandboxResponse): SandboxResponse => {
    byStatus.set(response.status, (byStatus.get(response.status) ?? 0) + 1);
    return response;
  };

  const admit = async (request: SandboxRequest, entry: LoggedRequest, allowed: boolean) => {
    if (!allowed) return refusal("rate_limited", 429, "Too many requests.");
    if (creditsLeft(currentCredits()) - pending <= 0) {
      return refusal("credits_exhausted", options.exhaustedStatus, "The credits of this period are used up.");
    }
    const flight: Flight = { entry, spent: false };
    pending++;
    const response = await serve(request, flight);
    settle(flight, response.status);
    if (response.status === 200) charged.set(entry.endpoint, (charged.get(entry.endpoint) ?? 0) + 1);
    return response;
  };

  const respond = async (request: SandboxRequest): Promise<SandboxResponse> => {
    const now = clock.now();
    const token = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? "")?.[1];
    const window = token === undefined ? undefined : windows.get(token);
    if (token === undefined || window === undefined) {
      return count(refusal("unauthorized", 401, "The token is missing or not valid."));
    }
    const reading = window.take(now);
    const withRate = (response: SandboxResponse): SandboxResponse =>
      count({ ...response, headers: { ...rateHeaders(reading, now, options.rateHeaders), ...response.headers } });
    let match: RouteMatch;
    try {
      match = matchRoute(request.method, request.path);
    } catch (error) {
      return withRate(refused(error));
    }
    const entry = log.begin({
      occurredAt: now,
      endpoint: `${match.route.method} ${match.route.path}`,
      apiKeyId: apiKeyId(token),
      input: { ...match.path, ...request.query },
    });
    const response = await admit(request, entry, reading.allowed);
    await log.finish(entry, response.status);
    return withRate(response);
  };

  return {
    respond,
    quota: () => quotaOf(currentCredits()),
    stats: () => ({
      requests: [...byStatus.values()].reduce((sum, requests) => sum + requests, 0),
      byStatus: Object.fromEntries(byStatus),
      charged: Object.fromEntries(charged),
      credits: quotaOf(currentCredits()),
    }),
  };
};

// The sandbox's request handling around the replica's routes: token, rate limit, credits, request history, faults. Takes one request,
// returns one response; independent of any HTTP server. Source: API.md, "Authentication", "Limits", "Errors".

import type { Clock } from "../core/clock.ts";
import { detailOf } from "../core/errors.ts";
import { type Quota, writeEnvelope } from "../replica/envelope.ts";
import type { RawQuery } from "../replica/query/params.ts";
import { matchRoute, type RouteMatch } from "../replica/query/route-match.ts";
import { Refusal, type RefusalCode, refusalBody } from "../replica/refusal.ts";
import type { Replica } from "../replica/replica.ts";
import type { Database } from "../warehouse/duckdb/database.ts";
import { iso, loadRows } from "./generate/load-rows.ts";
import type { CreditState } from "./limits/credits.ts";
import {
  type Account,
  type Charge,
  createRateWindow,
  openAccount,
  type RateWindow,
  rateHeaders,
} from "./limits/rate-window.ts";
import { createRandom, hash, type Random } from "./random.ts";

// The service's request history for the usage routes: kept in memory, written to the warehouse before it is read.

interface LoggedRequest {
  readonly id: number;
  readonly occurredAt: number;
  /** Method and path template. */
  readonly endpoint: string;
  readonly apiKeyId: string;
  readonly input: Readonly<Record<string, string>>;
  successful: boolean;
  error?: string;
}

interface RequestLog {
  /** Records a request; it counts as successful until `finish` sets another status. */
  begin(request: Pick<LoggedRequest, "occurredAt" | "endpoint" | "apiKeyId" | "input">): LoggedRequest;
  finish(request: LoggedRequest, status: number): Promise<void>;
  /** Writes finished requests, and `current`, the request that reads the log now. */
  flush(current?: LoggedRequest): Promise<void>;
}

/** Number of entries in memory that triggers a write. */
const FLUSH_AT = 5_000;

export const createRequestLog = (database: Pick<Database, "run" | "transaction">, firstId: number): RequestLog => {
  let nextId = firstId;
  let finished: LoggedRequest[] = [];
  const written = new Set<LoggedRequest>();

  const flush = async (current?: LoggedRequest): Promise<void> => {
    const batch = current === undefined ? finished : [...finished, current];
    finished = [];
    if (current !== undefined) written.add(current);
    const rows = batch.map(({ id, occurredAt, endpoint, successful, error, apiKeyId, input }) => ({
      id,
      occurredAt: iso(occurredAt),
      endpoint,
      successful,
      error,
      apiKeyId,
      input: Object.keys(input).length > 0 ? input : undefined,
    }));
    const at = iso(batch.at(-1)?.occurredAt ?? 0);
    if (rows.length > 0) await database.transaction((tx) => loadRows(tx, "usage_requests", rows, at));
  };

  return {
    begin: (request) => ({ id: nextId++, ...request, successful: true }),
    finish: async (request, status) => {
      request.successful = status === 200;
      if (status !== 200) request.error = `HTTP ${status}`;
      if (written.delete(request)) {
        if (status === 200) return;
        const sql = "UPDATE main.usage_requests SET successful = false, error = $1 WHERE id = CAST($2 AS BIGINT)";
        await database.run(sql, [`HTTP ${status}`, String(request.id)]);
        return;
      }
      finished.push(request);
      if (finished.length >= FLUSH_AT) await flush();
    },
    flush,
  };
};

// Access tokens of the sandbox: unsigned JWTs, the same for the same seed. PURE.

const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");

/** A token of the organization; `key` distinguishes several tokens of one organization. */
export const sandboxToken = (organizationId: string, key: number): string => {
  const random = createRandom(`${organizationId}/token/${key}`);
  return `${part({ alg: "HS256", typ: "JWT" })}.${part({ org: organizationId, key })}.${random.id(43)}`;
};

/** Name of a token in the request history, never the token itself. */
const apiKeyId = (token: string): string => `key_${hash(token).toString(36)}`;

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
}

/** A function between accounting and routes: responds itself, or changes the request or the response. */
export type Intercept = (
  request: SandboxRequest,
  next: (request?: SandboxRequest) => Promise<SandboxResponse>,
) => Promise<SandboxResponse>;

/** Faults; they may change while the sandbox runs. */
export interface Faults {
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

const parseBody = (request: SandboxRequest): unknown => {
  if (request.method !== "POST") return undefined;
  try {
    return JSON.parse(request.body);
  } catch {
    throw new Refusal("bad_request", "The body is not JSON.");
  }
};

const refusal = (code: RefusalCode, status: number, message: string): SandboxResponse => ({
  status,
  headers: JSON_HEADERS,
  body: refusalBody(code, message),
});

const refused = (error: unknown): SandboxResponse =>
  error instanceof Refusal
    ? refusal(error.code, error.status, error.message)
    : refusal("internal", 500, detailOf(error));

/** What all requests share. */
interface Desk extends ServiceOptions {
  readonly random: Random;
  readonly account: Account;
}

/** A request that is charged or not, by its response. */
interface Flight {
  readonly entry: LoggedRequest;
  readonly charge: Charge;
}

const answer = async (desk: Desk, request: SandboxRequest, { entry, charge }: Flight): Promise<SandboxResponse> => {
  const { account, random } = desk;
  const match = matchRoute(request.method, request.path);
  if (match.route.tier === "any") {
    // The usage routes report their own requests too, so these are logged and charged before reading.
    await desk.log.flush(entry);
    account.spend(charge);
  }
  const found = await desk.replica.answer({ match, query: request.query, body: parseBody(request) });
  account.spend(charge);
  const body = writeEnvelope(found, {
    requestId: `req_${random.id(16)}`,
    now: desk.clock.now(),
    usage: account.quota(),
  });
  return { status: 200, headers: JSON_HEADERS, body };
};

/** Applies latency, faults and routes; every error becomes a response. */
const serve = async (desk: Desk, request: SandboxRequest, flight: Flight): Promise<SandboxResponse> => {
  const { faults } = desk;
  try {
    const [min, max] = desk.latencyMs;
    if (max > 0) await desk.clock.sleep(desk.random.int(min, max), desk.signal);
    const next = (altered: SandboxRequest = request) => answer(desk, altered, flight).catch(refused);
    return await (faults.intercept === undefined ? next() : faults.intercept(request, next));
  } catch (error) {
    return refused(error);
  }
};

/** Charges a request within its rate, and answers it. */
const admit = async (desk: Desk, request: SandboxRequest, entry: LoggedRequest): Promise<SandboxResponse> => {
  const charge = desk.account.accept();
  if (charge === null) {
    const message = "The credits of this period are used up.";
    return refusal("credits_exhausted", 402, message);
  }
  const response = await serve(desk, request, { entry, charge });
  desk.account.settle(charge, response.status);
  return response;
};

export const createService = (options: ServiceOptions): Service => {
  const { log, clock } = options;
  const account = openAccount(options.credits, options.creditsPerMonth, clock);
  const desk: Desk = { ...options, account, random: createRandom(`${options.seed}/service`) };
  const windows = new Map<string, RateWindow>(
    options.tokens.map((token) => [token, createRateWindow(options.requestsPerMinute)]),
  );
  const byStatus = new Map<number, number>();
  const charged = new Map<string, number>();
  const count = (response: SandboxResponse): SandboxResponse => {
    byStatus.set(response.status, (byStatus.get(response.status) ?? 0) + 1);
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
      count({ ...response, headers: { ...rateHeaders(reading, now), ...response.headers } });
    let match: RouteMatch;
    try {
      match = matchRoute(request.method, request.path);
    } catch (error) {
      return withRate(refused(error));
    }
    const endpoint = `${match.route.method} ${match.route.path}`;
    const input = { ...match.path, ...request.query };
    const entry = log.begin({ occurredAt: now, endpoint, apiKeyId: apiKeyId(token), input });
    const response = reading.allowed
      ? await admit(desk, request, entry)
      : refusal("rate_limited", 429, "Too many requests.");
    if (response.status === 200) charged.set(endpoint, (charged.get(endpoint) ?? 0) + 1);
    await log.finish(entry, response.status);
    return withRate(response);
  };

  return {
    respond,
    quota: account.quota,
    stats: () => ({
      requests: [...byStatus.values()].reduce((sum, requests) => sum + requests, 0),
      byStatus: Object.fromEntries(byStatus),
      charged: Object.fromEntries(charged),
      credits: account.quota(),
    }),
  };
};

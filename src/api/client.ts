// HTTP client: sends one request and returns one typed outcome. It does not loop, wait or retry.
// Neither network nor service can make it throw.
import { constants } from "node:buffer";
import type { Dispatcher } from "undici";
import { ENDPOINTS } from "../catalog/endpoints.ts";
import { type Clock, timerMs } from "../core/clock.ts";
import { detailOf } from "../core/errors.ts";
import { exactJson } from "../core/json.ts";
import { createScrubber, type Secret } from "../core/secret.ts";
import { decode, readWire, readWireAnswer, tooLarge } from "./body.ts";
import { readAnswerId, readQuota } from "./envelope.ts";
import { parseRateHeaders } from "./limits/rate-headers.ts";
import { JsonSyntaxError, parseJson } from "./lossless-json.ts";
import type { AnswerId, ApiCall, ApiOutcome, BrokenOutcome, Quota } from "./outcome.ts";
import { createTransport, parseBase, parseToken, type Timeouts, type Transport } from "./transport.ts";

// Reads responses other than 200: enough of the body to show it and to detect a spent quota. They cost nothing, and a
// body that breaks off does not matter, because the status suffices.

const MAX_READ_BYTES = 256 * 1024;
const MAX_EXCERPT_BYTES = 2 * 1024;

interface Refusal {
  readonly excerpt: string;
  readonly usage: Quota | null;
  readonly id: AnswerId;
  /** Size of the decoded body in bytes; 0 when it could not be read. */
  readonly bytes: number;
  /** Path of a redirect within the service. */
  readonly movedTo?: string;
}

/** The start of a text, at most 2 KiB in UTF-8, without control characters that would affect a terminal. */
const excerptOf = (text: string): string => {
  const printable = text.replace(/\p{Cc}+/gu, " ").trim();
  const bytes = Buffer.from(printable, "utf8").subarray(0, MAX_EXCERPT_BYTES);
  return bytes.toString("utf8").replace(/\uFFFD+$/, "");
};

const UNREAD: Refusal = { excerpt: "", usage: null, id: { requestId: null, apiVersion: null }, bytes: 0 };

/** Quota and ids in a JSON body. */
const saidIn = (text: string): Pick<Refusal, "usage" | "id"> => {
  try {
    const body = parseJson(text);
    return { usage: readQuota(body), id: readAnswerId(body) };
  } catch (error) {
    if (error instanceof JsonSyntaxError) return UNREAD;
    throw error;
  }
};

const headerOf = ({ headers }: Dispatcher.ResponseData, name: string): string => String(headers[name] ?? "");

/** Of another server only the origin: path and query may contain a session. Of the service itself also the path. */
const readRedirect = (location: string, base: URL, scrub: (text: string) => string): Refusal => {
  if (!URL.canParse(location, base.href)) return { ...UNREAD, excerpt: "redirect to an address that cannot be read" };
  const { origin, pathname } = new URL(location, base.href);
  if (origin !== base.origin) return { ...UNREAD, excerpt: `redirect to ${scrub(origin)}` };
  return { ...UNREAD, excerpt: `redirect to ${scrub(`${origin}${pathname}`)}`, movedTo: scrub(pathname) };
};

/** Reads the response. `scrub` removes the token from everything kept. Throws nothing. */
const readRefusal = async (
  response: Dispatcher.ResponseData,
  base: URL,
  scrub: (text: string) => string,
): Promise<Refusal> => {
  const wire = await readWire(response.body, MAX_READ_BYTES);
  const location = response.headers.location;
  if (response.statusCode >= 300 && response.statusCode < 400 && typeof location === "string") {
    return readRedirect(location, base, scrub);
  }
  const text = await decode(wire.bytes, { encoding: headerOf(response, "content-encoding") }, MAX_READ_BYTES);
  if (text.kind !== "text") return UNREAD;
  // Scrub before cutting, so that no half token remains at the end.
  const { usage, id } = saidIn(scrub(text.text));
  return { excerpt: excerptOf(scrub(text.text)), usage, id, bytes: text.bytes };
};

// Time limit of one request.

interface Deadline {
  readonly signal: AbortSignal;
  /** Rejects when the signal aborts. */
  readonly end: Promise<never>;
  /** The time is over. */
  expired(): boolean;
  /** The caller aborted before that. */
  aborted(): boolean;
  release(): void;
}

/**
 * A signal that aborts with the caller's or after `ms`, and leaves no listener once released. It does not notice a signal
 * that has aborted before the call: the caller checks that.
 */
export const withDeadline = (signal: AbortSignal | undefined, ms: number): Deadline => {
  const stop = new AbortController();
  const onAbort = () => stop.abort();
  let expired = false;
  const timer = setTimeout(() => {
    expired = true;
    stop.abort();
  }, timerMs(ms));
  signal?.addEventListener("abort", onAbort, { once: true });
  const end = new Promise<never>((_, reject) =>
    stop.signal.addEventListener("abort", () => reject(stop.signal.reason), { once: true }),
  );
  // Nobody may wait for it when it comes.
  end.catch(() => undefined);
  return {
    signal: stop.signal,
    end,
    expired: () => expired,
    aborted: () => signal?.aborted === true && !expired,
    release: () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
    },
  };
};

export interface ClientOptions {
  /** Address of the service; its path is kept in front of `/v1`. */
  readonly baseUrl: string;
  readonly token: Secret | string;
  /** The token as its file or command has it now; asked at a 401, because it may have been replaced meanwhile. */
  readonly rereadToken?: () => Promise<Secret>;
  /** Version of duckmirror, for the user agent. */
  readonly version: string;
  readonly timeouts?: Partial<Timeouts>;
  /** Largest accepted body, received and decoded, in bytes; default 64 MiB. */
  readonly maxBodyBytes?: number;
  /** Most values in a body; default a million. */
  readonly mostValues?: number;
  /** Most open connections; default 32. Further requests queue, within their total time limit. */
  readonly connections?: number;
  readonly clock: Clock;
  /** Send the token over plain HTTP to other machines too. */
  readonly allowPlainHttp?: boolean;
}

export interface Client {
  /** Makes one attempt. `signal` aborts it; the outcome is then `broken` with reason `aborted`. Never rejects. */
  send(call: ApiCall, signal?: AbortSignal): Promise<ApiOutcome>;
  /** Waits for requests in flight, then closes the connections. */
  close(): Promise<void>;
}

const DEFAULT_TIMEOUTS: Timeouts = { connectMs: 10_000, headersMs: 60_000, bodyMs: 60_000, totalMs: 300_000 };
const DEFAULT_MAX_BODY_BYTES = 64 * 1024 * 1024;
const DEFAULT_MOST_VALUES = 1_000_000;
const DEFAULT_CONNECTIONS = 32;

/** What all requests of a client share. */
interface Connection {
  readonly base: URL;
  /** Path in front of `/v1`. */
  readonly prefix: string;
  headers: Readonly<Record<string, string>>;
  /** Takes over the token of its source. Returns true if that is another one than `used`. Throws nothing. */
  readonly renewToken: (used: string | undefined) => Promise<boolean>;
  /** Why the token could not be read again at the latest 401; null: it was read. */
  tokenProblem: string | null;
  readonly transport: Transport;
  readonly timeouts: Timeouts;
  /** Largest body, bytes. */
  readonly limit: number;
  readonly mostValues: number;
  readonly scrub: (text: string) => string;
  readonly clock: Clock;
}

/** One request, begun. */
interface Exchange {
  readonly call: ApiCall;
  readonly sentAt: number;
  /** By `performance.now()`, ms. */
  readonly startedAt: number;
  readonly deadline: Deadline;
}

type Breakage = Pick<BrokenOutcome, "reached" | "reason" | "detail" | "limitBytes"> & { readonly status?: number };

const openConnection = (options: ClientOptions): Connection => {
  const base = parseBase(options.baseUrl, options.allowPlainHttp === true);
  const token = parseToken(options.token);
  const timeouts: Timeouts = { ...DEFAULT_TIMEOUTS, ...options.timeouts };
  const scrubber = createScrubber();
  scrubber.hide(token);
  const renewToken = async (used: string | undefined): Promise<boolean> => {
    const { rereadToken } = options;
    if (rereadToken === undefined) return false;
    try {
      const fresh = parseToken(await rereadToken());
      scrubber.hide(fresh);
      connection.headers = { ...connection.headers, authorization: `Bearer ${fresh}` };
      connection.tokenProblem = null;
    } catch (error) {
      // The file may be replaced at this moment. The refusal says what is wrong, and this beside it.
      connection.tokenProblem = detailOf(error);
    }
    return connection.headers.authorization !== used;
  };
  const connection: Connection = {
    renewToken,
    tokenProblem: null,
    base,
    prefix: base.pathname.replace(/\/+$/, ""),
    headers: {
      authorization: `Bearer ${token}`,
      accept: "application/json",
      "accept-encoding": "gzip, br;q=0.9",
      "user-agent": `duckmirror/${options.version}`,
    },
    transport: createTransport(base, timeouts, options.connections ?? DEFAULT_CONNECTIONS),
    timeouts,
    // A longer body would not fit into a string.
    limit: Math.min(options.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES, constants.MAX_STRING_LENGTH),
    mostValues: options.mostValues ?? DEFAULT_MOST_VALUES,
    scrub: scrubber.scrub,
    clock: options.clock,
  };
  return connection;
};

const elapsedMs = ({ startedAt }: Exchange): number => Math.round(performance.now() - startedAt);

const broken = (connection: Connection, exchange: Exchange, { status, detail, ...part }: Breakage): BrokenOutcome => ({
  kind: "broken",
  call: exchange.call,
  sentAt: exchange.sentAt,
  durationMs: elapsedMs(exchange),
  status: status ?? null,
  // A proxy's address in a message may contain a password, and any text may contain the token.
  detail: connection.scrub(detail.replace(/\/\/[^/\s@]*@/g, "//")),
  ...part,
});

const failure = (connection: Connection, exchange: Exchange, error: unknown, status?: number): BrokenOutcome => {
  const { deadline } = exchange;
  const at = status === undefined ? {} : { status };
  if (deadline.expired()) {
    const detail = `no complete answer within ${connection.timeouts.totalMs} ms (request_timeout)`;
    return broken(connection, exchange, { reached: "unknown", reason: "timeout", detail, ...at });
  }
  if (deadline.aborted()) {
    return broken(connection, exchange, { reached: "unknown", reason: "aborted", detail: "aborted", ...at });
  }
  const { reached, reason } = connection.transport.diagnose(error);
  return broken(connection, exchange, {
    reached: status === undefined ? reached : "unknown",
    reason,
    detail: connection.transport.describe(error) ?? (detailOf(error) || "the connection failed"),
    ...at,
  });
};

/** Path and query for the request line; spaces as %20, lone surrogates as U+FFFD. */
export const targetOf = (prefix: string, { path, query }: ApiCall): string => {
  const text = new URLSearchParams(query).toString().replaceAll("+", "%20");
  return `${prefix}${path}${text === "" ? "" : `?${text}`}`;
};

/** Sends the request, and returns the head of the answer. Throws nothing. */
const ask = async (connection: Connection, exchange: Exchange): Promise<Dispatcher.ResponseData | BrokenOutcome> => {
  const { call, deadline } = exchange;
  const { headers } = connection;
  try {
    const asked = connection.transport.dispatcher.request({
      origin: connection.base.origin,
      path: targetOf(connection.prefix, call),
      method: ENDPOINTS[call.endpoint].method,
      headers: call.body === undefined ? headers : { ...headers, "content-type": "application/json" },
      body: call.body === undefined ? null : exactJson(call.body),
      signal: deadline.signal,
    });
    // undici heeds a signal only once a connection is open; a request that is aborted before that is never sent.
    return await Promise.race([asked, deadline.end]);
  } catch (error) {
    return failure(connection, exchange, error);
  }
};

/** Reads the body of a 200. */
const readOk = async (
  connection: Connection,
  exchange: Exchange,
  response: Dispatcher.ResponseData,
): Promise<ApiOutcome> => {
  const { call, sentAt } = exchange;
  const beyond = () => tooLarge({ call, sentAt, durationMs: elapsedMs(exchange) }, connection.limit);
  if (Number(response.headers["content-length"] ?? 0) > connection.limit) {
    response.body.on("error", () => {}).destroy();
    return beyond();
  }
  const wire = await readWire(response.body, connection.limit);
  if (wire.kind === "too_large") return beyond();
  if (wire.kind === "broken") return failure(connection, exchange, wire.error, 200);
  const received = {
    call,
    status: 200,
    sentAt,
    durationMs: elapsedMs(exchange),
    rate: parseRateHeaders(response.headers, connection.clock.now()),
    contentEncoding: connection.scrub(headerOf(response, "content-encoding").slice(0, 100)),
    contentType: headerOf(response, "content-type"),
    bytes: wire.bytes,
  } as const;
  const { limit: limitBytes, mostValues, scrub } = connection;
  return readWireAnswer(received, { limitBytes, mostValues, scrub });
};

const readRefused = async (
  connection: Connection,
  exchange: Exchange,
  response: Dispatcher.ResponseData,
): Promise<ApiOutcome> => {
  const { tokenProblem } = connection;
  const { excerpt, usage, id, bytes, movedTo } = await readRefusal(response, connection.base, connection.scrub);
  return {
    kind: "refused",
    call: exchange.call,
    status: response.statusCode,
    sentAt: exchange.sentAt,
    durationMs: elapsedMs(exchange),
    bytes,
    rate: parseRateHeaders(response.headers, connection.clock.now()),
    excerpt,
    usage,
    id,
    ...(movedTo === undefined ? {} : { movedTo }),
    ...(response.statusCode === 401 && tokenProblem !== null ? { tokenProblem } : {}),
  };
};

const exchange = async (connection: Connection, call: ApiCall, signal?: AbortSignal): Promise<ApiOutcome> => {
  const begun: Exchange = {
    call,
    sentAt: connection.clock.now(),
    startedAt: performance.now(),
    deadline: withDeadline(signal, connection.timeouts.totalMs),
  };
  try {
    if (signal?.aborted) return broken(connection, begun, { reached: "unsent", reason: "aborted", detail: "aborted" });
    const used = connection.headers.authorization;
    let response = await ask(connection, begun);
    if ("kind" in response) return response;
    if (response.statusCode === 401 && (await connection.renewToken(used))) {
      response.body.on("error", () => {}).destroy();
      response = await ask(connection, begun);
      if ("kind" in response) return response;
    }
    return await (response.statusCode === 200
      ? readOk(connection, begun, response)
      : readRefused(connection, begun, response));
  } finally {
    begun.deadline.release();
  }
};

/**
 * Throws TOKEN_MISSING, TOKEN_OVER_PLAIN_HTTP (the token would cross the network unencrypted) or CONFIG_INVALID.
 * Source: API.md, "Authentication".
 */
export const createClient = (options: ClientOptions): Client => {
  const connection = openConnection(options);
  const inFlight = new Set<Promise<ApiOutcome>>();
  return {
    send: async (call, signal) => {
      const answer = exchange(connection, call, signal);
      inFlight.add(answer);
      try {
        return await answer;
      } finally {
        inFlight.delete(answer);
      }
    },
    close: async () => {
      await Promise.allSettled(inFlight);
      await connection.transport.close();
    },
  };
};

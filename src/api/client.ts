// HTTP client: sends one request and returns one typed outcome. It does not loop, wait or retry.
// Neither network nor service can make it throw.
import { constants } from "node:buffer";
import type { Dispatcher } from "undici";
import { ENDPOINTS } from "../catalog/endpoints.ts";
import type { Clock } from "../core/clock.ts";
import { DuckmirrorError, detailOf } from "../core/errors.ts";
import { createScrubber, type Secret } from "../core/secret.ts";
import { readWire } from "./body.ts";
import { type HeaderBag, parseRateHeaders } from "./limits/rate-headers.ts";
import { stringifyJson } from "./lossless-json.ts";
import type { ApiCall, ApiOutcome, BrokenOutcome } from "./outcome.ts";
import { readRefusal } from "./refusal.ts";
import { createTransport, isLoopback, type Timeouts, type Transport } from "./transport.ts";
import { type RawAnswer, readWireAnswer, tooLarge } from "./wire-answer.ts";

export interface ClientOptions {
  /** Address of the service; its path is kept in front of `/v1`. */
  readonly baseUrl: string;
  readonly token: Secret | string;
  /** Version of duckmirror, for the user agent. */
  readonly version: string;
  readonly timeouts?: Partial<Timeouts>;
  /** Largest accepted body, received and decoded, in bytes; default 64 MiB. */
  readonly maxBodyBytes?: number;
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

/** A client that can also return responses unparsed, for a process that passes them on. */
export interface HttpClient extends Client {
  /** Like `send`, but the body of a 200 is neither decoded nor parsed. */
  exchange(call: ApiCall, signal?: AbortSignal): Promise<RawAnswer>;
}

const DEFAULT_TIMEOUTS: Timeouts = { connectMs: 10_000, headersMs: 60_000, bodyMs: 60_000, totalMs: 300_000 };
const DEFAULT_MAX_BODY_BYTES = 64 * 1024 * 1024;
const DEFAULT_CONNECTIONS = 32;

const invalidConfig = (detail: string) => new DuckmirrorError("CONFIG_INVALID", { detail });

const parseBase = (baseUrl: string, allowPlainHttp: boolean): URL => {
  if (!URL.canParse(baseUrl)) throw invalidConfig("base_url is not an address such as https://api.example.com");
  const base = new URL(baseUrl);
  if (base.protocol !== "https:" && base.protocol !== "http:") throw invalidConfig("base_url must be http or https");
  if (base.username !== "" || base.password !== "") throw invalidConfig("base_url must not hold a user or password");
  if (base.protocol === "http:" && !allowPlainHttp && !isLoopback(base.hostname)) {
    throw new DuckmirrorError("TOKEN_OVER_PLAIN_HTTP", { origin: base.origin });
  }
  return base;
};

const parseToken = (token: Secret | string): string => {
  const bare = (typeof token === "string" ? token : token.reveal()).trim();
  if (bare === "") throw new DuckmirrorError("TOKEN_MISSING");
  if (!/^[\x21-\x7e]+$/.test(bare)) throw invalidConfig("the token holds characters that no header can carry");
  return bare;
};

/** Path and query for the request line; spaces as %20, lone surrogates as U+FFFD. */
const targetOf = (prefix: string, call: ApiCall): string => {
  const query = new URLSearchParams(call.query).toString().replaceAll("+", "%20");
  return `${prefix}${call.path}${query === "" ? "" : `?${query}`}`;
};

/** A signal that aborts with the caller's or after `ms`, and leaves no listener once released. */
const withDeadline = (signal: AbortSignal | undefined, ms: number) => {
  const stop = new AbortController();
  const onAbort = () => stop.abort();
  let expired = false;
  const timer = setTimeout(() => {
    expired = true;
    stop.abort();
  }, ms);
  signal?.addEventListener("abort", onAbort, { once: true });
  return {
    signal: stop.signal,
    expired: () => expired,
    aborted: () => signal?.aborted === true && !expired,
    release: () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
    },
  };
};

/** Common parts of every outcome of one request. */
interface Exchange {
  readonly call: ApiCall;
  readonly sentAt: number;
  elapsed(): number;
  broken(
    part: Pick<BrokenOutcome, "reached" | "reason" | "detail" | "limitBytes"> & { status?: number },
  ): BrokenOutcome;
}

/**
 * Throws TOKEN_MISSING, TOKEN_OVER_PLAIN_HTTP (the token would cross the network unencrypted) or CONFIG_INVALID.
 * Source: API.md, "Authentication".
 */
export const createClient = (options: ClientOptions): HttpClient => {
  const base = parseBase(options.baseUrl, options.allowPlainHttp === true);
  const token = parseToken(options.token);
  const timeouts: Timeouts = { ...DEFAULT_TIMEOUTS, ...options.timeouts };
  // A longer body would not fit into a string.
  const limit = Math.min(options.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES, constants.MAX_STRING_LENGTH);
  const transport: Transport = createTransport(base, timeouts, options.connections ?? DEFAULT_CONNECTIONS);
  const prefix = base.pathname.replace(/\/+$/, "");
  const scrubber = createScrubber();
  scrubber.hide(token);
  const headers = {
    authorization: `Bearer ${token}`,
    accept: "application/json",
    "accept-encoding": "gzip, br;q=0.9",
    "user-agent": `duckmirror/${options.version}`,
  };

  const begin = (call: ApiCall): Exchange => {
    const sentAt = options.clock.now();
    const startedAt = performance.now();
    const elapsed = () => Math.round(performance.now() - startedAt);
    return {
      call,
      sentAt,
      elapsed,
      broken: ({ status, detail, ...part }) => ({
        kind: "broken",
        call,
        sentAt,
        durationMs: elapsed(),
        status: status ?? null,
        // A proxy's address in a message may contain a password, and any text may contain the token.
        detail: scrubber.scrub(detail.replace(/\/\/[^/\s@]*@/g, "//")),
        ...part,
      }),
    };
  };

  const answered = (exchange: Exchange, status: number, bytes: number, bag: HeaderBag) => ({
    call: exchange.call,
    status,
    sentAt: exchange.sentAt,
    durationMs: exchange.elapsed(),
    bytes,
    rate: parseRateHeaders(bag, options.clock.now()),
  });

  const failure = (exchange: Exchange, error: unknown, deadline: ReturnType<typeof withDeadline>, status?: number) => {
    const at = status === undefined ? {} : { status };
    if (deadline.expired()) {
      const detail = `no complete answer within ${timeouts.totalMs} ms`;
      return exchange.broken({ reached: "unknown", reason: "timeout", detail, ...at });
    }
    if (deadline.aborted()) return exchange.broken({ reached: "unknown", reason: "aborted", detail: "aborted", ...at });
    const { reached, reason } = transport.diagnose(error);
    return exchange.broken({
      reached: status === undefined ? reached : "unknown",
      reason,
      detail: detailOf(error) || "the connection failed",
      ...at,
    });
  };

  const readOk = async (
    exchange: Exchange,
    response: Dispatcher.ResponseData,
    deadline: ReturnType<typeof withDeadline>,
  ): Promise<RawAnswer> => {
    const { call, sentAt } = exchange;
    const beyond = () => tooLarge({ call, sentAt, durationMs: exchange.elapsed() }, limit);
    if (Number(response.headers["content-length"] ?? 0) > limit) {
      response.body.on("error", () => {}).destroy();
      return beyond();
    }
    const wire = await readWire(response.body, limit);
    if (wire.kind === "too_large") return beyond();
    if (wire.kind === "broken") return failure(exchange, wire.error, deadline, 200);
    const header = response.headers["content-encoding"] ?? "";
    return {
      kind: "wire",
      call,
      status: 200,
      sentAt,
      durationMs: exchange.elapsed(),
      rate: parseRateHeaders(response.headers, options.clock.now()),
      contentEncoding: scrubber.scrub(String(header).slice(0, 100)),
      bytes: wire.bytes,
    };
  };

  const request = (call: ApiCall, signal: AbortSignal): Promise<Dispatcher.ResponseData> =>
    transport.dispatcher.request({
      origin: base.origin,
      path: targetOf(prefix, call),
      method: ENDPOINTS[call.endpoint].method,
      headers: call.body === undefined ? headers : { ...headers, "content-type": "application/json" },
      body: call.body === undefined ? null : stringifyJson(call.body),
      signal,
    });

  const exchange = async (call: ApiCall, signal?: AbortSignal): Promise<RawAnswer> => {
    const begun = begin(call);
    if (signal?.aborted) return begun.broken({ reached: "unsent", reason: "aborted", detail: "aborted" });
    const deadline = withDeadline(signal, timeouts.totalMs);
    try {
      const response = await request(call, deadline.signal).catch((error: unknown) => failure(begun, error, deadline));
      if ("kind" in response) return response;
      if (response.statusCode === 200) return await readOk(begun, response, deadline);
      const refusal = await readRefusal(response, base, (text) => scrubber.scrub(text));
      const common = answered(begun, response.statusCode, refusal.bytes, response.headers);
      return { kind: "refused", ...common, excerpt: refusal.excerpt, usage: refusal.usage, id: refusal.id };
    } finally {
      deadline.release();
    }
  };

  const send = async (call: ApiCall, signal?: AbortSignal): Promise<ApiOutcome> => {
    const answer = await exchange(call, signal);
    if (answer.kind !== "wire") return answer;
    return readWireAnswer(answer, { limitBytes: limit, scrub: (text) => scrubber.scrub(text) });
  };

  return { send, exchange, close: () => transport.close() };
};

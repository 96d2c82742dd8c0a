// Opens the HTTP connections of the client: keep-alive pools, time limits, proxies from the environment. Reports the cause of a failure and
// whether the request was sent, because an unsent request cannot have cost a credit.
import { Agent, buildConnector, type Dispatcher, EnvHttpProxyAgent, errors, Pool } from "undici";
import { isLoopbackHost } from "../core/config/setting-parsers.ts";
import { DuckmirrorError } from "../core/errors.ts";
import type { Secret } from "../core/secret.ts";
import type { BrokenOutcome } from "./outcome.ts";

// Address and token of the service as the user gave them. Pure. Source: API.md, "Authentication".

const invalidConfig = (detail: string) => new DuckmirrorError("CONFIG_INVALID", { detail });

/** Throws CONFIG_INVALID, and TOKEN_OVER_PLAIN_HTTP where the token would cross the network unencrypted. */
export const parseBase = (baseUrl: string, allowPlainHttp: boolean): URL => {
  if (!URL.canParse(baseUrl)) throw invalidConfig("base_url is not an address such as https://api.example.com");
  const base = new URL(baseUrl);
  if (base.protocol !== "https:" && base.protocol !== "http:") throw invalidConfig("base_url must be http or https");
  if (base.username !== "" || base.password !== "") throw invalidConfig("base_url must not hold a user or password");
  if (base.protocol === "http:" && !allowPlainHttp && !isLoopbackHost(base.hostname)) {
    throw new DuckmirrorError("TOKEN_OVER_PLAIN_HTTP", { origin: base.origin });
  }
  return base;
};

/** Throws TOKEN_MISSING, CONFIG_INVALID. */
export const parseToken = (token: Secret | string): string => {
  const bare = (typeof token === "string" ? token : token.reveal()).trim();
  if (bare === "") throw new DuckmirrorError("TOKEN_MISSING");
  if (!/^[\x21-\x7e]+$/.test(bare)) throw invalidConfig("the token holds characters that no header can carry");
  return bare;
};

/** Time limits of one request, in ms. */
export interface Timeouts {
  /** TCP and TLS. */
  readonly connectMs: number;
  /** From the request sent to the status line. */
  readonly headersMs: number;
  /** Longest pause within a body. */
  readonly bodyMs: number;
  /** Whole request: a body that trickles never pauses, but must end too. */
  readonly totalMs: number;
}

export interface Transport {
  readonly dispatcher: Dispatcher;
  /** Cause of a failed request, and whether it may have reached the service. */
  diagnose(error: unknown): Pick<BrokenOutcome, "reached" | "reason">;
  /** The failure in plain words; null: undici's own are plain enough. */
  describe(error: unknown): string | null;
  /** Ends every connection, also those that are still being opened. */
  close(): Promise<void>;
}

const own = (error: object, name: string): unknown => Reflect.get(error, name);

/** Code of an error, or of the first attempt when several addresses failed. */
const codeOf = (error: unknown): string => {
  if (typeof error !== "object" || error === null) return "";
  const code = own(error, "code");
  if (typeof code === "string") return code;
  const attempts = own(error, "errors");
  return Array.isArray(attempts) ? codeOf(attempts[0]) : "";
};

const DNS = /^(ENOTFOUND|EAI_\w+|ENODATA|ESERVFAIL)$/;
/** Codes that occur only before a connection exists: TCP, a proxy that refuses the tunnel. */
const CONNECT = /^(ECONNREFUSED|UND_ERR_CONNECT_TIMEOUT|UND_ERR_PRX_TLS)$/;
/** Codes of OpenSSL and Node for a certificate that this machine does not trust. The next attempt would get the same one. */
const CERTIFICATE = /^(CERT_\w+|SELF_SIGNED_\w+|DEPTH_ZERO_\w+|UNABLE_TO_\w+|ERR_TLS_CERT_\w+)$/;
const NEVER_SENT = /^(UND_ERR_CLOSED|UND_ERR_DESTROYED|UND_ERR_INVALID_ARG)$/;
/** Codes for an answer against the rules of HTTP, e.g. with two lengths. The next one would most often be the same. */
const NOT_HTTP = /^(HPE_\w+|UND_ERR_RES_CONTENT_LENGTH_MISMATCH)$/;
const TIMEOUT = /^(UND_ERR_HEADERS_TIMEOUT|UND_ERR_BODY_TIMEOUT|ETIMEDOUT)$/;

/** undici's text for an answer that it cannot follow, e.g. one that switches protocols. */
const isBadAnswer = (error: unknown) => error instanceof Error && error.message === "bad response";

/** Plain words, with the setting that helps, for failures that undici describes in internal terms. */
const plainWords = (code: string, { connectMs, headersMs, bodyMs }: Timeouts): string | null => {
  if (NOT_HTTP.test(code)) return `the answer breaks the rules of HTTP (${code})`;
  switch (code) {
    case "UND_ERR_CONNECT_TIMEOUT":
      return `no connection within ${connectMs} ms (connect_timeout)`;
    case "UND_ERR_HEADERS_TIMEOUT":
      return `no answer within ${headersMs} ms (headers_timeout)`;
    case "UND_ERR_BODY_TIMEOUT":
      return `the answer paused for ${bodyMs} ms before its end (body_timeout)`;
    case "UND_ERR_HEADERS_OVERFLOW":
      return "the headers of the answer are larger than 16 KiB";
    case "UND_ERR_SOCKET":
      return "the connection was closed before the end of the answer";
    default:
      return null;
  }
};

const isConnectCall = (error: unknown) =>
  typeof error === "object" && error !== null && own(error, "syscall") === "connect";
/** undici reports the proxy's refusal only as text. */
const isProxyRefusal = (error: unknown) => error instanceof Error && /^Proxy response \(\d+\)/.test(error.message);

/**
 * The error to throw for a failed tunnel. UND_ERR_SOCKET becomes another error, because undici repeats a tunnel that failed
 * with it, without a pause or an end.
 */
const tunnelFailure = (error: unknown): Error => {
  const code = codeOf(error);
  if (code === "UND_ERR_HEADERS_TIMEOUT") return new errors.ConnectTimeoutError("the proxy opened no tunnel in time");
  if (code === "UND_ERR_SOCKET") return new Error("the proxy closed the connection instead of opening a tunnel");
  return error instanceof Error ? error : new Error("the proxy opened no tunnel");
};

/**
 * Tunnels through one proxy. undici opens a tunnel with a request of its own, to which neither the limits of connections nor a
 * caller's signal apply. So it ends here, after `connectMs`. `onFailure` gets every failure of a tunnel: no byte reached the
 * service.
 */
const tunnelsThrough =
  (connectMs: number, onFailure: (error: Error) => void) =>
  (proxy: URL, options: object): Dispatcher => {
    const pool = new Pool(proxy, { ...options, headersTimeout: connectMs });
    const open: (request: Dispatcher.ConnectOptions) => Promise<Dispatcher.ConnectData> = pool.connect.bind(pool);
    const connect = async (request: Dispatcher.ConnectOptions) => {
      try {
        return await open(request);
      } catch (error) {
        const failure = tunnelFailure(error);
        onFailure(failure);
        throw failure;
      }
    };
    return Object.assign(pool, { connect });
  };

/**
 * Connections for one base address. Proxies come from HTTP_PROXY, HTTPS_PROXY and NO_PROXY; this machine is always
 * reached directly. Throws CONFIG_INVALID when a proxy variable is not an address.
 */
export const createTransport = (base: URL, timeouts: Timeouts, connections: number): Transport => {
  // Errors of the connector: proof that no byte of a request was sent.
  const beforeConnection = new WeakSet<object>();
  const connector = buildConnector({ timeout: timeouts.connectMs });
  const connect: typeof connector = (options, callback) =>
    connector(options, (...result) => {
      if (result[0] !== null) beforeConnection.add(result[0]);
      callback(...result);
    });
  const options = { connect, connections, headersTimeout: timeouts.headersMs, bodyTimeout: timeouts.bodyMs };

  const create = (): Dispatcher => {
    // This machine is reached without a proxy.
    if (isLoopbackHost(base.hostname)) return new Agent(options);
    const tls = { timeout: timeouts.connectMs };
    const clientFactory = tunnelsThrough(timeouts.connectMs, (error) => beforeConnection.add(error));
    try {
      return new EnvHttpProxyAgent({ ...options, proxyTls: tls, requestTls: tls, clientFactory });
    } catch {
      // The cause is omitted: it contains the address, and a proxy's address may contain a password.
      throw new DuckmirrorError("CONFIG_INVALID", { detail: "HTTP_PROXY or HTTPS_PROXY is not an address" });
    }
  };
  const dispatcher = create();

  return {
    dispatcher,
    describe: (error) => (isBadAnswer(error) ? null : plainWords(codeOf(error), timeouts)),
    diagnose(error) {
      const code = codeOf(error);
      if (DNS.test(code)) return { reached: "unsent", reason: "dns" };
      if (CERTIFICATE.test(code)) return { reached: "unsent", reason: "certificate" };
      const unconnected = typeof error === "object" && error !== null && beforeConnection.has(error);
      if (unconnected || CONNECT.test(code) || isConnectCall(error) || isProxyRefusal(error)) {
        return { reached: "unsent", reason: "connect" };
      }
      if (code === "UND_ERR_HEADERS_OVERFLOW") return { reached: "unknown", reason: "headers" };
      if (NOT_HTTP.test(code)) return { reached: "unknown", reason: "form" };
      if (NEVER_SENT.test(code)) return { reached: "unsent", reason: "aborted" };
      return { reached: "unknown", reason: TIMEOUT.test(code) ? "timeout" : "reset" };
    },
    // Not undici's `close`: it waits for connections that are being opened, which nothing needs any more.
    close: () => dispatcher.destroy(),
  };
};

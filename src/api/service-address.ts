// Address and token of the service as the user gave them, and the target of a request below that address.
// Pure. Source: API.md, "Authentication".
import { isLoopbackHost } from "../core/config/listen-address.ts";
import { DuckmirrorError } from "../core/errors.ts";
import type { Secret } from "../core/secret.ts";
import type { ApiCall } from "./outcome.ts";

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

/** Path and query for the request line; spaces as %20, lone surrogates as U+FFFD. */
export const targetOf = (prefix: string, call: ApiCall): string => {
  const query = new URLSearchParams(call.query).toString().replaceAll("+", "%20");
  return `${prefix}${call.path}${query === "" ? "" : `?${query}`}`;
};

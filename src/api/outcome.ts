// Outcome of one request: the only view of HTTP for the rest of the program.

import type { EndpointName } from "../catalog/endpoints.ts";
import type { JsonObject, JsonValue } from "../core/json.ts";

/** One complete request, without the token, which only the client adds. */
export interface ApiCall {
  readonly endpoint: EndpointName;
  /** Path below the base address with encoded parameters, e.g. `/v1/companies/c_1/filings`. */
  readonly path: string;
  /** Query parameters in the order they are sent. */
  readonly query: Readonly<Record<string, string>>;
  /** JSON body: only POST /v1/feedback has one. */
  readonly body?: JsonObject;
}

/** The `usage` block (API.md, "Envelope objects"); null where the service omitted a figure. */
export interface Quota {
  readonly limit: number | null;
  readonly used: number | null;
  readonly remaining: number | null;
  /** ms since the epoch. */
  readonly resetsAt: number | null;
}

/** Ids of the response and of the API version, for support tickets. null where missing. */
export interface AnswerId {
  readonly requestId: string | null;
  readonly apiVersion: string | null;
}

/** Paging part of `meta`; null where a figure is missing or no whole number. */
export interface PageMeta {
  readonly page: number | null;
  readonly perPage: number | null;
  readonly totalCount: number | null;
  readonly totalPages: number | null;
}

/** Rate limit in headers of any dialect. */
export interface RateInfo {
  /** Requests allowed per `windowMs`. */
  readonly limit: number | null;
  readonly windowMs: number | null;
  readonly remaining: number | null;
  /** Time when `remaining` is restored, ms since the epoch. */
  readonly resetsAt: number | null;
  /** Earliest time of the next request (Retry-After), ms since the epoch. */
  readonly retryAt: number | null;
  /** Further limits that apply as well; absent if there are none. */
  readonly also?: readonly { readonly limit: number; readonly windowMs: number }[];
}

interface Answered {
  readonly call: ApiCall;
  readonly status: number;
  /** Time when the request was sent, ms since the epoch. */
  readonly sentAt: number;
  readonly durationMs: number;
  /** Bytes of the decoded body. */
  readonly bytes: number;
  readonly rate: RateInfo | null;
}

/** The parts of an envelope that the program uses (API.md, "Envelope objects"). */
export interface Envelope {
  readonly data: JsonValue;
  readonly included: JsonObject | null;
  readonly page: PageMeta;
  readonly usage: Quota | null;
  /** `meta.timestamp`, ms since the epoch. */
  readonly timestamp: number | null;
  /** The whole top-level object: account-insights has `status`, `candidates` beside `data`. */
  readonly envelope: JsonObject;
}

/** HTTP 200 with an envelope: costs one credit. */
export interface OkOutcome extends Answered, Envelope {
  readonly kind: "ok";
  /** The body as received, for the archive. `encoding` is its Content-Encoding. */
  readonly wire: { readonly bytes: Buffer; readonly encoding: "identity" | "gzip" | "br" };
}

/** HTTP 200 with a body that is no envelope. It was charged, and its body is archived too. */
interface InvalidOutcome extends Answered {
  readonly kind: "invalid";
  readonly detail: string;
  readonly wire: OkOutcome["wire"] | null;
}

/** Any other status: costs nothing. */
export interface RefusedOutcome extends Answered {
  readonly kind: "refused";
  /** Start of the body as text, at most 2 KiB, with the token scrubbed. */
  readonly excerpt: string;
  /** `usage` block of the error body, if it has one. */
  readonly usage: Quota | null;
  /** Ids in the error body; absent if there are none. */
  readonly id?: AnswerId | undefined;
}

/** No complete response: if the request may have reached the service, its charge is unknown. */
export interface BrokenOutcome {
  readonly kind: "broken";
  readonly call: ApiCall;
  readonly sentAt: number;
  readonly durationMs: number;
  /** `unsent`: certainly never reached the service (DNS, connect, certificate). `unknown`: may have reached it. */
  readonly reached: "unsent" | "unknown";
  /** Status, if it arrived before the body broke off. */
  readonly status: number | null;
  readonly reason: "dns" | "connect" | "certificate" | "timeout" | "reset" | "too_large" | "encoding" | "aborted";
  readonly detail: string;
  /** With reason `too_large`: the limit in bytes. */
  readonly limitBytes?: number;
}

export type ApiOutcome = OkOutcome | InvalidOutcome | RefusedOutcome | BrokenOutcome;

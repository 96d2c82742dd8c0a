// What one request can come back as: the only thing the rest of the program knows about HTTP.
import type { JsonObject, JsonValue } from "../core/json.ts";
import type { EndpointName } from "./endpoints.ts";

/** One request, fully described; the token is added by the client and stands nowhere else. */
export interface ApiCall {
  readonly endpoint: EndpointName;
  /** Path below the base address, parameters filled in and encoded, e.g. `/v1/companies/c_1/filings`. */
  readonly path: string;
  /** Query parameters in the order they are sent. */
  readonly query: Readonly<Record<string, string>>;
  /** JSON body: only POST /v1/feedback has one. */
  readonly body?: JsonObject;
}

/** The `usage` block (API.md, "Envelope objects"); null where the service left a figure out. */
export interface Quota {
  readonly limit: number | null;
  readonly used: number | null;
  readonly remaining: number | null;
  /** ms since the epoch. */
  readonly resetsAt: number | null;
}

/** What the service calls an answer and itself: a support ticket needs it. null where it does not say. */
export interface AnswerId {
  readonly requestId: string | null;
  readonly apiVersion: string | null;
}

/** Paging part of `meta`; null where the service left a figure out or it is not a whole number. */
export interface PageMeta {
  readonly page: number | null;
  readonly perPage: number | null;
  readonly totalCount: number | null;
  readonly totalPages: number | null;
}

/** What rate-limit headers said, whatever their dialect. */
export interface RateInfo {
  /** Requests allowed per `windowMs`. */
  readonly limit: number | null;
  readonly windowMs: number | null;
  readonly remaining: number | null;
  /** When `remaining` is filled up again, ms since the epoch. */
  readonly resetsAt: number | null;
  /** When the next request may be sent (Retry-After), ms since the epoch. */
  readonly retryAt: number | null;
  /** Further limits that hold besides; left out where there are none. */
  readonly also?: readonly { readonly limit: number; readonly windowMs: number }[];
}

interface Answered {
  readonly call: ApiCall;
  readonly status: number;
  /** When the request was sent, ms since the epoch. */
  readonly sentAt: number;
  readonly durationMs: number;
  /** Bytes of the decoded body. */
  readonly bytes: number;
  readonly rate: RateInfo | null;
}

/** HTTP 200 with an envelope: costs one credit. */
export interface OkOutcome extends Answered {
  readonly kind: "ok";
  /** The envelope's `data`. */
  readonly data: JsonValue;
  readonly included: JsonObject | null;
  readonly page: PageMeta;
  readonly usage: Quota | null;
  /** `meta.timestamp`, ms since the epoch. */
  readonly timestamp: number | null;
  /** The whole top-level object: account-insights puts `status`, `candidates` beside `data`. */
  readonly envelope: JsonObject;
  /** The body as received, for the archive. `encoding` is its Content-Encoding. */
  readonly wire: { readonly bytes: Buffer; readonly encoding: "identity" | "gzip" | "br" };
}

/** HTTP 200 whose body is not an envelope: charged all the same. The body is archived too. */
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
  /** What the error body says about itself; absent where it says nothing. */
  readonly id?: AnswerId | undefined;
}

/** No complete answer: whether a credit was spent is unknown if the request may have reached the service. */
export interface BrokenOutcome {
  readonly kind: "broken";
  readonly call: ApiCall;
  readonly sentAt: number;
  readonly durationMs: number;
  /** `unsent`: certainly never reached the service (DNS, connect). `unknown`: it may have. */
  readonly reached: "unsent" | "unknown";
  /** Status line, if it arrived before the body broke off. */
  readonly status: number | null;
  readonly reason: "dns" | "connect" | "timeout" | "reset" | "too_large" | "encoding" | "aborted";
  readonly detail: string;
  /** With reason `too_large`: how many bytes were allowed. */
  readonly limitBytes?: number;
}

export type ApiOutcome = OkOutcome | InvalidOutcome | RefusedOutcome | BrokenOutcome;

// Types of the outcome of one request, the only view of HTTP for the rest of the program, and of the verdict on it (retry-policy.ts).
import { ENDPOINTS, type EndpointName } from "../catalog/endpoints.ts";
import type { ErrorCode } from "../core/errors.ts";
import type { JsonObject, JsonValue } from "../core/json.ts";

// A request and what became of it, in words for messages.

/** The request as text for messages: stream, route with ids, page. */
export const endpointOf = ({ call }: ApiOutcome, stream: string | undefined): string => {
  const { page } = call.query;
  const where = `${ENDPOINTS[call.endpoint].method} ${call.path}${page === undefined ? "" : `, page ${page}`}`;
  return stream === undefined ? where : `${stream} (${where})`;
};

/** Most characters of an error body in a message. */
const MOST_QUOTED = 300;

/** Body of a refusal as text for people: the title of an HTML page, the start of anything else. */
const quoted = (excerpt: string): string => {
  if (excerpt.startsWith("<")) {
    const title = /<title[^>]*>([^<]{1,200})/i.exec(excerpt)?.[1]?.trim();
    return title === undefined ? ", a page of HTML" : `, a page titled "${title}"`;
  }
  if (excerpt === "") return "";
  return `, ${excerpt.length > MOST_QUOTED ? `${excerpt.slice(0, MOST_QUOTED)}…` : excerpt}`;
};

/** Cause of a failure as text; empty for success. */
export const causeOf = (outcome: ApiOutcome): string => {
  switch (outcome.kind) {
    case "refused":
      return `status ${outcome.status}${quoted(outcome.excerpt)}`;
    case "broken":
    case "invalid":
      return outcome.detail;
    case "ok":
      return "";
    default:
      return outcome satisfies never;
  }
};

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
  /** Path of a redirect within the service. */
  readonly movedTo?: string;
  /** Why the token could not be read again after a 401; absent: it was read, or has no source to read from. */
  readonly tokenProblem?: string;
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
  readonly reason:
    | "dns"
    | "connect"
    | "certificate"
    | "timeout"
    | "reset"
    | "headers"
    | "form"
    | "too_large"
    | "encoding"
    | "aborted";
  readonly detail: string;
  /** With reason `too_large`: the limit in bytes. */
  readonly limitBytes?: number;
}

export type ApiOutcome = OkOutcome | InvalidOutcome | RefusedOutcome | BrokenOutcome;

/** Values for the message of an error. */
export type FailContext = Readonly<Record<string, string | number>>;
export type Verdict =
  /** The envelope is usable. */
  | { readonly kind: "use" }
  /** The record or company does not exist: certain, and free. */
  | { readonly kind: "absent" }
  /** The service rejected these parameters; the caller may try others. */
  | { readonly kind: "adjust"; readonly detail: string }
  /** Too fast: send nothing before `untilMs` (ms since the epoch). */
  | { readonly kind: "wait"; readonly untilMs: number; readonly why: "rate" }
  /** Repeat the same request after `waitMs`. */
  | { readonly kind: "retry"; readonly waitMs: number }
  /** Abandon this scope and continue with others. */
  | { readonly kind: "fail"; readonly code: ErrorCode; readonly context: FailContext }
  /** End the run, because no other request would succeed either. */
  | { readonly kind: "stop"; readonly code: ErrorCode; readonly context: FailContext };

export interface VerdictContext {
  /** 1 for the first attempt at this request; waits for the rate count too. */
  readonly attempt: number;
  /** In [0, 1): jitter. */
  readonly random: number;
  /** ms since the epoch. */
  readonly now: number;
  /** Credits left in the service's last report; null without one. */
  readonly remainingCredits: number | null;
  /** End of the period in that report, ms since the epoch; unset or null: not known. */
  readonly creditsResetAt?: number | null;
  /** Most attempts at a request that fails because of network or service; never more than 6. */
  readonly maxAttempts?: number;
  /** Most attempts that may be paid; never more than 3. */
  readonly maxPaidAttempts?: number;
  /** Stream of the request, for messages. */
  readonly stream?: string;
  /** The service has answered another request of this run, so its address is right. */
  readonly serviceAnswers?: boolean;
  /** Other routes are asked, too: a 403 may be this one's own. */
  readonly routesDiffer?: boolean;
  /** The request names heavy fields, which the organization may not be allowed to read. */
  readonly namesContent?: boolean;
}

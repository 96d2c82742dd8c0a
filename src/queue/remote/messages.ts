// Messages between loader and fetchers: a request, the note beside a response, and the notice that one arrived.
// Versioned as all payloads; times are ms of Redis's clock, because the machines' clocks may differ. A request names
// its endpoint and parameters, and the fetcher builds path and query from the catalog, so the token cannot be sent
// elsewhere.
import { z } from "zod";
import type { ApiCall } from "../../api/outcome.ts";
import { ENDPOINTS, type EndpointName, paramsOf, pathOf, readOf } from "../../catalog/endpoints.ts";
import { ERRORS } from "../../core/errors.ts";
import { exactJson } from "../../core/text/exact-json.ts";
import type { Parcel } from "../../sync/request/sender.ts";
import { parsePayload, versions } from "../asking/payloads.ts";
import type { Seals } from "./seals.ts";

const endpoint = z
  .string()
  // Aborts, because validating the whole request needs the endpoint.
  .refine((name): name is EndpointName => Object.hasOwn(ENDPOINTS, name), { abort: true });
const errorCode = z.string().refine((name): name is keyof typeof ERRORS => Object.hasOwn(ERRORS, name));
const figure = z.number().nullable();
/** JSON text, because ids may exceed what JSON.parse holds exactly. */
const jsonText = z.string();

const requestSchema = z
  .object({
    requestId: z.string(),
    runId: z.string(),
    endpoint,
    params: z.record(z.string(), z.string()),
    query: z.record(z.string(), z.string()),
    stream: z.string(),
    scope: z.string(),
    walkId: z.string().nullable(),
    url: z.string(),
    detail: jsonText,
  })
  .refine(({ endpoint, params, query }) => readOf(endpoint, params, query) !== null, {
    error: "is no read that the catalog knows",
  });
export type RemoteRequest = z.output<typeof requestSchema>;

/** A job of the queue `fetch`: one request. Its signature is checked before the order is parsed. */
export const fetchJob = z.object({
  ...versions.shape,
  profile: z.string(),
  /** Key of the organization, to check that both sides have the same token. */
  organization: z.string(),
  /** A `FetchPayload` as JSON. */
  order: z.string(),
  signature: z.string(),
});
export type FetchJob = z.output<typeof fetchJob>;

const fetchPayload = z.object({
  ...versions.shape,
  profile: z.string(),
  mirror: z.string(),
  epoch: z.string(),
  /** Start of the loader's run: credits may have been bought since an earlier figure. */
  runBeganAt: z.number().optional(),
  /** Time when its rate slot was taken. */
  slotAt: z.number(),
  /** W3C `traceparent` of the request's span. */
  traceparent: z.string().optional(),
  request: requestSchema,
});
export type FetchPayload = z.output<typeof fetchPayload>;

/** A job of a mirror's queue of pages: a response is in its mailbox. */
export const pagePayload = versions.extend({ delivery: z.string() });

const rate = z
  .object({
    limit: figure,
    windowMs: figure,
    remaining: figure,
    resetsAt: figure,
    retryAt: figure,
    // Absent in messages of older fetchers.
    also: z
      .array(z.object({ limit: z.number(), windowMs: z.number() }))
      .readonly()
      .exactOptional(),
  })
  .nullable();
const usage = z.object({ limit: figure, used: figure, remaining: figure, resetsAt: figure }).nullable();

const resultSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("wire"), durationMs: z.number(), rate, contentEncoding: z.string() }),
  /** A 200 whose body cannot be parsed, and so not redacted; it stays with the fetcher. */
  z.object({
    kind: z.literal("unreadable"),
    durationMs: z.number(),
    rate,
    bytes: z.number(),
    detail: z.string(),
  }),
  z.object({
    kind: z.literal("refused"),
    status: z.number(),
    durationMs: z.number(),
    bytes: z.number(),
    rate,
    excerpt: z.string(),
    usage,
    id: z.object({ requestId: z.string().nullable(), apiVersion: z.string().nullable() }).optional(),
  }),
  z.object({
    kind: z.literal("broken"),
    durationMs: z.number(),
    reached: z.enum(["unsent", "unknown"]),
    status: figure,
    reason: z.enum(["dns", "connect", "certificate", "timeout", "reset", "too_large", "encoding", "aborted"]),
    detail: z.string(),
    limitBytes: z.number().optional(),
  }),
  /** Not sent, for this reason. */
  z.object({
    kind: z.literal("denied"),
    code: errorCode,
    context: z.record(z.string(), z.union([z.string(), z.number()])),
  }),
]);

/** Note before the body of a response in the mailbox. */
export const noteSchema = z.object({
  ...versions.shape,
  request: requestSchema,
  /** Number of sends when this response's was sent; 0: never sent. */
  nth: z.number(),
  sentAt: z.number(),
  /** Its charge is in the ledger. Absent in messages of older fetchers: not known. */
  settled: z.boolean().optional(),
  result: resultSchema,
});
export type Note = z.output<typeof noteSchema>;

/**
 * The request in the form for fetchers. They only read: any other method is a fault of duckmirror and throws
 * TypeError.
 */
export const requestOf = ({ requestId, runId, call, about }: Parcel): RemoteRequest => {
  const params = paramsOf(call.endpoint, call.path);
  if (params === null || readOf(call.endpoint, params, call.query) === null) {
    throw new TypeError(`${call.endpoint} ${call.path}: no fetcher sends this`);
  }
  return {
    requestId,
    runId,
    endpoint: call.endpoint,
    params,
    query: { ...call.query },
    stream: about.stream,
    scope: about.scope,
    walkId: about.walkId,
    url: about.url,
    detail: exactJson(about.detail),
  };
};

export const callOf = ({ endpoint, params, query }: RemoteRequest): ApiCall => ({
  endpoint,
  path: pathOf(endpoint, params),
  query,
});

/** The order as a signed job. */
export const signedJob = (seals: Seals, organization: string, payload: FetchPayload): FetchJob => {
  const order = JSON.stringify(payload);
  const { v, since, profile } = payload;
  return { v, since, profile, organization, order, signature: seals.sign(order) };
};

/**
 * The order of a job; null: no loader of this organization wrote it. `jobId`: an order is valid for one job only.
 * Throws JOB_VERSION when a loader of another version wrote it.
 */
export const readOrder = (
  seals: Seals,
  jobId: string,
  { profile, order, signature }: FetchJob,
): FetchPayload | null => {
  if (!seals.isSignature(signature, order)) return null;
  const payload = parsePayload(fetchPayload, jobId, JSON.parse(order));
  return payload.profile === profile && payload.request.requestId === jobId ? payload : null;
};

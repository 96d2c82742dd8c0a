// Parses the envelope of a 200 (API.md, "Envelope objects"), and the quota and ids in the body of any response. Tolerates
// malformed parts; other members are passed on unchanged. Pure.
import { z } from "zod";
import { ENDPOINTS, type EndpointName, isPaged } from "../catalog/endpoints.ts";
import { tableSpec } from "../catalog/tables.ts";
import { ExactNumber, isJsonObject, type JsonObject, type JsonValue } from "../core/json.ts";
import { headerTimeMs } from "../core/time.ts";
import { JsonSyntaxError, parseJson } from "./json/lossless-json.ts";
import type { AnswerId, Envelope, Quota } from "./outcome.ts";

/** A figure as number, bigint or text; any other value is null, never an error. */
const figure = z.preprocess((raw) => {
  if (typeof raw === "bigint") return Number(raw);
  if (raw instanceof ExactNumber) return Number(raw.literal);
  if (typeof raw === "string" && raw.trim() !== "") return Number(raw);
  return raw;
}, z.number().nullable().catch(null));

/** A whole number that counts something. Below zero it counts nothing: some services answer -1 for "not counted". */
const wholeFigure = figure.transform((value) =>
  value !== null && Number.isSafeInteger(value) && value >= 0 ? value : null,
);

/** An ISO 8601 text, or epoch seconds or milliseconds, as ms since the epoch. */
const instant = z
  .unknown()
  .optional()
  .transform((raw): number | null => {
    if (typeof raw === "string" && !/^\d+(\.\d+)?$/.test(raw.trim())) return headerTimeMs(raw);
    const value = typeof raw === "number" || typeof raw === "string" ? Number(raw) : Number.NaN;
    if (!Number.isFinite(value) || value < 1e9 || value > 8.64e15) return null;
    return value < 1e11 ? value * 1000 : value;
  });

const metaSchema = z.object({
  page: wholeFigure,
  perPage: wholeFigure,
  totalCount: wholeFigure,
  totalPages: wholeFigure,
  timestamp: instant,
});

/** No count of credits is larger than the integers that a number holds exactly: `Long.MAX_VALUE`, say, means no limit. */
const credits = figure.transform((value) =>
  value !== null && Math.abs(value) <= Number.MAX_SAFE_INTEGER ? value : null,
);

/**
 * True if these figures, as numbers or texts, are those of an organization without a limit: a limit below zero, or one of zero
 * with nothing left, though the service answers.
 */
export const meansUnlimited = (limit: JsonValue | undefined, remaining: JsonValue | undefined): boolean => {
  const most = credits.parse(limit);
  return most !== null && (most < 0 || (most === 0 && (credits.parse(remaining) ?? 0) <= 0));
};

/** Without a limit, `remaining` says nothing, whatever it is. */
const usageSchema = z
  .object({ limit: credits, used: credits, remaining: credits, resetsAt: instant })
  .transform((usage) =>
    meansUnlimited(usage.limit, usage.remaining) ? { ...usage, limit: null, remaining: null } : usage,
  );

/** `usage` block of any body; null when it is missing or has no figure. Without a limit, `limit` and `remaining` are null. */
export const readQuota = (body: JsonValue): Quota | null => {
  if (!isJsonObject(body)) return null;
  const read = usageSchema.safeParse(body.usage);
  if (!read.success) return null;
  return Object.values(read.data).every((value) => value === null) ? null : read.data;
};

const LONGEST_ID = 200;

const idText = (value: JsonValue | undefined): string | null => {
  if (typeof value === "number" || typeof value === "bigint") return String(value);
  return typeof value === "string" && value !== "" ? value.slice(0, LONGEST_ID) : null;
};

/** `meta.requestId` and `meta.apiVersion`; an error body, whose shape is not documented, may have them elsewhere. */
export const readAnswerId = (body: JsonValue): AnswerId => {
  if (!isJsonObject(body)) return { requestId: null, apiVersion: null };
  const places = [body.meta, body, body.error].filter((place) => place !== undefined && isJsonObject(place));
  const find = (name: string) =>
    places.map((place) => idText(isJsonObject(place) ? place[name] : undefined)).find((text) => text !== null) ?? null;
  return { requestId: find("requestId"), apiVersion: find("apiVersion") };
};

export type EnvelopeReading =
  | { readonly ok: true; readonly value: Envelope }
  | { readonly ok: false; readonly detail: string };

const invalid = (detail: string): EnvelopeReading => ({ ok: false, detail });

const describeText = (text: string, problem: string): string => {
  if (text.replace("\uFEFF", "").trim() === "") return "the body is empty";
  const title = /<title[^>]*>([^<]{1,200})/i
    .exec(text.slice(0, 20_000))?.[1]
    ?.replace(/\p{Cc}+/gu, " ")
    .trim();
  if (/^\s*</.test(text))
    return title ? `the body is a page of HTML or XML titled "${title}"` : "the body is HTML or XML";
  // The problem quotes the body, which must not control a terminal.
  return `the body is not valid JSON: ${problem.replace(/\p{Cc}+/gu, "\uFFFD")}`;
};

const describeKind = (value: JsonValue): string => {
  if (value === null) return "null";
  return Array.isArray(value) ? "an array" : `a ${typeof value}`;
};

/** Answers without data are insights that matched no account, or several (API.md, GET /v1/account-insights). */
const UNMATCHED: readonly JsonValue[] = ["not_found", "multiple_matches"];

const mayLackData = (endpoint: EndpointName, body: JsonObject): boolean =>
  endpoint === "getAccountInsight" && UNMATCHED.includes(body.status ?? null);

const FAILURES: readonly string[] = ["error", "fail", "failed", "failure"];

const saysFailure = (status: JsonValue | undefined): boolean =>
  (typeof status === "string" && FAILURES.includes(status.toLowerCase())) || Number(figure.parse(status)) >= 400;

const holdsNothing = (value: JsonValue | undefined): boolean =>
  (value ?? null) === null ||
  value === false ||
  value === "" ||
  (typeof value === "object" && !(value instanceof ExactNumber) && Object.keys(value ?? {}).length === 0);

/** True when the body of a 200 says that the request failed. Its data, whatever it holds, are not those that were asked for. */
const reportsFailure = ({ status, success, ok, error, errors, data }: JsonObject): boolean =>
  saysFailure(status) ||
  success === false ||
  ok === false ||
  (holdsNothing(data) && !(holdsNothing(error) && holdsNothing(errors)));

const SECTIONS = tableSpec("account_insights").fields.filter(({ name }) => name !== "accountId" && name !== "status");

/** An insight always has its profile (API.md, "Account insight"); one without any section would replace the stored one. */
const lacksSections = (data: JsonValue): boolean =>
  !isJsonObject(data) || !SECTIONS.some(({ name }) => Object.hasOwn(data, name));

/** True for a route that returns one record by its id: it has data, or 404. */
const returnsRecord = (endpoint: EndpointName): boolean => ENDPOINTS[endpoint].shape === "record";

/** The problem of a body that is an object; null: it can be used. */
const problemOf = (body: JsonObject, endpoint: EndpointName, countsNone: boolean): string | null => {
  const { data } = body;
  if (reportsFailure(body)) return `the body says that the request failed`;
  const isInsight = endpoint === "getAccountInsight";
  const isMissing = data === undefined || (data === null && (isInsight || returnsRecord(endpoint)));
  if (isMissing && !countsNone) return mayLackData(endpoint, body) ? null : "the body has no data";
  if (isInsight && lacksSections(data ?? null) && !mayLackData(endpoint, body)) return "data is no insight";
  return isPaged(endpoint) && !countsNone && !Array.isArray(data) ? "data is not an array" : null;
};

/**
 * Parses the body of a 200. `ok: false` has the problem as text for the user. A list whose `data` is not an array is
 * rejected: as an empty list it would look as if every row was deleted. It is empty only if it counts no rows. Throws nothing. Source: API.md, "Conventions
 * common to all endpoints".
 */
export const readEnvelope = (text: string, endpoint: EndpointName): EnvelopeReading => {
  let body: JsonValue;
  try {
    body = parseJson(text);
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    return invalid(describeText(text, error.message));
  }
  if (!isJsonObject(body)) return invalid(`the body is ${describeKind(body)}, not an object`);
  const { data, included, meta } = body;
  const { timestamp, ...page } = metaSchema.parse(isJsonObject(meta) ? meta : {});
  const paged = isPaged(endpoint);
  // Some languages write an empty list as null, or leave it out.
  const countsNone = paged && (data ?? null) === null && page.totalCount === 0;
  const problem = problemOf(body, endpoint, countsNone);
  if (problem !== null) return invalid(problem);
  return {
    ok: true,
    value: {
      data: countsNone ? [] : (data ?? null),
      included: isJsonObject(included) ? included : null,
      page,
      usage: readQuota(body),
      timestamp,
      envelope: body,
    },
  };
};

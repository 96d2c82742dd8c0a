// Parses the envelope of a 200 (API.md, "Envelope objects"), and the quota and ids in the body of any response. Tolerates
// malformed parts; other members are passed on unchanged. Pure.
import { ENDPOINTS, type EndpointName, type RouteSpec } from "../catalog/endpoints.ts";
import { tableSpec } from "../catalog/tables.ts";
import { ExactNumber, isJsonObject, type JsonObject, type JsonValue } from "../core/json.ts";
import { headerTimeMs } from "../core/time.ts";
import { JsonSyntaxError, parseJson } from "./lossless-json.ts";
import type { AnswerId, Envelope, Quota } from "./outcome.ts";

/** A figure as number, bigint or text; any other value is null, never an error. */
const figure = (raw: unknown): number | null => {
  let value = raw;
  if (typeof raw === "bigint") value = Number(raw);
  else if (raw instanceof ExactNumber) value = Number(raw.literal);
  else if (typeof raw === "string" && raw.trim() !== "") value = Number(raw);
  return typeof value === "number" && Number.isFinite(value) ? value : null;
};

/** A whole number that counts something. Below zero it counts nothing: some services answer -1 for "not counted". */
const count = (raw: unknown): number | null => {
  const value = figure(raw);
  return value !== null && Number.isSafeInteger(value) && value >= 0 ? value : null;
};

/** No count of credits is larger than the integers that a number holds exactly: `Long.MAX_VALUE`, say, means no limit. */
const credits = (raw: unknown): number | null => {
  const value = figure(raw);
  return value !== null && Math.abs(value) <= Number.MAX_SAFE_INTEGER ? value : null;
};

/** An ISO 8601 text, or epoch seconds or milliseconds, as ms since the epoch. */
const instant = (raw: unknown): number | null => {
  if (typeof raw === "string" && !/^\d+(\.\d+)?$/.test(raw.trim())) return headerTimeMs(raw);
  const value = typeof raw === "number" || typeof raw === "string" ? Number(raw) : Number.NaN;
  if (!Number.isFinite(value) || value < 1e9 || value > 8.64e15) return null;
  return value < 1e11 ? value * 1000 : value;
};

/**
 * True if these figures, as numbers or texts, are those of an organization without a limit: a limit below zero, or one of zero
 * with nothing left, though the service answers.
 */
export const meansUnlimited = (limit: JsonValue | undefined, remaining: JsonValue | undefined): boolean => {
  const most = credits(limit);
  return most !== null && (most < 0 || (most === 0 && (credits(remaining) ?? 0) <= 0));
};

/** `usage` block of any body; null when it is missing or has no figure. Without a limit, `limit` and `remaining` are null. */
export const readQuota = (body: JsonValue): Quota | null => {
  const usage = isJsonObject(body) ? body.usage : null;
  if (!isJsonObject(usage)) return null;
  // Without a limit, `remaining` says nothing, whatever it is.
  const isLimited = !meansUnlimited(usage.limit, usage.remaining);
  const [limit, remaining] = isLimited ? [credits(usage.limit), credits(usage.remaining)] : [null, null];
  const [used, resetsAt] = [credits(usage.used), instant(usage.resetsAt)];
  return (limit ?? used ?? remaining ?? resetsAt) === null ? null : { limit, used, remaining, resetsAt };
};

const LONGEST_ID = 200;

const idText = (value: JsonValue | undefined): string | null => {
  if (typeof value === "number" || typeof value === "bigint") return String(value);
  return typeof value === "string" && value !== "" ? value.slice(0, LONGEST_ID) : null;
};

/** `meta.requestId` and `meta.apiVersion`; an error body, whose shape is not documented, may have them elsewhere. */
export const readAnswerId = (body: JsonValue): AnswerId => {
  let requestId: string | null = null;
  let apiVersion: string | null = null;
  if (isJsonObject(body)) {
    for (const place of [body.meta, body, body.error]) {
      if (!isJsonObject(place)) continue;
      requestId ??= idText(place.requestId);
      apiVersion ??= idText(place.apiVersion);
    }
  }
  return { requestId, apiVersion };
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

const mayLackData = ({ status }: JsonObject): boolean => UNMATCHED.includes(status ?? null);

const FAILURES: readonly string[] = ["error", "fail", "failed", "failure"];

const saysFailure = (status: JsonValue): boolean =>
  (typeof status === "string" && FAILURES.includes(status.toLowerCase())) || Number(figure(status)) >= 400;

const holdsNothing = (value: JsonValue | undefined): boolean =>
  (value ?? null) === null ||
  value === false ||
  value === "" ||
  (typeof value === "object" && !(value instanceof ExactNumber) && Object.keys(value ?? {}).length === 0);

/** True when the body of a 200 says that the request failed. Its data, whatever it holds, are not those that were asked for. */
const reportsFailure = ({ status, success, ok, error, errors, data }: JsonObject): boolean => {
  if ((status !== undefined && saysFailure(status)) || success === false || ok === false) return true;
  return (error ?? errors) !== undefined && holdsNothing(data) && !(holdsNothing(error) && holdsNothing(errors));
};

const SECTIONS = tableSpec("account_insights").fields.filter(({ name }) => name !== "accountId" && name !== "status");

/** An insight always has its profile (API.md, "Account insight"); one without any section would replace the stored one. */
const lacksSections = (data: JsonValue): boolean =>
  !isJsonObject(data) || !SECTIONS.some(({ name }) => Object.hasOwn(data, name));

/** The problem of a body that is an object; null: it can be used. A route of one record has data, or answers 404. */
const problemOf = (body: JsonObject, shape: RouteSpec["shape"], countsNone: boolean): string | null => {
  const { data } = body;
  if (reportsFailure(body)) return "the body says that the request failed";
  if (countsNone) return null;
  const isInsight = shape === "insight";
  const isMissing = data === undefined || (data === null && (isInsight || shape === "record"));
  if (isMissing) return isInsight && mayLackData(body) ? null : "the body has no data";
  if (isInsight && lacksSections(data) && !mayLackData(body)) return "data is no insight";
  return shape === "list" && !Array.isArray(data) ? "data is not an array" : null;
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
  const { data = null, included, meta } = body;
  const { shape } = ENDPOINTS[endpoint];
  const figures = isJsonObject(meta) ? meta : {};
  const totalCount = count(figures.totalCount);
  // Some languages write an empty list as null, or leave it out.
  const countsNone = shape === "list" && data === null && totalCount === 0;
  const problem = problemOf(body, shape, countsNone);
  if (problem !== null) return invalid(problem);
  return {
    ok: true,
    value: {
      data: countsNone ? [] : data,
      included: isJsonObject(included) ? included : null,
      page: {
        page: count(figures.page),
        perPage: count(figures.perPage),
        totalCount,
        totalPages: count(figures.totalPages),
      },
      usage: readQuota(body),
      timestamp: instant(figures.timestamp),
      envelope: body,
    },
  };
};

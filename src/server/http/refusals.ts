// Converts errors to the server's error responses, a status and `{"error": {"code", "message", "hint"}}`, and parses request bodies.
import type { FastifyReply } from "fastify";
import { z } from "zod";
import { DuckmirrorError, type ErrorCode } from "../../core/errors.ts";
import { problemOf } from "../../core/report/problem.ts";

// Checks the body of a request against the route's schema; a body that does not fit is refused (USAGE, 400).

/** The first problem as one line: the field, and what is wrong with it. */
const firstProblem = ({ issues: [issue] }: z.ZodError): string =>
  `${issue?.path.join(".") || "body"}: ${issue?.message ?? "invalid"}`;

/** The body as the schema reads it; no body counts as an empty object. Throws USAGE with the first problem. */
export const parseBody = <T>(schema: z.ZodType<T>, body: unknown): T => {
  const parsed = schema.safeParse(body ?? {});
  if (parsed.success) return parsed.data;
  throw new DuckmirrorError("USAGE", { detail: firstProblem(parsed.error) });
};

export class HttpRefusal extends Error {
  readonly status: number;
  readonly code: string;
  readonly hint: string;

  constructor(status: number, code: string, message: string, hint: string) {
    super(message);
    this.name = "HttpRefusal";
    this.status = status;
    this.code = code;
    this.hint = hint;
  }
}

/** Statuses of the errors of requests; every other error is a fault of duckmirror: 500. */
const STATUS: Readonly<Partial<Record<ErrorCode, number>>> = {
  USAGE: 400,
  SINCE_UNSUPPORTED: 400,
  QUERY_FAILED: 400,
  QUERY_LIMIT: 400,
  SQL_REFUSED: 400,
  CATALOG_REFUSED: 503,
  USER_SQL_OFF: 403,
  USER_SQL_NO_BOX: 503,
  CHANGES_AHEAD: 400,
  CHANGES_GONE: 410,
  CONFIG_INVALID: 400,
  PROFILE_UNKNOWN: 400,
  SYNCS_NOT_STARTED_HERE: 409,
  IDEMPOTENCY_REUSED: 422,
  WRITER_BUSY: 409,
  BASE_URL_MISSING: 409,
  TOKEN_MISSING: 409,
  CREDENTIALS_REFUSED: 502,
  SERVICE_UNREACHABLE: 502,
  CERTIFICATE_REFUSED: 502,
  SERVICE_FAILING: 502,
  REQUEST_FAILED: 502,
  ROUTE_NOT_FOUND: 502,
  ROUTE_MISSING: 502,
  REDIRECTED: 502,
  SNAPSHOT_MISSING: 503,
  SNAPSHOT_GONE: 404,
  TOO_MANY_BYTES: 429,
  AUDIT_UNWRITABLE: 503,
  REDIS_UNAVAILABLE: 503,
  REDIS_FULL: 503,
  INTERRUPTED: 503,
};

const fastifyStatus = (error: unknown): number | null => {
  const status: unknown = error instanceof Error && "statusCode" in error ? error.statusCode : null;
  return typeof status === "number" && status >= 400 && status < 500 ? status : null;
};

const SEE_DOCUMENT = "docs/SERVER.md shows what is asked.";

export interface ErrorAnswer {
  readonly status: number;
  readonly body: { readonly error: { readonly code: string; readonly message: string; readonly hint: string } };
}

/**
 * Any thrown value as status and body, without paths of this machine. The text of an internal fault is not shown, because it may
 * contain SQL of others.
 */
export const errorAnswer = (error: unknown): ErrorAnswer => {
  const answer = (status: number, code: string, message: string, hint: string): ErrorAnswer => ({
    status,
    body: { error: { code, message, hint } },
  });
  if (error instanceof HttpRefusal) return answer(error.status, error.code, error.message, error.hint);
  if (error instanceof DuckmirrorError) {
    const { code, message, hint } = problemOf(error);
    // The hint of the command line names `--help`.
    return answer(STATUS[error.code] ?? 500, code, message, error.code === "USAGE" ? SEE_DOCUMENT : hint);
  }
  if (error instanceof z.ZodError) return answer(400, "USAGE", firstProblem(error), SEE_DOCUMENT);
  const status = fastifyStatus(error);
  if (status !== null && error instanceof Error) {
    return answer(status, "BAD_REQUEST", error.message, 'docs/SERVER.md, "For programs", shows what each route takes.');
  }
  return answer(500, "UNEXPECTED", "Something went wrong.", "The server's log says what.");
};

export const notFound = (what: string): HttpRefusal =>
  new HttpRefusal(404, "NOT_FOUND", `There is no ${what}.`, "docs/SERVER.md lists the routes.");

/** The response after too many wrong keys. The right key is still accepted. */
export const tooManyGuesses = (reply: FastifyReply): HttpRefusal => {
  reply.header("retry-after", "60").header("connection", "close");
  return new HttpRefusal(429, "TOO_MANY_LOGINS", "Too many wrong keys from this address.", "Wait a minute.");
};

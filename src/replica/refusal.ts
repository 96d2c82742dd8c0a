// A refused request: thrown inside the replica, sent as `{"error": {"code", "message"}}`.
// API.md shows statuses and conditions ("Errors"), but no body; the body is ours.

export type RefusalCode =
  | "bad_request"
  | "unauthorized"
  | "credits_exhausted"
  | "not_found"
  | "method_not_allowed"
  | "rate_limited"
  | "internal";

const STATUS: Readonly<Record<RefusalCode, number>> = {
  bad_request: 400,
  unauthorized: 401,
  credits_exhausted: 402,
  not_found: 404,
  method_not_allowed: 405,
  rate_limited: 429,
  internal: 500,
};

export class Refusal extends Error {
  readonly code: RefusalCode;
  readonly status: number;
  /** Of a 405: the methods that are allowed. */
  readonly allow: readonly string[];

  constructor(code: RefusalCode, message: string, allow: readonly string[] = []) {
    super(message);
    this.name = "Refusal";
    this.code = code;
    this.status = STATUS[code];
    this.allow = allow;
  }
}

/** Headers of a refusal. */
export const refusalHeaders = ({ status, allow }: Refusal): Readonly<Record<string, string>> =>
  status === 405 ? { allow: allow.join(", ") } : {};

/** Body of a refusal, as JSON text. */
export const refusalBody = (code: RefusalCode, message: string): string => JSON.stringify({ error: { code, message } });

// Errors of the replica: a `Refusal` is thrown for a bad request and sent as `{"error": {"code", "message"}}`. API.md shows statuses and
// conditions ("Errors"), but no body; the body is ours.
import { z } from "zod";
import { FEEDBACK_CATEGORIES } from "../catalog/resources.ts";

// POST /v1/feedback: validates the request body (API.md, "Feedback request" and "POST /v1/feedback").

const feedbackSchema = z.object({
  message: z.string().min(1),
  rating: z.number().min(1).max(5).optional(),
  category: z.enum(FEEDBACK_CATEGORIES).optional(),
  context: z.record(z.string(), z.unknown()).optional(),
});

export type Feedback = z.infer<typeof feedbackSchema>;

/** Throws a 400 refusal that names the error. */
export const parseFeedback = (body: unknown): Feedback => {
  const parsed = feedbackSchema.safeParse(body);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new Refusal("bad_request", `${issue?.path.join(".") || "body"}: ${issue?.message ?? "invalid"}.`);
};

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
  /** The methods that are allowed, in a 405. */
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

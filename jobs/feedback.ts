// Job feedback: reports wrong or missing data to the service (API.md, "POST /v1/feedback"). A 200 costs a credit.
// Sends once, after at most one wait for the rate limit: a second attempt could store the feedback twice.
import type { ApiOutcome, OkOutcome } from "../src/api/outcome.ts";
import { causeOf } from "../src/api/outcome.ts";
import { chargeOf, verdictOf } from "../src/api/retry-policy.ts";
import type { FEEDBACK_CATEGORIES } from "../src/catalog/resources.ts";
import type { Config } from "../src/core/config/config.ts";
import { DuckmirrorError } from "../src/core/errors.ts";
import type { JsonObject, JsonValue } from "../src/core/json.ts";
import { type RecordedContext, recordedClient } from "./recorded-client.ts";

/** Source: API.md, "Feedback request". */
export interface FeedbackMessage {
  readonly message: string;
  /** 1 to 5; null: none. */
  readonly rating: number | null;
  readonly category: (typeof FEEDBACK_CATEGORIES)[number] | null;
  /** Subject, e.g. endpoint, record. */
  readonly context: JsonObject | null;
}

export interface FeedbackResult {
  /** Response of the service; API.md does not show its content. */
  readonly receipt: JsonValue;
  readonly credits: number;
}

/** Longest wait for the rate limit; a longer one fails. */
const LONGEST_WAIT_MS = 90_000;

const bodyOf = ({ message, rating, category, context }: FeedbackMessage): JsonObject => ({
  message,
  ...(rating === null ? {} : { rating }),
  ...(category === null ? {} : { category }),
  ...(context === null ? {} : { context }),
});

const failure = (
  outcome: Exclude<ApiOutcome, OkOutcome>,
  context: Parameters<typeof verdictOf>[1],
): DuckmirrorError => {
  const verdict = verdictOf(outcome, context);
  if (verdict.kind === "fail" || verdict.kind === "stop") return new DuckmirrorError(verdict.code, verdict.context);
  return new DuckmirrorError("REQUEST_FAILED", { endpoint: "POST /v1/feedback", detail: causeOf(outcome) });
};

/**
 * Sends the feedback. Throws BASE_URL_MISSING, CREDENTIALS_REFUSED, REQUEST_FAILED and other errors of the response.
 */
export const feedbackJob = async (
  config: Config,
  feedback: FeedbackMessage,
  context: RecordedContext & { readonly signal: AbortSignal },
): Promise<FeedbackResult> => {
  const { clock, signal } = context;
  const client = recordedClient(config, context, { mode: "feedback", stream: "feedback" });
  try {
    for (let attempt = 1; ; attempt++) {
      const call = { endpoint: "sendFeedback", path: "/v1/feedback", query: {}, body: bodyOf(feedback) } as const;
      const outcome = await client.send(call, signal);
      if (outcome.kind === "ok") return { receipt: outcome.data, credits: chargeOf(outcome) === "spent" ? 1 : 0 };
      const now = clock.now();
      const lastAttempt = { attempt: 1, maxAttempts: 1, random: 0.5, now, remainingCredits: null };
      const verdict = verdictOf(outcome, lastAttempt);
      if (verdict.kind !== "wait" || attempt > 1 || verdict.untilMs - now > LONGEST_WAIT_MS)
        throw failure(outcome, lastAttempt);
      await clock.sleep(verdict.untilMs - now, signal);
    }
  } finally {
    await client.close();
  }
};

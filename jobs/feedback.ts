// Job feedback: reports wrong or missing data to the service (API.md, "POST /v1/feedback"). A 200 costs a credit.
// Sends once, after at most one wait for the rate limit: a second attempt could store the feedback twice.
import { chargeOf } from "../src/api/retry-policy.ts";
import type { FEEDBACK_CATEGORIES } from "../src/catalog/resources.ts";
import type { Config } from "../src/core/config/config.ts";
import type { JsonObject, JsonValue } from "../src/core/json.ts";
import { answerTo, type RecordedContext, recordedClient } from "./recorded-client.ts";

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

const bodyOf = ({ message, rating, category, context }: FeedbackMessage): JsonObject => ({
  message,
  ...(rating === null ? {} : { rating }),
  ...(category === null ? {} : { category }),
  ...(context === null ? {} : { context }),
});

/**
 * Sends the feedback. Throws BASE_URL_MISSING, CREDENTIALS_REFUSED, REQUEST_FAILED and other errors of the response.
 */
export const feedbackJob = async (
  config: Config,
  feedback: FeedbackMessage,
  context: RecordedContext & { readonly signal: AbortSignal },
): Promise<FeedbackResult> => {
  const client = recordedClient(config, context, { mode: "feedback", stream: "feedback" });
  try {
    const call = { endpoint: "sendFeedback", path: "/v1/feedback", query: {}, body: bodyOf(feedback) } as const;
    const { outcome } = await answerTo(client, call, context);
    return { receipt: outcome.data, credits: chargeOf(outcome) === "spent" ? 1 : 0 };
  } finally {
    await client.close();
  }
};

// POST /v1/feedback: validates the request body (API.md, "Feedback request" and "POST /v1/feedback").
import { z } from "zod";
import { FEEDBACK_CATEGORIES } from "../catalog/resources.ts";
import { Refusal } from "./refusal.ts";

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

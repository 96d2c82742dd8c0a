// Checks the body of a request against the route's schema; a body that does not fit is refused (USAGE, 400).
import type { z } from "zod";
import { DuckmirrorError } from "../core/errors.ts";

/** The body as the schema reads it; no body counts as an empty object. Throws USAGE with the first problem. */
export const parseBody = <T>(schema: z.ZodType<T>, body: unknown): T => {
  const parsed = schema.safeParse(body ?? {});
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new DuckmirrorError("USAGE", { detail: `${issue?.path.join(".") || "body"}: ${issue?.message ?? "invalid"}` });
};

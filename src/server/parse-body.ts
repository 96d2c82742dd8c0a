// Checks the body of a request against the route's schema; a body that does not fit is refused (USAGE, 400).
import type { z } from "zod";
import { DuckmirrorError } from "../core/errors.ts";

/** The first problem as one line: the field, and what is wrong with it. */
export const firstProblem = ({ issues: [issue] }: z.ZodError): string =>
  `${issue?.path.join(".") || "body"}: ${issue?.message ?? "invalid"}`;

/** The body as the schema reads it; no body counts as an empty object. Throws USAGE with the first problem. */
export const parseBody = <T>(schema: z.ZodType<T>, body: unknown): T => {
  const parsed = schema.safeParse(body ?? {});
  if (parsed.success) return parsed.data;
  throw new DuckmirrorError("USAGE", { detail: firstProblem(parsed.error) });
};

// A failure as it is stored and shown: code, message and hint, without stack.
import { z } from "zod";
import { DuckmirrorError, detailOf } from "../errors.ts";

export const problemSchema = z.object({ code: z.string(), message: z.string(), hint: z.string() });
export type Problem = z.output<typeof problemSchema>;

/** Converts any thrown value to code, message and hint. */
export const problemOf = (error: unknown): Problem => {
  const known =
    error instanceof DuckmirrorError ? error : new DuckmirrorError("UNEXPECTED", { detail: detailOf(error) });
  return { code: known.code, message: known.message, hint: known.hint };
};

// Failures and results as a queue stores them, without secrets. A failure is one line that starts with the code, without stack or secret, because a
// dead letter is kept for thirty days.

import type { z } from "zod";
import { DuckmirrorError, detailOf, ERRORS, EXIT } from "../../core/errors.ts";
import type { Problem } from "../../core/report/problem.ts";
import type { Scrubber } from "../../core/secret.ts";

/** The value with secrets removed from its texts. */
export const scrubbed = <T>(
  schema: z.ZodType<T>,
  value: T,
  { scrubber }: { readonly scrubber: Pick<Scrubber, "scrub"> },
): T => schema.parse(JSON.parse(scrubber.scrub(JSON.stringify(value))));

/** Error for a failed job: `CODE: message`. */
export const failureToKeep = (error: unknown, scrubber: Pick<Scrubber, "scrub">): Error => {
  const code = error instanceof DuckmirrorError ? error.code : "UNEXPECTED";
  const kept = new Error(scrubber.scrub(`${code}: ${detailOf(error)}`));
  kept.stack = kept.message;
  return kept;
};

const isCode = (code: string): code is keyof typeof ERRORS => Object.hasOwn(ERRORS, code);

/**
 * Problem in a stored failure or in the error of a stored run; null without one. Hints with unfilled gaps are
 * omitted.
 */
export const storedProblem = (text: string): Problem | null => {
  if (text === "") return null;
  const [, code = "", message = ""] = /^([A-Z_]+)(?:: (.*))?$/s.exec(text) ?? [];
  if (!isCode(code)) return { code: "UNEXPECTED", message: text, hint: ERRORS.UNEXPECTED.hint };
  const { hint, message: template } = ERRORS[code];
  const whole = (line: string) => (/\{\w+\}/.test(line) ? "" : line);
  return { code, message: message === "" ? whole(template) : message, hint: whole(hint) };
};

/** False for what only a change of configuration mends. */
export const isWorthRepeating = ({ exitCode }: Pick<DuckmirrorError, "exitCode">): boolean => exitCode !== EXIT.usage;

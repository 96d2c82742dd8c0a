// Failures as a queue stores them: one line that starts with the code, without stack or secret, because a
// dead letter is kept for thirty days.

import type { Problem } from "../../../jobs/family.ts";
import { DuckmirrorError, detailOf, ERRORS } from "../../core/errors.ts";
import type { Scrubber } from "../../core/secret.ts";

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

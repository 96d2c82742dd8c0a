// Failures as a queue keeps them: one line with the code in front, no stack, no secret. BullMQ stores both for thirty days.

import type { Problem } from "../../jobs/family.ts";
import { DuckmirrorError, detailOf, ERRORS } from "../core/errors.ts";
import type { Scrubber } from "../core/secret.ts";

/** The error a job is failed with: `CODE: message`. */
export const failureToKeep = (error: unknown, scrubber: Pick<Scrubber, "scrub">): Error => {
  const code = error instanceof DuckmirrorError ? error.code : "UNEXPECTED";
  const kept = new Error(scrubber.scrub(`${code}: ${detailOf(error)}`));
  kept.stack = kept.message;
  return kept;
};

const isCode = (code: string): code is keyof typeof ERRORS => Object.hasOwn(ERRORS, code);

/** What a kept failure, or the error of a stored run, tells; null for none. Hints with gaps are left out. */
export const toldFailure = (text: string): Problem | null => {
  if (text === "") return null;
  const [, code = "", message = ""] = /^([A-Z_]+)(?:: (.*))?$/s.exec(text) ?? [];
  if (!isCode(code)) return { code: "UNEXPECTED", message: text, hint: ERRORS.UNEXPECTED.hint };
  const { hint, message: template } = ERRORS[code];
  const whole = (line: string) => (/\{\w+\}/.test(line) ? "" : line);
  return { code, message: message === "" ? whole(template) : message, hint: whole(hint) };
};

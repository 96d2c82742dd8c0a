// A failure as it is stored and shown to others than the owner of this machine: code, message and hint, without stack and without paths
// of its disk.

import { basename, isAbsolute } from "node:path";
import { z } from "zod";
import { DuckmirrorError, detailOf } from "../errors.ts";
import { withoutPaths } from "../text/forms.ts";

export const problemSchema = z.object({ code: z.string(), message: z.string(), hint: z.string() });
export type Problem = z.output<typeof problemSchema>;

/** Any thrown value as an error with a code. */
export const withCode = (error: unknown): DuckmirrorError =>
  error instanceof DuckmirrorError ? error : new DuckmirrorError("UNEXPECTED", { detail: detailOf(error) });

/** Converts any thrown value to code, message and hint; paths of this machine are cut to their last part. */
export const problemOf = (error: unknown): Problem => {
  const { code, message, hint, context } = withCode(error);
  // A path may hold what ends one in a sentence: a space, a colon.
  const paths = Object.values(context).filter((value) => typeof value === "string" && isAbsolute(value));
  const cut = (text: string) =>
    withoutPaths(
      paths.reduce<string>((left, path) => left.replaceAll(String(path), `…/${basename(String(path))}`), text),
    );
  return { code, message: cut(message), hint: cut(hint) };
};

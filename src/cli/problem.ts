// Reports a failure: code, message and hint; a stack only on request, never a secret.
import { CommanderError } from "commander";
import { DuckmirrorError, detailOf } from "../core/errors.ts";
import { errorAddress } from "../core/program-files.ts";
import type { Scrubber } from "../core/secret.ts";
import { visible } from "../core/text/shown-text.ts";
import type { CliDeps } from "./command.ts";
import type { Terminal } from "./terminal/terminal.ts";

/** Codes of Node for a file that this user may not use, or a path that leads to none. */
const REFUSED = new Set<unknown>(["EACCES", "EPERM", "EBUSY", "EROFS", "ENOTDIR", "EISDIR", "ELOOP", "ENAMETOOLONG"]);
const isRefusedFile = (error: unknown): boolean =>
  error instanceof Error && "path" in error && "code" in error && REFUSED.has(error.code);

/** Converts any thrown value to an error with code, hint and exit code. */
export const asProblem = (error: unknown): DuckmirrorError => {
  if (error instanceof DuckmirrorError) return error;
  if (error instanceof CommanderError) {
    // Commander writes "error: unknown option '--x'\n(Did you mean --y?)".
    const detail = error.message.replace(/^error: /, "").replace(/\s*\n\s*/g, " ");
    return new DuckmirrorError("USAGE", { detail }, { cause: error });
  }
  const code = isRefusedFile(error) ? "FILE_REFUSED" : "UNEXPECTED";
  return new DuckmirrorError(code, { detail: detailOf(error) }, { cause: error });
};

/** The error of several works: that of the only one, else one that names those that failed; null: none did. */
export const failureOfAll = (
  works: readonly { readonly name: string; readonly error: DuckmirrorError | null }[],
  code: "ALERTS_FAILED" | "DESTINATIONS_FAILED",
): DuckmirrorError | null => {
  const failed = works.filter(({ error }) => error !== null);
  if (works.length === 1 || failed.length === 0) return failed[0]?.error ?? null;
  return new DuckmirrorError(code, { names: failed.map(({ name }) => name).join(", ") });
};

/** The object that --json prints to stdout instead of a result. */
export const problemJson = (problem: DuckmirrorError, scrubber: Scrubber) => ({
  error: { code: problem.code, message: scrubber.scrub(problem.message), hint: scrubber.scrub(problem.hint) },
});

/** A result that --json prints, with `error` in it if the command failed and has a result all the same. */
export const withError = (result: object, error: unknown, scrubber: Scrubber): object =>
  error === null ? result : { ...result, ...problemJson(asProblem(error), scrubber) };

/** Writes the failure to stderr, its commands as they were started; with `verbose` also its stack. */
export const writeProblem = (
  problem: DuckmirrorError,
  {
    terminal,
    scrubber,
    invocation,
  }: Pick<CliDeps, "scrubber" | "invocation"> & { readonly terminal: Pick<Terminal, "err" | "errColours"> },
  verbose: boolean,
) => {
  const { red, dim } = terminal.errColours;
  const asStarted = (text: string) => visible(text).replaceAll("`duckmirror ", `\`${invocation} `);
  const lines = [
    `${red(`error ${problem.code}:`)} ${asStarted(problem.message)}`,
    `${dim("hint:")} ${asStarted(problem.hint)}`,
  ];
  const address = errorAddress(problem.code);
  if (address !== null) lines.push(`${dim("more:")} ${address}`);
  for (let cause: unknown = problem; verbose && cause instanceof Error; cause = cause.cause) {
    lines.push(dim(visible(cause.stack ?? cause.message)));
  }
  terminal.err(`${scrubber.scrub(lines.join("\n"))}\n`);
};

// docs/ERRORS.md as text, from the table of errors and the table of verdicts. Pure.
import { VERDICT_ROWS } from "../../src/api/retry-policy.ts";
import { ERRORS } from "../../src/core/errors.ts";

const EXITS: readonly (readonly [code: number, meaning: string])[] = [
  [0, "done"],
  [1, "unexpected"],
  [2, "usage or configuration"],
  [3, "credentials refused"],
  [4, "stopped by credits or time; the mirror is consistent, the next sync continues"],
  [
    5,
    "some streams failed, the others are committed; or the service or Redis cannot be reached, `lookup` found no single answer, `verify` found differences",
  ],
  [6, "another writer holds the warehouse"],
  [130, "interrupted; everything fetched is committed"],
];

/** `{rows:row}` as `{rows} rows`: how it reads for most numbers. */
const asRead = (text: string) => text.replace(/\{(\w+):([\w ]+)\}/g, "{$1} $2s");

const cell = (text: string | number) => asRead(String(text)).replaceAll("|", "\\|");

/** A Markdown table, not padded: a longer message changes its own line only. */
const table = (head: readonly string[], rows: readonly (readonly (string | number)[])[]): string => {
  const line = (row: readonly (string | number)[]) => `| ${row.map(cell).join(" | ")} |`;
  return [line(head), `|${" --- |".repeat(head.length)}`, ...rows.map(line)].join("\n");
};

export const renderErrorsDocument = (): string =>
  `# Errors

Generated from \`src/core/errors.ts\` and \`src/api/retry-policy.ts\`; a test keeps it equal to them.
Failures are written to stderr as \`error CODE: message\` and \`hint: ...\`; with \`--json\` also to stdout as
\`{"error": {"code", "message", "hint"}}\`, or as \`error\` in the result where there is one (a sync that ran out of credits).
After the hint, stderr has the address of the error's section on this page. Words in braces are filled in.

## Exit codes

${table(["exit code", "meaning"], EXITS)}

## Codes

${Object.entries(ERRORS)
  .map(([code, { exit, message, hint }]) => `### ${code}\n\nExit code ${exit}: ${asRead(message)}\n\n${asRead(hint)}`)
  .join("\n\n")}

## What follows from an answer of the service

Read from top to bottom; the first row that applies counts. Only a 200 costs a credit. A *scope* is what is read on its own: the
organization's list of a stream, one company's list, or one record. If it fails, the other scopes go on.

${table(
  ["answer", "credit", "what follows"],
  VERDICT_ROWS.map(({ when, credit, follows }) => [when, credit, follows]),
)}
`;

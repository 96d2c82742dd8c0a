// duckmirror check-data: runs the user's own checks (setting `checks`) on the rows that the next sync would publish, or writes a folder of
// first checks.
import { resolve } from "node:path";
import { z } from "zod";
import { checkDataJob, writeStarterChecks } from "../../../../jobs/check-data.ts";
import { jsonOrNull } from "../../../core/json.ts";
import { isoTime } from "../../../core/time.ts";
import type { CheckResult } from "../../../warehouse/read/check-results.ts";
import { defineCommand, option } from "../../command.ts";
import { renderTable, right } from "../../terminal/table.ts";

const toJson = ({ at, sample, ...result }: CheckResult) => ({
  ...result,
  sample: sample === null ? null : jsonOrNull(sample),
  at: isoTime(at),
});

/** The table of checks, then what is wrong with each, a line per row. */
const render = (results: readonly CheckResult[], columns: number): string => {
  const heads = ["check", "severity", "status", right("failing")];
  const rows = results.map(({ check, severity, status, failing }) => [check, severity, status, failing]);
  const samples = results.flatMap(({ check, sample }) => {
    const found: unknown = sample === null ? [] : jsonOrNull(sample);
    return (Array.isArray(found) ? found : [found]).map(
      (row) => `${check}: ${typeof row === "string" ? row : JSON.stringify(row)}`,
    );
  });
  return [renderTable(heads, rows, columns), ...samples].join("\n");
};

export const command = defineCommand({
  examples: {
    "duckmirror check-data": "run the checks of the setting `checks`",
    "duckmirror check-data --json": "the same as JSON; exit code 5 if an error check fails",
    "duckmirror check-data --init checks": "checks of keys, references, values, age and lost rows",
  },
  input: z.object({ init: option("<folder>", "write checks to begin with; files that exist stay") }),
  run: async ({ init }, context) => {
    if (init !== undefined) {
      const written = writeStarterChecks(resolve(context.cwd, init));
      const hint = `set \`checks: ${init}\` in duckmirror.yaml to run them`;
      return context.show({ written }, () => [...written, hint].join("\n"));
    }
    const { results, error } = await checkDataJob(await context.loadConfig(), context);
    return context.show({ checks: results.map(toJson) }, () => render(results, context.terminal.columns), error);
  },
});

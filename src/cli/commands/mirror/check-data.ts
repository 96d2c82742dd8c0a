// duckmirror check-data: runs the user's checks on what the next sync would publish, or writes checks to begin with.
import { resolve } from "node:path";
import { z } from "zod";
import { checkDataJob, writeStarterChecks } from "../../../../jobs/check-data.ts";
import { EXIT } from "../../../core/errors.ts";
import { jsonOrNull } from "../../../core/json.ts";
import { formatCount } from "../../../core/text/units.ts";
import { isoTime } from "../../../core/time.ts";
import type { CheckResult } from "../../../warehouse/read/check-results.ts";
import { type CommandContext, defineCommand } from "../../command.ts";
import { withError } from "../../problem.ts";
import { renderTable, right } from "../../terminal/table.ts";

const inputSchema = z.object({ init: z.string().optional() });

const toJson = ({ at, sample, ...result }: CheckResult) => ({
  ...result,
  sample: sample === null ? null : jsonOrNull(sample),
  at: isoTime(at),
});

/** The table of checks, then what is wrong with each, a line per row. */
const render = (results: readonly CheckResult[], columns: number): string => {
  const heads = [{ name: "check" }, { name: "severity" }, { name: "status" }, right("failing")];
  const rows = results.map(({ check, severity, status, failing }) => [
    check,
    severity,
    status,
    failing === null ? "" : formatCount(failing),
  ]);
  const samples = results.flatMap(({ check, sample }) => {
    const found: unknown = sample === null ? [] : jsonOrNull(sample);
    return (Array.isArray(found) ? found : [found]).map(
      (row) => `${check}: ${typeof row === "string" ? row : JSON.stringify(row)}`,
    );
  });
  return [renderTable(heads, rows, columns), ...samples].join("\n");
};

const init = async (folder: string, { cwd, shared, terminal, printJson }: CommandContext): Promise<number> => {
  const written = writeStarterChecks(resolve(cwd, folder));
  if (shared.json) await printJson({ written });
  else await terminal.out(`${[...written, `set \`checks: ${folder}\` in duckmirror.yaml to run them`].join("\n")}\n`);
  return EXIT.done;
};

export const command = defineCommand({
  configure: (cli) => cli.option("--init <folder>", "write checks to begin with; files that exist stay"),
  examples: {
    "duckmirror check-data": "run the checks of the setting `checks`",
    "duckmirror check-data --json": "the same as JSON; exit code 5 if an error check fails",
    "duckmirror check-data --init checks": "checks of keys, references, values, age and lost rows",
  },
  input: inputSchema,
  run: async (input, context) => {
    if (input.init !== undefined) return init(input.init, context);
    const { shared, terminal, clock, signal, scrubber } = context;
    const { results, error } = await checkDataJob(await context.loadConfig(), { clock, signal });
    if (shared.json) await context.printJson(withError({ checks: results.map(toJson) }, error, scrubber));
    else await terminal.out(`${render(results, terminal.columns)}\n`);
    return error === null ? EXIT.done : context.printProblem(error).exitCode;
  },
});

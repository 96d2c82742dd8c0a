// duckmirror audit: prints the audit trail from its own files; needs no warehouse.
import { z } from "zod";
import { EXIT } from "../../../core/errors.ts";
import { counted, formatBytes, formatCount } from "../../../core/text/units.ts";
import { timeMs } from "../../../core/time.ts";
import { type AuditLine, lastOfEach } from "../../../warehouse/audit/audit-line.ts";
import { readTrail } from "../../../warehouse/audit/read-trail.ts";
import { defineCommand } from "../../command.ts";
import { sinceOf } from "../../options/streams-argument.ts";
import { renderTable, right, type TableColumn } from "../../terminal/table.ts";

const DEFAULT_SINCE = "7d";

const inputSchema = z.object({ since: z.string().default(DEFAULT_SINCE) });

const COLUMNS: readonly TableColumn[] = [
  { name: "started at" },
  { name: "who" },
  { name: "way" },
  { name: "action" },
  { name: "what" },
  right("rows"),
  right("size"),
  right("ms"),
  { name: "outcome" },
];

const whoOf = ({ actor, os_user, address }: AuditLine): string => {
  const detail = os_user ?? address;
  return detail === null ? actor : `${actor} (${detail})`;
};

const whatOf = ({ sql, sql_hash, subject, route, parameters, unwritten }: AuditLine): string => {
  const query = parameters.length === 0 ? "" : `?${parameters.join("&")}`;
  const statement = sql ?? (sql_hash === null ? null : `unreadable SQL ${sql_hash.slice(0, 12)}`);
  const text = statement ?? subject ?? (route === null ? "" : `${route}${query}`);
  return unwritten === null ? text : `${text} (and ${formatCount(unwritten)} more without a line)`;
};

const rowOf = (line: AuditLine): readonly string[] => [
  line.started_at,
  whoOf(line),
  line.way,
  line.action,
  whatOf(line),
  line.rows === null ? "" : formatCount(line.rows),
  line.bytes === null ? "" : formatBytes(line.bytes),
  line.duration_ms === null ? "" : formatCount(line.duration_ms),
  line.outcome,
];

export const command = defineCommand({
  configure: (cli) =>
    cli.option("--since <time>", `from this time on, e.g. 2025-01-31 or 24h (default: ${DEFAULT_SINCE})`),
  examples: {
    "duckmirror audit": "the last seven days",
    "duckmirror audit --since 24h --json": "the last day, for a program",
    "duckmirror query \"from sync.audit where action = 'forget'\"": "by SQL, as of the last publish",
  },
  input: inputSchema,
  run: async ({ since }, context) => {
    const { shared, clock, terminal } = context;
    const from = sinceOf(since, clock.now());
    const { dataDir } = await context.loadConfig();
    const { lines, damaged, problems } = await readTrail(dataDir, from, clock.now());
    const actions = lastOfEach(lines).filter(({ started_at }) => (timeMs(started_at) ?? 0) >= from);
    if (shared.json) {
      await context.printJson({ actions: actions.map(({ audit: _, ...action }) => action), damaged, problems });
    } else if (actions.length === 0) await terminal.out("Nothing is recorded.\n");
    else await terminal.out(`${renderTable(COLUMNS, actions.map(rowOf), terminal.columns)}\n`);
    if (damaged > 0) terminal.err(`warning: ${counted(damaged, "damaged line")} skipped\n`);
    for (const problem of problems) terminal.err(`warning: ${problem}\n`);
    return EXIT.done;
  },
});

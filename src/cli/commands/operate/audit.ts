// duckmirror audit: prints the audit trail from its own files; needs no warehouse.
import { z } from "zod";
import { counted, formatBytes, formatCount } from "../../../core/text/units.ts";
import { momentBefore, timeMs } from "../../../core/time.ts";
import { type AuditLine, lastOfEach } from "../../../warehouse/audit/audit-line.ts";
import { readTrail } from "../../../warehouse/audit/read-trail.ts";
import { defineCommand, option } from "../../command.ts";
import { renderTable, right, type TableCell } from "../../terminal/table.ts";

const DEFAULT_SINCE = "7d";

const COLUMNS = ["started at", "who", "way", "action", "what", ...["rows", "size", "ms"].map(right), "outcome"];

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

const rowOf = (line: AuditLine): readonly TableCell[] => [
  line.started_at,
  whoOf(line),
  line.way,
  line.action,
  whatOf(line),
  line.rows,
  line.bytes === null ? null : formatBytes(line.bytes),
  line.duration_ms,
  line.outcome,
];

export const command = defineCommand({
  examples: {
    "duckmirror audit": "the last seven days",
    "duckmirror audit --since 24h --json": "the last day, for a program",
    "duckmirror query \"from sync.audit where action = 'forget'\"": "by SQL, as of the last publish",
  },
  input: z.object({
    since: option("<time>", `from this time on, e.g. 2025-01-31 or 24h (default: ${DEFAULT_SINCE})`),
  }),
  run: async ({ since = DEFAULT_SINCE }, context) => {
    const { clock, terminal } = context;
    const from = momentBefore("--since", since, clock.now());
    const { dataDir } = await context.loadConfig();
    const { lines, damaged, problems } = await readTrail(dataDir, from, clock.now());
    const actions = lastOfEach(lines).filter(({ started_at }) => (timeMs(started_at) ?? 0) >= from);
    const code = await context.show(
      { actions: actions.map(({ audit: _, ...action }) => action), damaged, problems },
      () =>
        actions.length === 0 ? "Nothing is recorded." : renderTable(COLUMNS, actions.map(rowOf), terminal.columns),
    );
    if (damaged > 0) terminal.err(`warning: ${counted(damaged, "damaged line")} skipped\n`);
    for (const problem of problems) terminal.err(`warning: ${problem}\n`);
    return code;
  },
});

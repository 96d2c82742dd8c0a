// duckmirror changes: prints every insert, update and delete of the mirror in commit order, from the snapshot.
import { z } from "zod";
import { snapshotPath } from "../../../core/data-dir.ts";
import { EXIT } from "../../../core/errors.ts";
import { jsonText } from "../../../core/json.ts";
import { visible } from "../../../core/text/shown-text.ts";
import { momentBefore } from "../../../core/time.ts";
import { type Change, changeInWords, changeTables } from "../../../warehouse/read/changes/change.ts";
import { streamChanges } from "../../../warehouse/read/changes/read-changes.ts";
import { rowWriter } from "../../../warehouse/user-sql/query-output.ts";
import { assertReadable } from "../../../warehouse/user-sql/trusted-files.ts";
import { audited } from "../../audited.ts";
import { type CommandContext, defineCommand, flag, listOf, option, usage, wholeOf } from "../../command.ts";
import { sayCopy } from "../../context.ts";

const inputSchema = z.object({
  after: option("<n>", "begin after the change with this number (default: with the oldest kept change)"),
  since: option("<when>", "begin with the first change since then: a date, a time, 24h, 7d or yesterday"),
  tables: option("<list>", "changes of these tables only, e.g. contacts,signals"),
  limit: option("<n>", "end after this many changes"),
  follow: flag("wait for later changes until stopped"),
  csv: flag("CSV; key, before and after as JSON"),
});
type Input = z.output<typeof inputSchema>;

const requestOf = ({ after, since, limit, tables, follow }: Input, now: number) => ({
  after: after === undefined ? null : wholeOf("--after", after, 0),
  ...(since === undefined ? {} : { since: momentBefore("--since", since, now) }),
  limit: limit === undefined ? null : wholeOf("--limit", limit, 1),
  tables: changeTables(listOf(tables)),
  follow,
});

const json = (value: Change | Change["key"] | Change["before"]): string =>
  jsonText(value === null ? null : { ...value }).text;

const csv = rowWriter(
  "csv",
  ["n", "at", "run_id", "table", "key", "change", "fields", "before", "after"].map((name) => ({
    name,
    type: "VARCHAR",
  })),
);
const csvRow = ({ n, at, run_id, table, key, change, fields, before, after }: Change): string =>
  csv.row([n, at, run_id, table, json(key), change, [...fields], before && json(before), after && json(after)], 0);

const plainRow = (one: Change): string => {
  const { n, at, table, change, key } = one;
  const keys = Object.entries(key).map(([column, value]) => `${column}=${String(value)}`);
  const { title, what } = changeInWords(one);
  const words = [title, what].filter((text) => text !== "").join(": ");
  const text = [String(n), at, change, table, keys.join(" "), words].join("  ").trimEnd();
  return `${visible(text.replaceAll(/\s/g, " "))}\n`;
};

/** Line of a change, and what comes before the first one. */
const writerOf = ({ csv: asCsv }: Input, { shared }: CommandContext) => {
  if (asCsv && shared.json) throw usage("give either --csv or --json");
  if (asCsv) return { head: csv.head, row: csvRow };
  return { head: "", row: shared.json ? (change: Change) => `${json(change)}\n` : plainRow };
};

const run = async (input: Input, context: CommandContext): Promise<number> => {
  const { terminal, clock, signal } = context;
  if (input.after !== undefined && input.since !== undefined) throw usage("give either --after or --since");
  const request = requestOf(input, clock.now());
  const { head, row } = writerOf(input, context);
  const config = await context.loadConfig();
  await sayCopy(config, context);
  const snapshot = snapshotPath(config.dataDir);
  // In a folder without a mirror nothing is created.
  assertReadable(snapshot);
  const write = async () => {
    let rows = 0;
    let bytes = 0;
    const out = async (text: string) => {
      bytes += Buffer.byteLength(text);
      if (text !== "") await terminal.out(terminal.isTty.out ? visible(text) : text);
    };
    await out(head);
    for await (const changes of streamChanges({ ...request, snapshot, clock, signal })) {
      for (const change of changes) await out(row(change));
      rows += changes.length;
    }
    return { rows, bytes };
  };
  const subject = `changes of ${input.tables === undefined ? "every table" : request.tables.join(",")}`;
  try {
    await audited(config, context, { action: "read", subject }, write, (written) => written);
    return EXIT.done;
  } catch (error) {
    // Being stopped is how --follow ends; the changes printed so far are whole.
    if (input.follow && signal.aborted && error === signal.reason) return EXIT.interrupted;
    throw error;
  }
};

export const command = defineCommand({
  examples: {
    "duckmirror changes": "one line per change, the oldest first",
    "duckmirror changes --since yesterday --tables accounts,contacts": "the last 24 hours in words",
    "duckmirror changes --after 1042 --json": "what changed since, with values before and after, one object per line",
    "duckmirror changes --after 1042 --tables contacts --follow --json": "the same for contacts, and what comes later",
    "duckmirror changes --limit 1000 --csv >changes.csv": "the first thousand as CSV",
  },
  input: inputSchema,
  run,
});

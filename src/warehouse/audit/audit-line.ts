// Schema of one line of the audit trail, a JSON object, and the parser of its files. An action has two lines with the same id, one when it
// begins and one when it ends; the last one counts. Pure.
import { z } from "zod";
import { jsonOrNull } from "../../core/json.ts";

/** How the actor came in: a command, a schedule, a key, a session of the page, no key at all, or not at all. */
export const WAYS = ["command", "schedule", "key", "session", "open", "refused"] as const;

export const ACTIONS = [
  "query",
  "read",
  "export",
  "sync",
  "cancel",
  "retry",
  "drop",
  "pause",
  "resume",
  "verify",
  "replay",
  "backup",
  "deliver",
  "alert",
  "restore",
  "feedback",
  "lookup",
  "forget",
  "follow",
  "unfollow",
  "key add",
  "key revoke",
  "login",
  "request",
] as const;
export type Action = (typeof ACTIONS)[number];

/** Outcome of an action that has only begun. */
export const STARTED = "started";

/** JSON can hold halves of characters, which no table takes. */
const written = z.string().refine((value) => value.isWellFormed());
const text = written.nullable().default(null);
const count = z.number().nullable().default(null);

const lineSchema = z.object({
  audit: z.literal(1),
  id: z.string().regex(/^[0-9a-f]{16}$/),
  // As `toISOString` writes it: the table takes nothing else.
  started_at: z.iso.datetime({ precision: 3 }),
  actor: written,
  way: z.enum(WAYS),
  os_user: text,
  /** Network address of someone who was refused. */
  address: text,
  action: z.enum(ACTIONS),
  /** Key's name, streams, hashes of erased contacts, folder format: never a value of a record. */
  subject: text,
  route: text,
  parameters: z.array(written).default([]),
  sql: text,
  sql_length: count,
  sql_hash: text,
  run_id: text,
  outcome: written,
  rows: count,
  bytes: count,
  duration_ms: count,
  /** Refused requests before this one that have no line of their own. */
  unwritten: count,
});
export type AuditLine = z.output<typeof lineSchema>;

/** How every line starts. Inside JSON a quote is escaped, so no line holds this anywhere else. */
const START = '{"audit":1,';

/** Text of a line, with its end. Empty members are left out. */
export const lineText = ({ audit: _, ...line }: AuditLine): string => {
  const members = Object.entries(line).filter(
    ([, value]) => value !== null && !(Array.isArray(value) && value.length === 0),
  );
  return `${START}${JSON.stringify(Object.fromEntries(members)).slice(1)}\n`;
};

const parseLine = (line: string): AuditLine | null => lineSchema.safeParse(jsonOrNull(line)).data ?? null;

export interface ReadLines {
  readonly lines: readonly AuditLine[];
  /** Number of pieces that are no line: a killed process or a full disk cut them off. */
  readonly damaged: number;
}

/** Reads complete lines. A line that was written behind a cut-off one is read nevertheless. */
export const readLines = (chunk: string): ReadLines => {
  const pieces = chunk
    .split("\n")
    .flatMap((row) => row.split(new RegExp(`(?=${START.replace("{", "\\{")})`)))
    .filter((piece) => piece.trim() !== "");
  const lines = pieces.map(parseLine);
  return {
    lines: lines.filter((line) => line !== null),
    damaged: lines.filter((line) => line === null).length,
  };
};

/** One line per action, in the order of their begins: the end replaces the begin. */
export const lastOfEach = (lines: readonly AuditLine[]): readonly AuditLine[] => {
  const last = new Map<string, AuditLine>();
  for (const line of lines) {
    const known = last.get(line.id);
    if (known === undefined || known.outcome === STARTED) last.set(line.id, line);
  }
  return [...last.values()];
};

// Lines of a call file: the requests of one command that does not hold the warehouse, such as `check`, as JSON objects. The next holder of
// the warehouse loads them to the ledger. Pure.
//
//   begin ─▶ sent ─▶ answered ─▶ sent ─▶ answered ─▶ end
//
// A killed process leaves a file without an end; a sent call without an answer is ambiguous once `until` has passed.
import { z } from "zod";
import { isLedgerStream } from "../../catalog/streams.ts";
import { jsonOrNull, jsonText } from "../../core/json.ts";
import { type QuotaReading, quotaSchema, type RequestRecord, requestSchema } from "../record/checkpoint.ts";

const ms = z.number();

const lineSchema = z.discriminatedUnion("line", [
  z.object({
    line: z.literal("begin"),
    runId: z.string(),
    mode: z.string(),
    at: ms,
    /** The process writes its next line before this time, or has ended. */
    until: ms,
  }),
  z.object({
    line: z.literal("sent"),
    requestId: z.string(),
    stream: z.string().refine(isLedgerStream),
    scope: z.string(),
    endpoint: z.string(),
    url: z.string(),
    at: ms,
    until: ms,
  }),
  z.object({
    line: z.literal("answered"),
    request: requestSchema,
    quota: quotaSchema.nullable(),
    until: ms,
  }),
  z.object({
    line: z.literal("end"),
    at: ms,
    error: z.string().nullable(),
    quota: quotaSchema.nullable(),
  }),
]);
export type CallLine = z.output<typeof lineSchema>;

export type SentCall = Extract<CallLine, { line: "sent" }>;

/** Text of a line, with its end. */
export const lineText = (line: CallLine): string => `${jsonText({ ...line }).text}\n`;

/** How a process notes its calls. */
interface CallLogOptions {
  readonly runId: string;
  readonly mode: string;
  readonly write: (line: CallLine) => void;
  readonly now: () => number;
  /** Longest time from one line to the next, ms. */
  readonly longestMs: number;
}

/** Notes the calls of one command: begin ─▶ (sent ─▶ answered)* ─▶ end. The file exists once something is sent. */
export const createCallLog = ({ runId, mode, write, now, longestMs }: CallLogOptions) => {
  let begun = false;
  const until = () => now() + longestMs;
  return {
    sent: (sent: Omit<SentCall, "line" | "at" | "until">): void => {
      if (!begun) write({ line: "begin", runId, mode, at: now(), until: until() });
      begun = true;
      write({ line: "sent", ...sent, at: now(), until: until() });
    },
    answered: (request: RequestRecord, quota: QuotaReading | null): void => {
      write({ line: "answered", request, quota, until: until() });
    },
    end: (error: string | null, quota: QuotaReading | null): void => {
      if (begun) write({ line: "end", at: now(), error, quota });
    },
  };
};

export interface OutsideCalls {
  readonly runId: string;
  readonly mode: string;
  /** ms since the epoch. */
  readonly startedAt: number;
  readonly finishedAt: number;
  /** Why the last call failed; null: it did not. */
  readonly error: string | null;
  readonly answered: readonly RequestRecord[];
  readonly open: readonly SentCall[];
  /** Latest usage block; null: none. */
  readonly quota: QuotaReading | null;
  /** The process has ended its file, or must have ended by `until`, ms since the epoch. */
  readonly until: number;
}

/** null: a killed process or a full disk cut the line off. */
const parseLine = (text: string): CallLine | null => lineSchema.safeParse(jsonOrNull(text)).data ?? null;

const timeOf = (line: CallLine): number => (line.line === "answered" ? line.request.startedAt : line.at);

/** The calls in a file's text; null: it holds no readable line. `runId`: from the file's name. */
export const readCallLines = (runId: string, text: string): OutsideCalls | null => {
  const lines = text.split("\n").flatMap((line) => parseLine(line) ?? []);
  const [first] = lines;
  const last = lines.at(-1);
  if (first === undefined || last === undefined) return null;
  const answered = lines.flatMap((line) => (line.line === "answered" ? [line.request] : []));
  const known = new Set(answered.map(({ requestId }) => requestId));
  const quotas = lines.flatMap((line) => ("quota" in line ? (line.quota ?? []) : []));
  return {
    runId,
    mode: first.line === "begin" ? first.mode : "call",
    startedAt: timeOf(first),
    finishedAt: timeOf(last),
    error: last.line === "end" ? last.error : "the process ended",
    answered,
    open: lines.filter((line) => line.line === "sent").filter(({ requestId }) => !known.has(requestId)),
    quota: quotas.at(-1) ?? null,
    until:
      last.line === "end"
        ? Number.NEGATIVE_INFINITY
        : Math.max(...lines.map((line) => ("until" in line ? line.until : 0))),
  };
};

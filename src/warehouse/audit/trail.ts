// The audit trail of one data directory: who did what, when, with which outcome. Each process appends lines to the
// day's file; the writer loads them into sync.audit (load-trail.ts). Values of records, literals of SQL and values of
// parameters are never written.
import { randomBytes } from "node:crypto";
import { dirname, join } from "node:path";
import type { Clock } from "../../core/clock.ts";
import { DuckmirrorError, detailOf } from "../../core/errors.ts";
import { appendOwn, listOwnIfThere, makeOwnFolder } from "../../core/files/own-files.ts";
import { withCode } from "../../core/report/problem.ts";
import { timeMs } from "../../core/time.ts";
import { type Action, type AuditLine, lineText, STARTED, type WAYS } from "./audit-line.ts";
import { knownWords, redactSql, sqlHash } from "./redact-sql.ts";

// Files of the audit trail: `state/audit/2026-11-22.jsonl`, one per day (UTC), which every process appends to.

export const trailDir = (dataDir: string): string => join(dataDir, "state", "audit");

const SUFFIX = ".jsonl";
const DAY_FILE = /^(\d{4}-\d{2}-\d{2})\.jsonl$/;

/** Start of a file's day, ms since the epoch; null: it is no file of the trail. */
export const dayOf = (name: string): number | null => {
  const day = DAY_FILE.exec(name)?.[1];
  return day === undefined ? null : timeMs(`${day}T00:00:00Z`);
};

/** Names of the trail's files, oldest first; none if there is no folder. Throws other errors of the file system. */
export const trailFiles = async (dir: string): Promise<readonly string[]> => {
  const names = await listOwnIfThere(dir);
  return names.filter((name) => dayOf(name) !== null).sort();
};

/**
 * Appends the text of one line in one write, so that lines of two processes do not mix. The file is opened for each
 * line, because an open file may have been removed. Throws the error of the file system.
 */
export const appendLine = (dir: string, at: number, line: string): void => {
  makeOwnFolder(dirname(dir));
  makeOwnFolder(dir);
  appendOwn(join(dir, `${new Date(at).toISOString().slice(0, 10)}${SUFFIX}`), line);
};

/** Most characters of a redacted statement in a line; its length and hash cover the whole. */
const MOST_SQL = 1000;
const MOST_SUBJECT = 1000;

export interface AuditedAction {
  /** Name of the key, or `local`. */
  readonly actor: string;
  readonly way: (typeof WAYS)[number];
  readonly osUser?: string | null;
  readonly address?: string | null;
  readonly action: Action;
  readonly subject?: string | null;
  readonly route?: string | null;
  readonly parameters?: readonly string[];
  /** Statement as typed; only its redacted form is written. */
  readonly sql?: string | null;
}

export interface Result {
  /** `ok`, or the code of an error. */
  readonly outcome: string;
  readonly subject?: string | null;
  readonly runId?: string | null;
  readonly rows?: number | null;
  readonly bytes?: number | null;
  readonly unwritten?: number | null;
}

export interface AuditTrail {
  /**
   * Writes that an action begins; the returned function writes how it ended. Both throw AUDIT_UNWRITABLE if the trail
   * is required.
   */
  begin(audited: AuditedAction): (result: Result) => void;
  /** Writes one line for an action that is over. `startedAt`: ms since the epoch. Throws as `begin`. */
  note(audited: AuditedAction, result: Result, startedAt: number): void;
}

export interface TrailOptions {
  readonly dataDir: string;
  readonly enabled: boolean;
  /** Fail what cannot be written; else warn once and go on. */
  readonly required: boolean;
  readonly clock: Pick<Clock, "now">;
  readonly warn: (text: string) => void;
}

const cut = (text: string, most: number): string => (text.length <= most ? text : `${text.slice(0, most)}…`);

const statementOf = (dir: string, sql: string) => {
  const text = redactSql(sql, knownWords());
  return { sql: text === null ? null : cut(text, MOST_SQL), sql_length: sql.length, sql_hash: sqlHash(dir, sql) };
};
const NO_STATEMENT = { sql: null, sql_length: null, sql_hash: null };

const lineOf = (dir: string, audited: AuditedAction, at: number): AuditLine => ({
  audit: 1,
  id: randomBytes(8).toString("hex"),
  started_at: new Date(at).toISOString(),
  actor: audited.actor,
  way: audited.way,
  os_user: audited.osUser ?? null,
  address: audited.address ?? null,
  action: audited.action,
  subject: audited.subject ?? null,
  route: audited.route ?? null,
  parameters: [...(audited.parameters ?? [])],
  ...(typeof audited.sql === "string" ? statementOf(dir, audited.sql) : NO_STATEMENT),
  run_id: null,
  outcome: STARTED,
  rows: null,
  bytes: null,
  duration_ms: null,
  unwritten: null,
});

const ended = (line: AuditLine, result: Result, durationMs: number): AuditLine => {
  const subject = result.subject ?? line.subject;
  return {
    ...line,
    subject: subject === null ? null : cut(subject, MOST_SUBJECT),
    outcome: result.outcome,
    run_id: result.runId ?? null,
    rows: result.rows ?? null,
    bytes: result.bytes ?? null,
    duration_ms: Math.max(0, Math.round(durationMs)),
    unwritten: result.unwritten ?? null,
  };
};

const NO_TRAIL: AuditTrail = { begin: () => () => undefined, note: () => undefined };

/** The trail of a data directory. Opens nothing yet. */
export const openTrail = ({ dataDir, enabled, required, clock, warn }: TrailOptions): AuditTrail => {
  if (!enabled) return NO_TRAIL;
  const dir = trailDir(dataDir);
  let warned = false;
  /** null: the write failed, and the trail is not required. */
  const attempt = <T>(write: () => T): T | null => {
    try {
      return write();
    } catch (cause) {
      const error = new DuckmirrorError("AUDIT_UNWRITABLE", { dir, detail: detailOf(cause) }, { cause });
      if (required) throw error;
      if (!warned) warn(`${error.message} The action goes on without a line.`);
      warned = true;
      return null;
    }
  };
  const append = (line: AuditLine) => appendLine(dir, clock.now(), lineText(line));
  return {
    begin: (audited) => {
      const startedAt = clock.now();
      const line = attempt(() => {
        const begun = lineOf(dir, audited, startedAt);
        append(begun);
        return begun;
      });
      return (result) =>
        void attempt(() => append(ended(line ?? lineOf(dir, audited, startedAt), result, clock.now() - startedAt)));
    },
    note: (audited, result, startedAt) =>
      void attempt(() => append(ended(lineOf(dir, audited, startedAt), result, clock.now() - startedAt))),
  };
};

/**
 * Does `work` between the lines of its beginning and its end; `resultOf` says what it came to. Throws AUDIT_UNWRITABLE before the work if
 * the trail is required, and errors of `work`.
 */
export const inTrail = async <T>(
  options: TrailOptions,
  audited: AuditedAction,
  work: () => Promise<T>,
  resultOf: (value: T) => Partial<Result> = () => ({}),
  codeOf: (error: unknown) => string = (error) => withCode(error).code,
): Promise<T> => {
  const end = openTrail(options).begin(audited);
  // The action is over: a line that cannot be written must hide neither its result nor its error.
  const note = (result: Result) => {
    try {
      end(result);
    } catch (unwritten) {
      options.warn(detailOf(unwritten));
    }
  };
  try {
    const value = await work();
    note({ outcome: "ok", ...resultOf(value) });
    return value;
  } catch (error) {
    note({ outcome: codeOf(error) });
    throw error;
  }
};

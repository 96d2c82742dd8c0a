// Tables of schema sync: meaning of each row and column, for comments and the data dictionary.
// A test keeps the columns equal to the migrations.

export interface LedgerTable {
  readonly name: string;
  /** Grain: one row per ... */
  readonly grain: string;
  /** Column → meaning. */
  readonly columns: Readonly<Record<string, string>>;
}

const RUN = "Run: sync.runs.run_id.";

export const LEDGER_TABLES: readonly LedgerTable[] = [
  {
    name: "runs",
    grain: "One row per run of duckmirror.",
    columns: {
      run_id: "Run id.",
      mode: "full or incremental for a sync; else the command: verify, check, feedback, lookup.",
      status: "running, or how it ended.",
      started_at: "When it started.",
      finished_at: "When it ended; NULL while it runs and after a crash.",
      forecast: "What planning announced, as JSON.",
      summary: "What it did: the object that `sync --json` prints; for a lookup, its question and outcome.",
      error: "Why it failed; NULL when it did not.",
    },
  },
  {
    name: "stream_state",
    grain: "One row per stream and scope: its state.",
    columns: {
      stream: "Stream, as `duckmirror sync` names it.",
      scope: "Company, account or input; empty for the organization.",
      status: "idle, walking or failed.",
      walk_id: "Walk under way, or the last one where it left rows unconfirmed; else NULL.",
      cursor: "Position from which that walk resumes, as JSON.",
      watermark: "Highest committed value of the stream's ordering field.",
      total_count: "Rows the service says the list holds.",
      rows_at_walk:
        "Rows mirrored when the counts last agreed, or when the last complete walk of an unchanged list ended.",
      checked_at: "When it was last compared with the service; NULL: never.",
      walked_at: "When it was last read completely; NULL: never.",
      error: "Why the last check failed; NULL when it did not.",
      run_id: RUN,
      unconfirmed: "Rows that the last complete walk could not confirm.",
      unconfirmed_because: "Why not; NULL: that walk added up and its deletes were settled.",
    },
  },
  {
    name: "requests",
    grain: "One row per HTTP call.",
    columns: {
      request_id: "Request id, also in the archive.",
      run_id: RUN,
      stream: "Stream it was made for; `feedback` for feedback.",
      scope: "Scope it was made for.",
      endpoint: "Operation.",
      url: "Path and query.",
      status: "HTTP status; NULL when no answer came.",
      charge: "spent, free, or ambiguous: no answer came, it may have cost a credit.",
      credits: "1 spent, 0 free, NULL while unknown.",
      started_at: "When it was sent.",
      duration_ms: "Duration in milliseconds.",
      bytes: "Size of the answer.",
      rows: "Records in the answer.",
      attempt: "1 for the first try.",
      error: "What went wrong; NULL when nothing did.",
      service_request_id:
        "What the service calls its answer (meta.requestId), for support; NULL where it does not say.",
      api_version: "Version of the interface that answered (meta.apiVersion).",
      work: "What it was made for: look, walk, content, record, reading or verify; NULL where that is not known.",
    },
  },
  {
    name: "removed_requests",
    grain: "One row per endpoint, status and charge of requests that retention removed: their sums.",
    columns: {
      endpoint: "Operation.",
      status: "HTTP status; `none` when no answer came.",
      charge: "spent, free, or ambiguous.",
      requests: "Requests.",
      duration_ms: "Their duration together, in milliseconds.",
      rows: "Records received.",
      bytes: "Bytes received.",
      first_at: "When the first was sent.",
      last_at: "When the last was sent.",
    },
  },
  {
    name: "removed_runs",
    grain: "One row per status of runs that retention removed.",
    columns: {
      status: "How they ended.",
      runs: "Runs.",
      first_at: "When the first started.",
      last_at: "When the last ended.",
    },
  },
  {
    name: "checks",
    grain: "One row per check of the setting `checks`, as of the last publish.",
    columns: {
      check: "Name of its file without .sql.",
      severity: "error: rows keep the present snapshot; warn: they are reported.",
      status: "passed, failed or broken: its SQL could not run.",
      failing: "Rows that it returned, counted up to 10,000; NULL where it could not run.",
      sample: "The first ten of them, as JSON, or why it could not run; empty after `forget`.",
      run_id: `${RUN} NULL where no sync published.`,
      at: "When it ran.",
    },
  },
  {
    name: "rejects",
    grain: "One row per received record that could not become a row.",
    columns: {
      rejected_at: "When it was received.",
      run_id: RUN,
      request_id: "Request that brought it: sync.requests.request_id.",
      stream: "Stream.",
      table_name: "Table it was meant for.",
      position: "Place in the answer, from 0.",
      reason: "Why it could not become a row.",
      record: "The record, its exact JSON text.",
    },
  },
  {
    name: "schema_drift",
    grain: "One row per way in which received records differ from the API document.",
    columns: {
      table_name: "Table.",
      field: "Field as the service names it.",
      kind: "unknown_field, other_type, new_value or missing_field (a required field was absent).",
      detail: "JSON type or value that was seen.",
      occurrences: "How often.",
      first_seen_at: "When first.",
      last_seen_at: "When last.",
      run_id: "Run that saw it last: sync.runs.run_id.",
    },
  },
  {
    name: "capabilities",
    grain: "One row per thing learned about the service, and `wanted`: what the last run was configured to mirror.",
    columns: {
      name: "What was learned, e.g. the largest page of a route.",
      value: "The finding, as JSON.",
      updated_at: "When it was learned.",
    },
  },
  {
    name: "change_feed",
    grain: "One row: where the change feed begins.",
    columns: {
      gone_to: "Changes up to this number are no longer kept.",
      pending: "The feed starts when the warehouse is next opened for writing.",
    },
  },
  {
    name: "change_batches",
    grain: "One row per stretch of consecutive changes that one transaction made of one kind.",
    columns: {
      first_n: "Number of its first change: sync.changes.n.",
      last_n: "Number of its last change.",
      table_name: "Table.",
      change: "insert, update or delete.",
      run_id: "Run that made them: sync.runs.run_id; NULL where no run did.",
      at: "When duckmirror received them, or found the rows gone.",
    },
  },
  {
    name: "changes",
    grain: "One row per change of a mirrored row. `duckmirror changes` shows them with their values.",
    columns: {
      n: "Number, in commit order, without gaps.",
      key_1: "First key column of the row, as text.",
      key_2: "Second key column; NULL where the key has one column.",
      key_3: "Third key column; NULL where the key has fewer.",
    },
  },
  {
    name: "audit",
    grain: "One row per action of a person or program: the audit trail, as of the last publish.",
    columns: {
      id: "Action id, also in state/audit.",
      started_at: "When it began.",
      actor: "Name of the key; `local` for commands and for requests without a key; `unknown` for the refused.",
      way: "command, key, session (of the page), open (no key needed), or refused.",
      os_user: "User of the operating system, for commands.",
      address: "Network address, for the refused.",
      action:
        "query, read, export, sync, cancel, retry, drop, pause, resume, verify, replay, backup, restore, feedback, lookup, forget, key add, key revoke, login, request.",
      subject: "Key's name, streams, folder's format, keyed hashes of erased contacts: never a value of a record.",
      route: "Path template of the request.",
      parameters: "Names of the query parameters; `?` for an unknown name.",
      sql: "Statement without its literals, comments and own names, at most 1,000 characters; NULL when it could not be read.",
      sql_length: "Characters of the statement as typed.",
      sql_hash: "HMAC-SHA-256 of the statement as typed, with the key in state/audit/key.",
      run_id: RUN,
      outcome: "ok, the code of an error, or started: no end was written, because it is under way or was killed.",
      rows: "Rows returned, written or erased.",
      bytes: "Bytes returned or written.",
      duration_ms: "Duration in milliseconds.",
      unwritten: "Requests like this one before it that have no row, because there were too many of them.",
    },
  },
  {
    name: "audit_files",
    grain: "One row per file of the audit trail.",
    columns: {
      file: "Name in state/audit: the day, UTC.",
      loaded_bytes: "How far it has been loaded into sync.audit.",
      damaged: "Lines that were skipped because a killed process or a full disk cut them off.",
      problem: "Why it could not be read; NULL when it could.",
    },
  },
];

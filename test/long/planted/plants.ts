// What somebody who may write next to the data can plant there, and the command that meets it.

/** What a planted link leads to: a file with content, a database of somebody else, a folder, a name without a file. */
export type Target = "file" | "database" | "folder" | "nothing";

export interface Plant {
  /** Paths below the data directory, planted at once; `DAY`: today, `MONTH`: this month, both UTC. */
  readonly paths: readonly string[];
  /** `pipe`: no link, but a pipe that nobody writes to. */
  readonly to: Target | "pipe";
  /** The command; `CONTACT` becomes an id of the mirror. */
  readonly argv: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Text of duckmirror.yaml. */
  readonly config?: string;
  /** A lasting refusal is as good as doing it elsewhere; without it, the command must do its work. */
  readonly refuses?: boolean;
}

const SYNC = ["sync", "--full", "--quiet"];
const EXPORT = ["export", "--quiet"];
const QUERY = ["query", "SELECT 1"];
const KEY = ["key", "add", "k", "--role", "read"];
const FORGET = ["forget", "CONTACT", "--yes"];
const REPLAY = ["replay", "--quiet"];
const INIT = ["init", "--force", "--yes"];

const ALERTS = ["alerts", "send"];
/** Has a rule that nobody receives messages of. */
const RULE =
  "alerts: [{ name: rule, event: run_failed, url: 'http://127.0.0.1:9/', format: slack, allow_private: true }]\n";

/** A command for each path. */
const at = (paths: readonly string[], to: Plant["to"], argv: readonly string[], refuses = false): Plant[] =>
  paths.map((path) => ({ paths: [path], to, argv, refuses }));

/** One command that meets all of them and does its work. */
const together = (paths: readonly string[], to: Plant["to"], argv: readonly string[]): Plant => ({ paths, to, argv });

export const PLANTS: readonly Plant[] = [
  // Beside the snapshot.
  together([".warehouse.duckdb.new", "warehouse.duckdb", "warehouse.duckdb.wal", "state/closed"], "file", SYNC),
  together([".warehouse.duckdb.new", "warehouse.duckdb", "warehouse.duckdb.wal"], "nothing", SYNC),
  together([".warehouse.duckdb.new"], "database", REPLAY),
  // Folders of the state.
  ...at(["state", "state/archive", "state/archive/MONTH", "state/tmp"], "folder", SYNC, true),
  ...at(["state", "state/audit"], "folder", QUERY),
  ...at(["state"], "folder", KEY, true),
  // Files of the state.
  ...at(["state/working.duckdb", "state/writer.lock"], "database", SYNC, true),
  ...at(["state/working.duckdb", "state/writer.lock", "state/working.duckdb.wal"], "nothing", SYNC, true),
  ...at(["state/working.duckdb", "state/writer.lock.wal"], "file", SYNC, true),
  ...at(["state/working.duckdb"], "pipe", SYNC, true),
  ...at(["state/working.duckdb.new", "state/working.duckdb.new.wal"], "nothing", REPLAY, true),
  ...at(["state/working.duckdb.new"], "database", FORGET, true),
  ...at(["state/forget.key"], "file", FORGET, true),
  ...at(["state/backup.key"], "file", ["backup", "ELSEWHERE"], true),
  ...at(["state/backup.key"], "pipe", ["backup", "ELSEWHERE"], true),
  together(["state/forget.key.new", "state/archive/forgotten.json.new"], "file", FORGET),
  // The audit trail.
  together(["state/audit/DAY.jsonl", "state/audit/key"], "file", QUERY),
  together(["state/audit/DAY.jsonl", "state/audit/key"], "nothing", QUERY),
  ...at(["state/audit/DAY.jsonl"], "pipe", QUERY),
  ...at(["state/audit/2020-01-01.jsonl"], "file", SYNC),
  // Keys.
  ...at(["state/keys.json"], "file", KEY, true),
  ...at(["state/keys.json"], "pipe", KEY, true),
  ...at(["state/keys.json.next"], "file", KEY, true),
  ...at(["state/server-key"], "file", ["serve", "--listen", "127.0.0.1:0"], true).map((plant) => ({
    ...plant,
    env: { DUCKMIRROR_REQUIRE_KEY: "yes" },
  })),
  // Exports.
  ...at(["export", "export/.staging", "export/accounts"], "folder", EXPORT, true),
  ...at(["export/.lock"], "nothing", EXPORT, true),
  ...at(["export/.lock"], "database", EXPORT, true),
  together(["export/_manifest.json.new", "export/accounts/accounts.parquet"], "file", [
    "export",
    "--tables",
    "main,history",
  ]),
  ...at(["export/_manifest.json.new"], "nothing", ["export", "--tables", "main,history"]),
  ...at(["state/exports.ndjson"], "file", ["export", "--dir", "ELSEWHERE"], true),
  ...at(["export/_manifest.json"], "pipe", EXPORT, true),
  ...at(["export/_manifest.json"], "file", EXPORT, true),
  ...at(["export/.lock", "export/.lock.wal"], "pipe", EXPORT, true),
  // Alert rules.
  ...at(["state/alerts", "state/alerts/rule"], "folder", ALERTS, true).map((plant) => ({ ...plant, config: RULE })),
  ...at(["state/alerts/rule/writer.lock"], "database", ALERTS, true).map((plant) => ({ ...plant, config: RULE })),
  ...at(["state/alerts/rule/writer.lock", "state/alerts/rule/position.json"], "pipe", ALERTS, true).map((plant) => ({
    ...plant,
    config: RULE,
  })),
  // A pipe or link in place of any other file of the state.
  ...["following.json", "looks.ndjson", "writer.lock"].flatMap((name) => at([`state/${name}`], "pipe", SYNC, true)),
  ...at(["state/archive/forgotten.json", "state/forget.key"], "pipe", SYNC, true),
  ...at(["state/archive/MONTH/000000000001.journal.ndjson"], "pipe", SYNC, true),
  ...at(["state/calls"], "folder", SYNC, true),
  ...at(["state/history-id"], "pipe", SYNC),
  together(["state/delivering", "state/deliveries", "state/baseline"], "folder", SYNC),
  ...at(["state/exports.ndjson"], "pipe", FORGET, true),
  // The configuration.
  ...at(["duckmirror.yaml"], "pipe", ["status"], true),
  ...at(["token"], "pipe", SYNC, true).map((plant) => ({
    ...plant,
    env: { DUCKMIRROR_TOKEN: "", DUCKMIRROR_TOKEN_FILE: "token" },
  })),
  together(["duckmirror.yaml.new", "duckmirror.yaml"], "file", INIT),
  ...at(["duckmirror.yaml.new"], "nothing", INIT),
];

/** Places where links are planted again and again while a command runs. */
export const RACES: readonly { readonly path: string; readonly argv: readonly string[] }[] = [
  { path: ".warehouse.duckdb.new", argv: SYNC },
  { path: "warehouse.duckdb.wal", argv: SYNC },
  { path: "state/working.duckdb.new", argv: REPLAY },
  { path: "state/audit/DAY.jsonl", argv: QUERY },
  { path: "state/keys.json.next", argv: KEY },
  { path: "export/.staging", argv: EXPORT },
  { path: "export/_manifest.json.new", argv: ["export", "--tables", "main,history"] },
  { path: "state/forget.key.new", argv: FORGET },
];

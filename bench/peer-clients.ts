// The clients that are compared: how each is started, and where its tables are. Every run is a process of its own, start
// included; its settings stand in bench/peers/.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import type { WhichLists } from "./peer-control.ts";
import { type Environments, PEERS_DIR } from "./peer-setup.ts";

export interface Task {
  readonly url: string;
  readonly dir: string;
  readonly lists: WhichLists;
  readonly perPage: number;
  /** As configured for duckmirror; the peers have no such setting. */
  readonly perMinute: number | null;
}

export interface Client {
  readonly name: string;
  /** Token of its requests: the service knows its clients by it. */
  readonly token: string;
  readonly program: readonly string[];
  readonly cwd: string;
  environment(task: Task): Readonly<Record<string, string>>;
  /** Path of its database inside the task's folder, its schema, and how it spells columns. */
  readonly database: { readonly file: string; readonly schema: string; readonly columns: "snake" | "flat" };
}

const CLI = fileURLToPath(new URL("../src/cli/main.js", import.meta.url));
const STREAMS: Readonly<Record<WhichLists, string>> = {
  organization: "accounts,contacts,signals",
  all: "accounts,contacts,signals,news_articles,job_openings,earnings_calls,filings",
};

const duckmirror: Client = {
  name: "duckmirror",
  token: "duckmirror-token",
  program: [process.execPath, CLI, "sync", "--quiet", "--json"],
  cwd: PEERS_DIR,
  environment: ({ url, dir, lists, perMinute }) => ({
    DUCKMIRROR_BASE_URL: url,
    DUCKMIRROR_TOKEN: duckmirror.token,
    DUCKMIRROR_DATA_DIR: dir,
    DUCKMIRROR_STREAMS: STREAMS[lists],
    DUCKMIRROR_RATE_LIMIT: String(perMinute ?? 1_000_000),
  }),
  database: { file: "warehouse.duckdb", schema: "main", columns: "snake" },
};

const peer = (
  name: string,
  program: readonly string[],
  database: Client["database"],
  extra: Readonly<Record<string, string>> = {},
  cwd = PEERS_DIR,
): Client => {
  const token = `${name.replace(/\W+/g, "-")}-token`;
  return {
    name,
    token,
    program,
    cwd,
    environment: ({ url, dir, lists, perPage }) => ({
      PEER_URL: url,
      PEER_TOKEN: token,
      PEER_DIR: dir,
      PEER_LISTS: lists,
      PEER_PAGE: String(perPage),
      ...extra,
    }),
    database,
  };
};

/** duckmirror first, then its peers: as configured in bench/peers/, and dlt in two more ways. */
export const clientsOf = (environments: Environments) => {
  const dltIn = (name: string, extra: Readonly<Record<string, string>>) =>
    peer(
      name,
      [join(environments.dlt, "bin/python"), "pipeline.py"],
      { file: "peer.duckdb", schema: "mirror", columns: "snake" },
      extra,
      join(PEERS_DIR, "dlt"),
    );
  return {
    duckmirror,
    dlt: dltIn("dlt", { PEER_FORMAT: "parquet" }),
    dltDefaults: dltIn("dlt, default file format", {}),
    dltReplace: dltIn("dlt, replace", { PEER_FORMAT: "parquet", PEER_MODE: "replace" }),
    singer: peer(
      "Singer",
      ["sh", join(PEERS_DIR, "singer/run.sh")],
      { file: "peer.duckdb", schema: "main", columns: "flat" },
      { PEER_TAP: environments.tap, PEER_TARGET: environments.target },
    ),
    script: peer("script", [join(environments.script, "bin/python"), join(PEERS_DIR, "script/mirror.py")], {
      file: "peer.duckdb",
      schema: "main",
      columns: "flat",
    }),
  };
};

export interface Run {
  readonly exitCode: number | null;
  readonly seconds: number;
  /** Of the client and everything it started, user and system; NaN when it was killed. */
  readonly cpuSeconds: number;
}

export interface StartedRun {
  /** Process group of the client. */
  readonly group: number;
  readonly ended: Promise<Run>;
}

/** Groups that run now: a group of its own does not hear the terminal's Ctrl-C. */
const running = new Set<number>();

/** Kills a client and everything it started. */
export const stop = (group: number) => {
  running.delete(group);
  try {
    process.kill(-group, "SIGKILL");
  } catch {
    // It ended just now.
  }
};

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    for (const group of running) stop(group);
    process.exit(130);
  });
}

const secondsOf = (times: string): number =>
  [...(times.split("\n")[1] ?? "").matchAll(/(\d+)m([\d.]+)s/g)].reduce(
    (sum, [, minutes, seconds]) => sum + 60 * Number(minutes) + Number(seconds),
    times.includes("\n") ? 0 : Number.NaN,
  );

/** Starts a client on a task, in a process group of its own. What it prints goes to `log` in the task's folder. */
export const start = (client: Client, task: Task): StartedRun => {
  mkdirSync(task.dir, { recursive: true });
  const log = openSync(join(task.dir, "log"), "a");
  const begun = performance.now();
  const shell = '"$@" 3>&-; code=$?; times >&3; exit $code';
  const child = spawn("sh", ["-c", shell, "sh", ...client.program], {
    cwd: client.cwd,
    detached: true,
    env: { PATH: process.env.PATH ?? "", HOME: task.dir, TZ: "UTC", ...client.environment(task) },
    stdio: ["ignore", log, log, "pipe"],
  });
  closeSync(log);
  const group = child.pid;
  if (group === undefined) throw new Error(`${client.name} could not be started`);
  running.add(group);
  const ended = async (): Promise<Run> => {
    const times = child.stdio[3];
    const [written] = await Promise.all([
      times !== null && times !== undefined && "read" in times ? text(times) : "",
      once(child, "exit"),
    ]);
    running.delete(group);
    return {
      exitCode: child.exitCode,
      seconds: (performance.now() - begun) / 1000,
      cpuSeconds: secondsOf(written),
    };
  };
  return { group, ended: ended() };
};

/** One whole run. Throws with the end of its log when it failed. */
export const runClient = async (client: Client, task: Task): Promise<Run> => {
  const run = await start(client, task).ended;
  if (run.exitCode === 0) return run;
  const log = readFileSync(join(task.dir, "log"), "utf8").slice(-1500);
  throw new Error(`${client.name} ended with ${run.exitCode}:\n${log}`);
};

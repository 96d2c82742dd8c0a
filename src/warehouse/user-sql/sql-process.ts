// Starts the process that runs a user's SQL (program.ts), limited by the operating system, and ends it with SIGKILL.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { DuckmirrorError } from "../../core/errors.ts";
import { childProgram, isFromSources } from "../../core/program-files.ts";
import { type FromProcess, fromProcessSchema, type ToProcess } from "./messages.ts";

export interface SqlProcess {
  /**
   * Sends a message and waits for its answer. Throws QUERY_LIMIT when the process ended instead, or the reason given
   * to `end`.
   */
  request(message: ToProcess): Promise<FromProcess>;
  /** Kills the process at once. The first reason counts. */
  end(reason: Error): void;
  /** Resolves when the process has ended. */
  readonly gone: Promise<void>;
}

/** Limits of one statement. */
export interface ProcessLimits {
  /** Limit of DuckDB, MiB. */
  readonly memoryMiB: number;
}

/** Memory of Node, thread stacks, and vectors that DuckDB's limit does not count, MiB. */
const BEYOND_DUCKDB_MIB = 768;
/** What Node reserves at its start without using it, MiB: from version 23 on; the limit of the system counts it. */
const RESERVED_MIB = Number.parseInt(process.versions.node, 10) >= 23 ? 512 : 0;

/**
 * `ulimit`: -d all writable memory, in KiB; -f no file may grow; -c no core file. Where a limit does not exist (-d
 * outside Linux), the process runs without it.
 */
const SCRIPT = 'ulimit -c 0; ulimit -f 0; ulimit -d "$1" 2>/dev/null; shift; exec "$@"';

const start = ({ memoryMiB }: ProcessLimits): ChildProcess => {
  const dataKiB = (memoryMiB + BEYOND_DUCKDB_MIB + RESERVED_MIB) * 1024;
  const command = [process.execPath, "--max-old-space-size=512", ...childProgram("src/warehouse/user-sql/program")];
  return spawn("/bin/sh", ["-c", SCRIPT, "sh", String(dataKiB), ...command], {
    // No environment, so no secrets; no output, so that `enable_logging` and the like print nowhere.
    env: isFromSources ? { TSX_DISABLE_CACHE: "1" } : {},
    stdio: ["ignore", "ignore", "ignore", "ipc"],
    serialization: "advanced",
  });
};

export const startSqlProcess = (limits: ProcessLimits): SqlProcess => {
  const child = start(limits);
  let reason: Error | null = null;
  let waiting: { resolve(answer: FromProcess): void; reject(error: Error): void } | null = null;
  const fail = () => {
    const detail = `it needed more than ${limits.memoryMiB} MiB of memory, or brought its process down`;
    reason ??= new DuckmirrorError("QUERY_LIMIT", { detail });
    waiting?.reject(reason);
    waiting = null;
  };
  child.on("message", (message) => {
    const parsed = fromProcessSchema.safeParse(message);
    if (!parsed.success) return void child.kill("SIGKILL");
    waiting?.resolve(parsed.data);
    waiting = null;
  });
  child.once("error", fail);
  child.once("disconnect", fail);
  const gone = once(child, "exit").then(fail, fail);
  return {
    request: (message) =>
      new Promise((resolve, reject) => {
        if (reason !== null) return reject(reason);
        waiting = { resolve, reject };
        child.send(message, (error) => error !== null && fail());
      }),
    end: (why) => {
      reason ??= why;
      child.kill("SIGKILL");
      fail();
    },
    gone,
  };
};

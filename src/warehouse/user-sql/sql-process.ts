// Starts the process that runs a user's SQL (program.ts), limited and fenced by the operating system, and ends it with SIGKILL.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { accessSync, constants } from "node:fs";
import { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { DuckmirrorError } from "../../core/errors.ts";
import { isFromSources, plainProgram, programFile } from "../../core/program-files.ts";
import type { Launch } from "./fence/launcher.ts";
import type { Forbidden } from "./fence/proof.ts";
import { frameOf, frameReader } from "./frames.ts";
import { type FromProcess, fromProcessSchema, type ToProcess } from "./messages.ts";

export interface SqlProcess {
  /**
   * Sends a message and waits for its answer. The first answer is `ready`. Throws QUERY_LIMIT when the process ended instead,
   * USER_SQL_NO_BOX when it could not be fenced, or the reason given to `end`.
   */
  request(message: ToProcess): Promise<FromProcess>;
  /** Resolves when the process runs, and is fenced if it should be. Throws as `request`. */
  readonly ready: Promise<void>;
  /** Kills the process at once. The first reason counts. */
  end(reason: Error): void;
  /** Resolves when the process has ended. */
  readonly gone: Promise<void>;
}

/** Limits of one statement. */
export interface ProcessLimits {
  /** Limit of DuckDB, MiB. */
  readonly memoryMiB: number;
  /** Most characters of one row; default 100 million. */
  readonly rowCharacters?: number;
}

/** What the process may reach. */
export interface Reach {
  /** The one snapshot that it may read, absolute; null: none. */
  readonly snapshot: string | null;
  readonly fenced: boolean;
  /** Whether it may read the WAL beside the file, too. */
  readonly withWal?: boolean;
  /** Hears that the SQL brought its process down by a fault of the engine. */
  readonly onCrash: () => void;
}

/** No row of the mirror has as many: by default no response is larger than 64 MiB. */
export const ROW_CHARACTERS = 100_000_000;
/** Memory of Node, thread stacks, and vectors that DuckDB's limit does not count, MiB. */
const BEYOND_DUCKDB_MIB = 768;
/** What Node reserves at its start without using it, MiB: from version 23 on; the limit of the system counts it. */
const RESERVED_MIB = Number.parseInt(process.versions.node, 10) >= 23 ? 512 : 0;
/** Code with which launcher and program end where there is no fence. */
const NO_FENCE = 78;
/** Signals of faults in native code. Want of memory ends a process by other ones. */
const FAULTS: readonly unknown[] = ["SIGSEGV", "SIGBUS", "SIGFPE", "SIGSYS"];
const MOST_COMPLAINT = 2_000;

/**
 * `ulimit`: -d all writable memory, in KiB; -f no file may grow; -c no core file. Where a limit does not exist (-d
 * outside Linux), the process runs without it.
 */
const SCRIPT = 'ulimit -c 0; ulimit -f 0; ulimit -d "$1" 2>/dev/null; shift; exec "$@"';

const isReadable = (file: string): boolean => {
  try {
    accessSync(file, constants.R_OK);
    return true;
  } catch {
    return false;
  }
};

/** Arguments of Node for the process. The folder of the sources holds more than the program, so only parts of it are granted. */
const argumentsOf = ({ snapshot, fenced, withWal = false }: Reach): readonly string[] => {
  const heap = "--max-old-space-size=512";
  const program = plainProgram("src/warehouse/user-sql/program");
  if (!fenced) return [heap, program.file];
  const own = isFromSources ? ["sql/", "package.json"].map((path) => fileURLToPath(programFile(path))) : [];
  const forbidden: Forbidden = {
    files: ["/etc/passwd", "/proc/version"].filter(isReadable),
    parent: process.pid,
    snapshot,
  };
  const launch: Launch = {
    readable: [
      program.folder,
      ...own,
      ...(snapshot === null ? [] : [snapshot]),
      ...(withWal ? [`${snapshot}.wal`] : []),
    ],
    argv: [heap, program.file, JSON.stringify(forbidden)],
  };
  return [plainProgram("src/warehouse/user-sql/fence/launcher").file, JSON.stringify(launch)];
};

const start = ({ memoryMiB }: ProcessLimits, reach: Reach) => {
  const dataKiB = (memoryMiB + BEYOND_DUCKDB_MIB + RESERVED_MIB) * 1024;
  const child = spawn("/bin/sh", ["-c", SCRIPT, "sh", String(dataKiB), process.execPath, ...argumentsOf(reach)], {
    // No environment, so no secrets.
    env: {},
    // Requests go to descriptor 0; answers come from 3, because DuckDB may write to 1.
    stdio: ["pipe", "ignore", "pipe", "pipe"],
  });
  const [requests, , complaints, answers] = child.stdio;
  if (requests === null || complaints === null || !(answers instanceof Readable))
    throw new TypeError("the process has no pipes");
  return { child, requests, complaints, answers };
};

/** The first text that the process writes beside its answers: why it has no fence. `enable_logging` and the like write there, too. */
const complaintOf = (complaints: Readable): (() => string) => {
  let text = "";
  complaints.on("data", (bytes: Buffer) => {
    if (text.length < MOST_COMPLAINT) text += bytes.toString("utf8").slice(0, MOST_COMPLAINT);
  });
  return () => text.trim().split("\n")[0] || "its process did not start";
};

/** Why the process ended by itself. */
const endOf = (exitCode: number | null, complaint: () => string, { memoryMiB }: ProcessLimits) => {
  if (exitCode === NO_FENCE) return new DuckmirrorError("USER_SQL_NO_BOX", { detail: complaint() });
  const detail = `it needed more than ${memoryMiB} MiB of memory, or brought its process down`;
  return new DuckmirrorError("QUERY_LIMIT", { detail });
};

interface Waiting {
  resolve(answer: FromProcess): void;
  reject(error: Error): void;
}

export const startSqlProcess = (limits: ProcessLimits, reach: Reach): SqlProcess => {
  const { child, requests, complaints, answers } = start(limits, reach);
  const complaint = complaintOf(complaints);
  let reason: Error | null = null;
  let isReady = false;
  let waiting: Waiting | null = null;
  const nextAnswer = (send: () => void): Promise<FromProcess> =>
    new Promise((resolve, reject) => {
      if (reason !== null) return reject(reason);
      waiting = { resolve, reject };
      send();
    });
  const fail = () => {
    reason ??= endOf(isReady ? null : child.exitCode, complaint, limits);
    waiting?.reject(reason);
    waiting = null;
  };
  const take = frameReader<unknown>(6 * (limits.rowCharacters ?? ROW_CHARACTERS) + 2 ** 20, (message) => {
    const answer = fromProcessSchema.parse(message);
    waiting?.resolve(answer);
    waiting = null;
  });
  answers.on("data", (bytes: Buffer) => {
    try {
      take(bytes);
    } catch {
      answers.destroy();
      child.kill("SIGKILL");
    }
  });
  // A process that is gone reads nothing; its end is heard below.
  requests.on("error", () => undefined);
  const gone = once(child, "close").then(fail, fail);
  child.once("exit", (_code, signal) => {
    if (reason === null && FAULTS.includes(signal)) reach.onCrash();
  });
  const ready = nextAnswer(() => undefined).then((first) => {
    if (first.kind !== "ready") throw new TypeError("the process answers before it is ready");
    isReady = true;
  });
  // The taker of the process awaits it; a process that waits has no taker yet.
  ready.catch(() => undefined);
  return {
    ready,
    request: (message) => nextAnswer(() => requests.write(frameOf(message))),
    end: (why) => {
      reason ??= why;
      child.kill("SIGKILL");
      fail();
    },
    gone,
  };
};

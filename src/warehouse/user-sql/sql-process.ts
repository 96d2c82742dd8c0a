// Starts the process that runs a user's SQL (program.ts), limited and fenced by the operating system, watches it, and
// ends it with SIGKILL. Native code of that SQL may send anything, so this file accepts only answers that it asked for,
// of limited size.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { accessSync, constants } from "node:fs";
import { createRequire } from "node:module";
import { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { DuckmirrorError } from "../../core/errors.ts";
import { isFromSources, plainProgram, programFile } from "../../core/program-files.ts";
import { system, systemOf } from "../../core/system.ts";
import { BATCH_CHARACTERS, VALUE_CHARACTERS } from "../duckdb/row-batches.ts";
import type { Launch } from "./fence/launcher.ts";
import type { Forbidden } from "./fence/proof.ts";
import {
  type FrameLimits,
  type FromProcess,
  frameOf,
  frameReader,
  fromProcessSchema,
  type ToProcess,
} from "./frames.ts";
import { kernelLimits, lowerPriority, type ProcessLimits, ROW_CHARACTERS, watchProcess } from "./process-limits.ts";

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
  /** Whether it has ended, or will without an answer. */
  isOver(): boolean;
  /** Resolves when the process has ended. */
  readonly gone: Promise<void>;
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

/** Code with which launcher and program end where there is no fence. */
const NO_FENCE = 78;
/** Signals of faults in native code. Want of memory ends a process by other ones. */
const FAULTS: readonly unknown[] = ["SIGSEGV", "SIGBUS", "SIGFPE", "SIGSYS"];
const MOST_COMPLAINT = 2_000;

const isReadable = (file: string): boolean => {
  try {
    accessSync(file, constants.R_OK);
    return true;
  } catch {
    return false;
  }
};

/** Whether the launcher has its calls of the kernel here. */
const hasKernelCalls = (): boolean => {
  try {
    createRequire(import.meta.url).resolve(`@koromix/koffi-linux-${process.arch}`);
    return true;
  } catch {
    return false;
  }
};

/** What Linux reads to open the program and its one snapshot. The folder of the sources holds more, so only parts of it are granted. */
const readableFor = ({ snapshot, withWal = false }: Reach): readonly string[] => [
  plainProgram("src/warehouse/user-sql/program").folder,
  ...(isFromSources ? ["sql/", "package.json"].map((path) => fileURLToPath(programFile(path))) : []),
  ...(snapshot === null ? [] : [snapshot]),
  ...(withWal ? [`${snapshot}.wal`] : []),
];

/**
 * Arguments of Node for the process; no shell starts it. Linux: the launcher, which sets limits and fence and becomes the program.
 * Elsewhere, and where the launcher has no calls of the kernel: the program itself, which its heap, DuckDB's limit and this process limit.
 * null: this system has no fence, and one is asked for.
 */
export const argumentsOn = (
  platform: NodeJS.Platform,
  limits: ProcessLimits,
  reach: Reach,
): readonly string[] | null => {
  const program = ["--max-old-space-size=512", plainProgram("src/warehouse/user-sql/program").file];
  const { snapshot, fenced } = reach;
  if (!systemOf(platform).hasFence) return fenced ? null : program;
  if (!fenced && !hasKernelCalls()) return program;
  const files = ["/etc/passwd", "/proc/version"].filter(isReadable);
  const forbidden: Forbidden = { files, parent: process.pid, snapshot };
  const launch: Launch = {
    limits: kernelLimits(limits),
    readable: fenced ? readableFor(reach) : null,
    argv: fenced ? [...program, JSON.stringify(forbidden)] : program,
  };
  return [plainProgram("src/warehouse/user-sql/fence/launcher").file, JSON.stringify(launch)];
};

const start = (argv: readonly string[]) => {
  const child = spawn(process.execPath, argv, {
    // A session of its own gets no more of the processor than this one, however many threads it has.
    detached: system.hasSessions,
    windowsHide: true,
    // No environment, so no secrets.
    env: {},
    // Requests go to descriptor 0; answers come from 3, because DuckDB may write to 1.
    stdio: ["pipe", "ignore", "pipe", "pipe"],
  });
  const [requests, , complaints, answers] = child.stdio;
  if (requests === null || complaints === null || !(answers instanceof Readable))
    throw new TypeError("the process has no pipes");
  lowerPriority(child.pid);
  return { child, requests, complaints, answers };
};

/** The first text that the process writes beside its answers: why it has no fence. `enable_logging` and the like write there, too. */
const complaintOf = (complaints: Readable): (() => string) => {
  let text = "";
  complaints.on("data", (bytes: Buffer) => {
    text += bytes.toString("utf8").slice(0, MOST_COMPLAINT);
    // Nothing more is read, or a process that writes for ever would keep this one busy.
    if (text.length >= MOST_COMPLAINT) complaints.destroy();
  });
  return () => text.trim().split("\n")[0] || "its process did not start";
};

/** Why the process ended by itself. */
const endOf = (exitCode: number | null, complaint: () => string, { memoryMiB }: ProcessLimits) => {
  if (exitCode === NO_FENCE) return new DuckmirrorError("USER_SQL_NO_BOX", { detail: complaint() });
  const detail = `it needed more than ${memoryMiB} MiB of memory, or brought its process down`;
  return new DuckmirrorError("QUERY_LIMIT", { detail });
};

/** The most that an answer holds: row-batches.ts counts what its characters take, of three bytes at most. */
const answerLimits = ({ rowCharacters = ROW_CHARACTERS }: ProcessLimits): FrameLimits => ({
  bytes: 3 * rowCharacters + 2 ** 20,
  values: Math.ceil((rowCharacters + BATCH_CHARACTERS) / VALUE_CHARACTERS) + 2 ** 16,
});

/** Gives each answer to `take`. What is none, or makes `take` throw, ends the reading. */
const readAnswers = (
  answers: Readable,
  limits: ProcessLimits,
  misbehaves: (what: string) => void,
  take: (answer: FromProcess) => void,
): void => {
  const read = frameReader<unknown>(answerLimits(limits), (message) => take(fromProcessSchema.parse(message)));
  answers.on("data", (bytes: Buffer) => {
    try {
      read(bytes);
    } catch {
      answers.destroy();
      misbehaves("its process sent what no answer is");
    }
  });
};

interface Waiting {
  resolve(answer: FromProcess): void;
  reject(error: Error): void;
}

/** In place of a process that no fence could hold. */
const notStarted = (platform: NodeJS.Platform): SqlProcess => {
  const error = new DuckmirrorError("USER_SQL_NO_BOX", { detail: `duckmirror has no fence on ${platform}` });
  const ready = Promise.reject(error);
  ready.catch(() => undefined);
  return { ready, request: () => ready, end: () => undefined, isOver: () => true, gone: Promise.resolve() };
};

export const startSqlProcess = (limits: ProcessLimits, reach: Reach, platform = system.platform): SqlProcess => {
  const argv = argumentsOn(platform, limits, reach);
  return argv === null ? notStarted(platform) : runSqlProcess(argv, limits, reach);
};

const runSqlProcess = (argv: readonly string[], limits: ProcessLimits, reach: Reach): SqlProcess => {
  const { child, requests, complaints, answers } = start(argv);
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
  const stop = (detail: string) => {
    reason = new DuckmirrorError("QUERY_LIMIT", { detail });
    child.kill("SIGKILL");
    fail();
  };
  /** Native code in it does what no statement does. */
  const misbehaves = (what: string) => {
    if (reason !== null) return;
    reach.onCrash();
    stop(what);
  };
  /** A statement may need more than there is. */
  const needsTooMuch = (what: string) => {
    if (reason === null) stop(what);
  };
  readAnswers(answers, limits, misbehaves, (answer) => {
    if (waiting === null) throw new TypeError("nobody asked for this answer");
    waiting.resolve(answer);
    waiting = null;
  });
  const stopWatching = watchProcess(child.pid, limits, needsTooMuch);
  // A process that is gone reads nothing; its end is heard below.
  requests.on("error", () => undefined);
  const gone = once(child, "close").then(fail, fail).finally(stopWatching);
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
    isOver: () => reason !== null || child.exitCode !== null || child.signalCode !== null,
    gone,
  };
};

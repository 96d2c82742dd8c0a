// A Postgres of its own for a test: on a socket in a folder of its own, gone when the test ends or its process dies.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { vi } from "vitest";
import { hasSystemCode } from "../../src/core/errors.ts";
import { installDebian } from "./debian-packages.ts";
import { programOnPath } from "./program-on-path.ts";

const DEBIANS = "/usr/lib/postgresql";

/** Folder of Postgres's programs; null: this machine has none. */
export const postgresPrograms = (): string | null => {
  const versions = existsSync(DEBIANS) ? readdirSync(DEBIANS).sort((a, b) => Number(b) - Number(a)) : [];
  const found = versions.map((version) => join(DEBIANS, version, "bin")).find((bin) => existsSync(join(bin, "initdb")));
  const onPath = programOnPath("initdb");
  return found ?? (onPath === null ? null : join(onPath, ".."));
};

/** Installs Debian's package as root. Throws with what to do where that is not possible. */
export const installPostgres = (): void => {
  const wanted = "The tests of destinations need PostgreSQL: install postgresql, or run them as root on Debian";
  installDebian(wanted, "postgresql");
};

/** Postgres refuses to run as root: then it runs as nobody, and dies with this process. */
const asUser = (): { readonly program: readonly string[]; readonly uid: number | null; readonly gid: number } => {
  const setpriv = programOnPath("setpriv");
  const guard = setpriv === null ? [] : [setpriv, "--pdeathsig", "KILL"];
  if (process.getuid?.() !== 0) return { program: guard, uid: null, gid: 0 };
  if (setpriv === null) throw new Error("To start Postgres as root, the tests need setpriv (package util-linux).");
  return {
    program: [setpriv, "--reuid=65534", "--regid=65534", "--clear-groups", "--pdeathsig", "KILL"],
    uid: 65_534,
    gid: 65_534,
  };
};

export interface TestPostgres {
  /** `postgres://…` of a database on the socket. */
  readonly url: string;
  /** SIGKILL of the server and all it serves. */
  kill(): Promise<void>;
  /** Starts it again where it was. */
  start(): Promise<void>;
  /** Process that serves; its death ends all others. */
  pid(): number;
  /** Stops every process of it without ending a connection. */
  freeze(): void;
  /** Lets them go on. */
  thaw(): void;
  /** Starts it again after somebody killed it. */
  restart(): Promise<void>;
  /** Ends it and removes its files. */
  stop(): Promise<void>;
}

/** Sends a signal to a process of Linux and its children. */
const signalAll = (parent: number, signal: "SIGSTOP" | "SIGCONT"): void => {
  process.kill(parent, signal);
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const [, of] = /^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
      if (Number(of) === parent) process.kill(Number(pid), signal);
    } catch (error) {
      // It has ended.
      if (!hasSystemCode(error, "ENOENT") && !hasSystemCode(error, "ESRCH")) throw error;
    }
  }
};

/** Starts a private server. */
export const startPostgres = async (): Promise<TestPostgres> => {
  const bin = postgresPrograms();
  if (bin === null) throw new Error("no Postgres on this machine; the global setup of the tests installs one");
  const { program, uid, gid } = asUser();
  // Not in the tests' own folder, which only their user may enter.
  const home = mkdtempSync("/tmp/duckmirror-postgres-");
  if (uid !== null) chownSync(home, uid, gid);
  const leave = () => rmSync(home, { recursive: true, force: true });
  process.once("exit", leave);
  const dataDir = join(home, "data");
  const call = (name: string, args: readonly string[]): readonly [string, string[]] => {
    const [first = "", ...rest] = [...program, join(bin, name), ...args];
    return [first, rest];
  };
  const [initdb, initArgs] = call("initdb", [
    "-D",
    dataDir,
    "-U",
    "postgres",
    "-A",
    "trust",
    "-E",
    "UTF8",
    "--no-locale",
    "--no-sync",
  ]);
  execFileSync(initdb, initArgs, { cwd: home, stdio: "pipe" });

  const launch = async (): Promise<ChildProcess> => {
    const settings = ["listen_addresses=", "fsync=off", "max_wal_size=256MB", "log_min_messages=log"];
    const args = ["-D", dataDir, "-k", home, ...settings.flatMap((setting) => ["-c", setting])];
    const [postgres, given] = call("postgres", args);
    const child = spawn(postgres, given, { cwd: home, stdio: ["ignore", "ignore", "pipe"], detached: false });
    const said: string[] = [];
    await new Promise<void>((resolve, reject) => {
      child.once("error", reject);
      child.once("exit", () => reject(new Error(`Postgres did not start:\n${said.join("\n")}`)));
      createInterface({ input: child.stderr }).on("line", (line) => {
        if (said.length < 100) said.push(line);
        if (/ready to accept connections/.test(line)) resolve();
      });
    });
    return child;
  };
  /** The processes of a killed server hold its memory for a moment. */
  const launchAgain = () => vi.waitFor(launch, { timeout: 30_000, interval: 100 });
  let running = await launch();
  const end = async (signal: "SIGKILL" | "SIGINT") => {
    if (running.exitCode !== null || running.signalCode !== null) return;
    const ended = once(running, "exit");
    running.kill(signal);
    await ended;
  };
  return {
    url: `postgres://postgres@localhost/postgres?host=${encodeURIComponent(home)}`,
    kill: () => end("SIGKILL"),
    start: async () => {
      running = await launchAgain();
    },
    pid: () => running.pid ?? 0,
    freeze: () => signalAll(running.pid ?? 0, "SIGSTOP"),
    thaw: () => signalAll(running.pid ?? 0, "SIGCONT"),
    restart: async () => {
      await end("SIGKILL");
      running = await launchAgain();
    },
    stop: async () => {
      await end("SIGINT");
      process.off("exit", leave);
      leave();
    },
  };
};

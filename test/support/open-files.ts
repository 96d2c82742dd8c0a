// Open files of a process, by kind, as Linux shows them below /proc: connections by the port of their other end, all else
// together.
import { readdirSync, readFileSync, readlinkSync } from "node:fs";

export interface OpenFiles {
  /** Port → connections to it. */
  readonly to: ReadonlyMap<number, number>;
  /** Files, pipes, listening sockets, and whatever else is no connection. */
  readonly others: number;
}

/** Columns of /proc/PID/net/tcp: the other end, as `address:port` in hexadecimal digits, and the socket's inode. */
const REMOTE = 2;
const INODE = 9;

/** Socket → port of its other end; 0: it listens. */
const portsOf = (pid: number): ReadonlyMap<string, number> => {
  const lines = ["tcp", "tcp6"].flatMap((family) =>
    readFileSync(`/proc/${pid}/net/${family}`, "utf8").trim().split("\n").slice(1),
  );
  return new Map(
    lines.map((line) => {
      const columns = line.trim().split(/\s+/);
      return [`socket:[${columns[INODE]}]`, Number.parseInt(columns[REMOTE]?.split(":")[1] ?? "", 16)];
    }),
  );
};

/** What an open file is: `socket:[4711]`, a path, `pipe:[4712]`; null: it was closed meanwhile. */
const targetOf = (pid: number, fd: string): string | null => {
  try {
    return readlinkSync(`/proc/${pid}/fd/${fd}`);
  } catch {
    return null;
  }
};

/** Throws when the process has ended. */
export const openFilesOf = (pid: number): OpenFiles => {
  const fds = readdirSync(`/proc/${pid}/fd`);
  const targets = fds.map((fd) => targetOf(pid, fd)).filter((target) => target !== null);
  const ports = portsOf(pid);
  const to = new Map<number, number>();
  let others = 0;
  for (const target of targets) {
    const port = ports.get(target) ?? 0;
    if (port === 0) others += 1;
    else to.set(port, (to.get(port) ?? 0) + 1);
  }
  return { to, others };
};

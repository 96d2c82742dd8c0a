// Proves that the fence holds, inside the process of a user's SQL: tries each forbidden action, which must fail, before the process reports
// that it is ready.
import { spawnSync } from "node:child_process";
import { chmodSync, closeSync, openSync, readFileSync, statSync } from "node:fs";
import { connect } from "node:net";

export interface Forbidden {
  /** Files that this user may read outside the fence. */
  readonly files: readonly string[];
  /** Process that started this one. */
  readonly parent: number;
  /** Path of the snapshot, which can be read and not written; null: none. */
  readonly snapshot: string | null;
}

const CLOSED = new Set(["EACCES", "EPERM", "ENOSYS"]);

const isClosed = (error: unknown): boolean =>
  error instanceof Error && "code" in error && typeof error.code === "string" && CLOSED.has(error.code);

/** `attempt` fails because it is forbidden, not because there is nothing to reach. */
const fails = (attempt: () => void): boolean => {
  try {
    attempt();
    return false;
  } catch (error) {
    return isClosed(error);
  }
};

/** No socket of this kind can be made. An open port or a missing one would be another error. */
const noSocket = (to: { readonly port: number } | { readonly path: string }): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = "port" in to ? connect(to.port, "127.0.0.1") : connect(to.path);
    socket.once("connect", () => resolve(false));
    socket.once("error", (error) => resolve(isClosed(error)));
  });

const startsProgram = (): boolean => {
  const { error } = spawnSync(process.execPath, ["--version"], { stdio: "ignore" });
  return error === undefined || !isClosed(error);
};

/** What is within reach although it must not be; empty: the fence holds. */
export const gapsOf = async ({ files, parent, snapshot }: Forbidden): Promise<readonly string[]> => {
  const checks: readonly (readonly [string, boolean])[] = [
    ...files.map((file) => [`file ${file}`, fails(() => readFileSync(file))] as const),
    ["environment of the parent", fails(() => readFileSync(`/proc/${parent}/environ`))],
    ["signals to the parent", fails(() => process.kill(parent, 0))],
    ["TCP", await noSocket({ port: 9 })],
    ["local sockets", await noSocket({ path: "/nowhere" })],
    ["other programs", !startsProgram()],
    ...(snapshot === null
      ? []
      : ([
          ["writing the snapshot", fails(() => closeSync(openSync(snapshot, "r+")))],
          ["the snapshot's mode", fails(() => chmodSync(snapshot, statSync(snapshot).mode))],
        ] as const)),
  ];
  return checks.flatMap(([name, holds]) => (holds ? [] : [name]));
};

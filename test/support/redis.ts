// A Redis of its own for a test: on a port the kernel chose, gone when the test ends or its process dies.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { programOnPath } from "./program-on-path.ts";
import { redisBinary } from "./redis-binary.ts";

export interface RedisOptions {
  /** e.g. `8mb`; without it memory is not bounded. */
  readonly maxmemory?: string;
  /** Eviction policy; Redis's own default is noeviction. */
  readonly policy?: string;
  /** Folder of an append-only file; without it nothing outlives the process. */
  readonly appendonlyDir?: string;
  /** Port of the server on this machine whose copy it is. */
  readonly replicaOf?: number;
  readonly password?: string;
  /** A user beside the default one, who then gets in no more: its name and rights, as ACL SETUSER takes them. */
  readonly user?: readonly string[];
  /** Only TLS, with these files. */
  readonly tls?: { readonly cert: string; readonly key: string };
  /** A port that must be this one; without it the kernel chooses. */
  readonly port?: number;
}

export interface TestRedis {
  /** `redis://…`, with the password where there is one. */
  readonly url: string;
  readonly port: number;
  /** Ends it in order. */
  stop(): Promise<void>;
  /** SIGKILL; `restart` brings it back. */
  kill(): Promise<void>;
  /** SIGKILL, for good. */
  discard(): Promise<void>;
  /** Kills it unless it is down already, and starts it again on the same port. */
  restart(): Promise<void>;
  /** Freezes it: connections stay open, nothing is answered. */
  pause(): void;
  resume(): void;
}

const freePort = async (): Promise<number> => {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new TypeError("the server has no port");
  server.close();
  await once(server, "close");
  return address.port;
};

const argumentsOf = (options: RedisOptions, port: number): readonly string[] => {
  const { maxmemory, policy, appendonlyDir, replicaOf, password, user, tls } = options;
  const given = (name: string, ...values: readonly (string | undefined)[]) =>
    values.every((value) => value !== undefined) ? [`--${name}`, ...values.map(String)] : [];
  return [
    ...(tls === undefined
      ? given("port", String(port))
      : [
          ...["--port", "0", "--tls-port", String(port), "--tls-auth-clients", "no"],
          ...["--tls-cert-file", tls.cert, "--tls-key-file", tls.key],
        ]),
    ...given("bind", "127.0.0.1"),
    ...given("save", ""),
    ...given("maxmemory", maxmemory),
    ...given("maxmemory-policy", policy),
    ...(appendonlyDir === undefined ? [] : ["--appendonly", "yes", "--appendfsync", "always", "--dir", appendonlyDir]),
    // A replica gets its copy at once.
    ...given("repl-diskless-sync-delay", "0"),
    ...(replicaOf === undefined ? [] : ["--replicaof", "127.0.0.1", String(replicaOf)]),
    ...given("requirepass", password),
    ...given("masterauth", password),
    ...(user === undefined ? [] : ["--user", "default", "off", "--user", ...user]),
  ];
};

/** Folders of servers, removed when this process ends: by one listener, however many servers a file starts. */
const homes = new Set<string>();
const leave = (home: string): void => {
  rmSync(home, { recursive: true, force: true });
  homes.delete(home);
};
process.once("exit", () => homes.forEach(leave));

/** Starts it and waits until it takes connections; null when the port was taken meanwhile. */
const launch = async (options: RedisOptions, port: number, cwd: string): Promise<ChildProcess | null> => {
  const binary = redisBinary();
  if (binary === null) throw new Error("no Redis server on the PATH; the global setup of the tests installs one");
  const args = argumentsOf(options, port);
  // The kernel kills it with this process, also when this process is killed.
  const guard = programOnPath("setpriv");
  const child =
    guard === null
      ? spawn(binary, args, { cwd, stdio: ["ignore", "pipe", "pipe"] })
      : spawn(guard, ["--pdeathsig", "KILL", binary, ...args], { cwd, stdio: ["ignore", "pipe", "pipe"] });
  const said: string[] = [];
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", () => {
      const text = said.join("\n");
      if (/address already in use/i.test(text)) resolve(null);
      else reject(new Error(`Redis did not start:\n${text}`));
    });
    child.stderr.on("data", (chunk) => said.push(String(chunk)));
    createInterface({ input: child.stdout }).on("line", (line) => {
      if (said.length < 100) said.push(line);
      if (/ready to accept connections/i.test(line)) resolve(child);
    });
  });
};

/** Starts a private server. Every test that stops, freezes or fills one has its own, also where REDIS_URL is set. */
export const startRedis = async (options: RedisOptions = {}): Promise<TestRedis> => {
  let port = options.port ?? (await freePort());
  // A replica writes its primary's copy to where it was started.
  const home = mkdtempSync(join(tmpdir(), "duckmirror-redis-"));
  homes.add(home);
  let child = await launch(options, port, home);
  for (let attempt = 1; child === null && options.port === undefined && attempt < 10; attempt += 1) {
    port = await freePort();
    child = await launch(options, port, home);
  }
  if (child === null) throw new Error(`port ${port} is taken`);
  let running = child;
  const end = async (signal: "SIGTERM" | "SIGKILL") => {
    if (running.exitCode !== null || running.signalCode !== null) return;
    const ended = once(running, "exit");
    running.kill(signal);
    // A frozen process takes no other signal in.
    if (signal === "SIGTERM") running.kill("SIGCONT");
    await ended;
  };
  const kill = () => end("SIGKILL");
  return {
    url: `${options.tls === undefined ? "redis" : "rediss"}://${options.password === undefined ? "" : `:${encodeURIComponent(options.password)}@`}127.0.0.1:${port}`,
    port,
    stop: async () => {
      await end("SIGTERM");
      leave(home);
    },
    discard: async () => {
      await end("SIGKILL");
      leave(home);
    },
    kill,
    restart: async () => {
      await kill();
      const again = await launch(options, port, home);
      if (again === null) throw new Error(`port ${port} was taken while Redis was down`);
      running = again;
    },
    pause: () => void running.kill("SIGSTOP"),
    resume: () => void running.kill("SIGCONT"),
  };
};

/** A server to share where it is neither stopped nor emptied: REDIS_URL, else one of its own. */
export const redisForTests = async (): Promise<Pick<TestRedis, "url" | "stop">> => {
  const url = process.env.REDIS_URL;
  return url === undefined || url === "" ? startRedis() : { url, stop: async () => undefined };
};

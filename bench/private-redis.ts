// A Redis for a benchmark: REDIS_URL, else one of its own behind a socket file, gone with the benchmark.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

export interface BenchRedis {
  /** Address, or path of its socket file. */
  readonly url: string;
  close(): Promise<void>;
}

export const openBenchRedis = async (): Promise<BenchRedis> => {
  const given = process.env.REDIS_URL;
  if (given !== undefined && given !== "") return { url: given, close: async () => undefined };
  const dir = await mkdtemp(join(tmpdir(), "duckmirror-bench-redis-"));
  const url = join(dir, "redis.sock");
  const server = spawn("redis-server", ["--port", "0", "--unixsocket", url, "--save", ""], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(server, "exit");
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.once("exit", () => reject(new Error("redis-server did not start")));
    createInterface({ input: server.stdout }).on("line", (line) => {
      if (/ready to accept connections/i.test(line)) resolve();
    });
  });
  return {
    url,
    close: async () => {
      server.kill();
      await ended;
      await rm(dir, { recursive: true, force: true });
    },
  };
};

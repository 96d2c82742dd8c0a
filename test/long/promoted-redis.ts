// A primary, its replica and a Sentinel that watches both, behind one address: a proxy leads each connection to the
// server that Sentinel names, as HAProxy does in front of a Sentinel.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { Redis } from "ioredis";
import { expect } from "vitest";
import { tempFolder } from "../acceptance/temp-folder.ts";
import { startRedis } from "../support/redis.ts";
import { redisBinary } from "../support/redis-binary.ts";

export interface PromotedRedis {
  /** Address of the proxy, without user. */
  readonly host: string;
  /** Runs a command on both servers. */
  onBoth(...command: readonly string[]): Promise<void>;
  /** Kills the primary, and resolves when Sentinel has made the replica the new one. */
  failOver(): Promise<void>;
  /** How many commands the replica has carried out. */
  end(): Promise<void>;
}

const listening = async (server: ReturnType<typeof createServer>): Promise<number> => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new TypeError("no port");
  return address.port;
};

const freePort = async (): Promise<number> => {
  const server = createServer();
  const port = await listening(server);
  server.close();
  await once(server, "close");
  return port;
};

const startSentinel = async (primaryPort: number) => {
  const port = await freePort();
  const dir = tempFolder();
  const file = join(dir, "sentinel.conf");
  const lines = [
    `port ${port}`,
    "bind 127.0.0.1",
    `dir ${dir}`,
    `sentinel monitor duckmirror 127.0.0.1 ${primaryPort} 1`,
    "sentinel down-after-milliseconds duckmirror 1000",
    "sentinel failover-timeout duckmirror 5000",
  ];
  writeFileSync(file, `${lines.join("\n")}\n`);
  const binary = redisBinary();
  if (binary === null) throw new Error("no Redis server on the PATH");
  const child: ChildProcess = spawn(binary, [file, "--sentinel"], { cwd: dir, stdio: "ignore" });
  const client = new Redis(port, "127.0.0.1", { maxRetriesPerRequest: null });
  client.on("error", () => undefined);
  const primary = async (): Promise<number> => {
    const answer: unknown = await client.call("SENTINEL", "GET-MASTER-ADDR-BY-NAME", "duckmirror");
    return Array.isArray(answer) ? Number(answer[1]) : 0;
  };
  const replicas = async (): Promise<number> => {
    const answer: unknown = await client.call("SENTINEL", "REPLICAS", "duckmirror");
    return Array.isArray(answer) ? answer.length : 0;
  };
  const end = async () => {
    client.disconnect();
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  };
  return { primary, replicas, end };
};

export const startPromoted = async (): Promise<PromotedRedis> => {
  const first = await startRedis();
  const second = await startRedis({ replicaOf: first.port });
  const sentinel = await startSentinel(first.port);
  const sockets = new Set<Socket>();
  const cut = () => sockets.forEach((socket) => void socket.destroy());
  const proxy = createServer((client) => {
    sockets.add(client);
    client.on("error", () => undefined).once("close", () => sockets.delete(client));
    sentinel.primary().then(
      (port) => {
        const server = connect(port, "127.0.0.1");
        sockets.add(server);
        server.on("error", () => client.destroy()).once("close", () => sockets.delete(server));
        client.once("close", () => server.destroy()).pipe(server);
        server.pipe(client);
      },
      () => client.destroy(),
    );
  });
  const port = await listening(proxy);
  await expect.poll(sentinel.replicas, { timeout: 60_000 }).toBe(1);
  return {
    host: `127.0.0.1:${port}`,
    onBoth: async (...command) => {
      const [name = "", ...rest] = command;
      for (const server of [first, second]) {
        const client = new Redis(server.port, "127.0.0.1");
        await client.call(name, ...rest);
        client.disconnect();
      }
    },
    failOver: async () => {
      await first.kill();
      await expect.poll(sentinel.primary, { timeout: 60_000, interval: 100 }).toBe(second.port);
      cut();
    },
    end: async () => {
      proxy.close();
      cut();
      await sentinel.end();
      await Promise.all([first.kill(), second.kill()]);
    },
  };
};

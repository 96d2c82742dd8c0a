// What the benchmarks of many organizations share: one Redis, one service, workers of the built program, and what they use.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { type Character, startOrganizations } from "./organizations-service.ts";

/** Rows of each list of an ordinary organization. */
export const ROWS = 250;
const CLI = fileURLToPath(new URL("../src/cli/main.js", import.meta.url));
const TICKS_PER_SECOND = 100;

export const pass = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const freePort = async (): Promise<number> => {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  if (address === null || typeof address === "string") throw new TypeError("no port");
  return address.port;
};

/** Seconds of CPU and MiB of memory that a process has taken; of one that has ended, none. */
export const taken = (pid: number) => {
  const read = (file: string): string => {
    try {
      return readFileSync(`/proc/${pid}/${file}`, "utf8");
    } catch {
      return "";
    }
  };
  const fields = read("stat").split(") ")[1]?.split(" ") ?? [];
  const peak = /VmHWM:\s+(\d+)/.exec(read("status"))?.[1];
  return {
    cpuSeconds: (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) / TICKS_PER_SECOND,
    peakMiB: Number(peak ?? 0) / 1024,
  };
};

export interface Worker {
  readonly child: ChildProcess;
  readonly url: string;
}

const startedSchema = z.object({ syncs: z.array(z.object({ profile: z.string(), run_id: z.string() })) });

/** Asks a worker for a sync of each organization; ids by profile. */
export const askAll = async ({ url }: Pick<Worker, "url">): Promise<ReadonlyMap<string, string>> => {
  const answer = await fetch(`${url}/api/syncs`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ all_profiles: true }),
  });
  if (answer.status !== 202) throw new Error(`${answer.status} ${await answer.text()}`);
  return new Map(startedSchema.parse(await answer.json()).syncs.map(({ profile, run_id }) => [profile, run_id]));
};

/** `character`: of an organization, by its number. `more`: further settings of its profile. */
export const openOrganizations = async (options: {
  readonly count: number;
  readonly maxSyncs: number;
  readonly character?: (index: number) => Character;
  readonly more?: (name: string) => string;
}) => {
  const { count, maxSyncs, character = () => "well" as const, more = () => "" } = options;
  const dir = mkdtempSync(join(tmpdir(), "duckmirror-organizations-"));
  const port = await freePort();
  const redis = spawn("redis-server", ["--port", String(port), "--save", "", "--dir", dir], { stdio: "ignore" });
  const tokenOf = (index: number) => `organization-${String(index).padStart(5, "0")}`;
  const service = await startOrganizations({
    characterOf: (token) => character(Number(token.slice(-5))),
    rows: ROWS,
    perMinute: 300,
    latencyMs: 100,
  });
  const names = Array.from({ length: count }, (_, index) => `p${index}`);
  const started = new Set<ChildProcess>();
  /** A worker on its own disk; `onLine` gets each line of its log. */
  const startWorker = async (disk: string, onLine: (line: string) => void): Promise<Worker> => {
    const settings = join(dir, `${disk}.yaml`);
    writeFileSync(
      settings,
      [
        `base_url: ${service.url}`,
        ...["streams: [accounts, signals]", "rate_limit: pro", "schedule: off", "export_formats: none"],
        ...["request_timeout: 20s", "headers_timeout: 20s", `max_syncs: ${maxSyncs}`],
        ...[`redis_url: redis://127.0.0.1:${port}`, `data_dir: ${join(dir, disk)}`, "profiles:"],
        ...names.map((name, index) => `  ${name}: { token: ${tokenOf(index)}${more(name)} }`),
      ].join("\n"),
    );
    const argv = [CLI, "worker", "--config", settings, "--listen", "127.0.0.1:0", "--json"];
    const child = spawn(process.execPath, argv, { cwd: dir, stdio: ["ignore", "pipe", "pipe"] });
    started.add(child);
    createInterface({ input: child.stderr }).on("line", onLine);
    const [line] = await once(child.stdout, "data");
    return { child, url: z.object({ url: z.string() }).parse(JSON.parse(String(line))).url };
  };
  return {
    dir,
    names,
    redisUrl: `redis://127.0.0.1:${port}`,
    redisPid: redis.pid ?? 0,
    service,
    /** ms since the epoch of each answer that an organization paid for. */
    served: (index: number) => service.served(tokenOf(index)),
    startWorker,
    close: async (): Promise<void> => {
      for (const child of started) child.kill("SIGKILL");
      redis.kill("SIGKILL");
      await service.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
};

// Attacks a server of the built program over HTTP, as the holder of a read key: the gate is on. Says what became of the statements, what
// was reached, and how long other requests took meanwhile.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { systemClock } from "../../src/core/clock.ts";
import { openWarehouse } from "../../src/warehouse/file/warehouse.ts";
import { attackFamilies, type Family } from "./statements.ts";

const SECRET = "duckmirror-attack-secret";
const AT_ONCE = 4;
/** A statement without an answer for so long is given up; the server ends it. */
const STATEMENT_MS = 20_000;
const PAUSE_MS = 20;

export interface HttpFigures {
  readonly family: string;
  readonly statements: number;
  answered: number;
  refused: number;
  slow: number;
  /** Answers of 500 and more. */
  failed: number;
  /** Longest time of another request, ms. */
  slowestOther: number;
  readonly reached: string[];
}

interface Server {
  readonly url: string;
  readonly key: string;
  stop(): Promise<number | null>;
}

const serving = async (main: string, dataDir: string): Promise<Server> => {
  const env = { PATH: process.env.PATH, DUCKMIRROR_TOKEN: SECRET };
  const added = execFileSync(
    process.execPath,
    [main, "key", "add", "attack", "--role", "read", "--json", "--data-dir", dataDir],
    { env },
  );
  const { key } = JSON.parse(added.toString());
  const child = spawn(process.execPath, [main, "serve", "--json", "--listen", "127.0.0.1:0", "--data-dir", dataDir], {
    env,
    cwd: dataDir,
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [line] = await once(child.stdout, "data");
  const { url } = JSON.parse(String(line));
  return {
    url,
    key,
    stop: async () => {
      const ended = once(child, "exit");
      child.kill("SIGTERM");
      await ended;
      return child.exitCode;
    },
  };
};

const asking = ({ url, key }: Server, sql: string) =>
  fetch(`${url}/api/query`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
    body: JSON.stringify({ sql, limit: 1000 }),
    signal: AbortSignal.timeout(STATEMENT_MS),
  });

const note = (figures: HttpFigures, status: number, text: string): void => {
  if (text.includes(SECRET) || /root:.*:0:0/.test(text)) figures.reached.push(text.slice(0, 300));
  if (status >= 500) figures.failed += 1;
  else if (status === 200) figures.answered += 1;
  else figures.refused += 1;
};

/** Asks for other routes until the attack is over. */
const others = async ({ url, key }: Server, figures: HttpFigures, over: AbortSignal): Promise<void> => {
  while (!over.aborted) {
    for (const path of ["/healthz", "/api/status"]) {
      const asked = performance.now();
      const answer = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${key}` } });
      await answer.text();
      if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}`);
      figures.slowestOther = Math.max(figures.slowestOther, performance.now() - asked);
    }
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
};

const attackBy = async (server: Server, { name, statements }: Family): Promise<HttpFigures> => {
  const counts = { answered: 0, refused: 0, slow: 0, failed: 0, slowestOther: 0 };
  const figures: HttpFigures = { family: name, statements: statements.length, ...counts, reached: [] };
  const over = new AbortController();
  const watching = others(server, figures, over.signal);
  const queue = [...statements];
  const one = async () => {
    for (let sql = queue.shift(); sql !== undefined; sql = queue.shift()) {
      try {
        const answer = await asking(server, sql);
        note(figures, answer.status, await answer.text());
      } catch (error) {
        if (!(error instanceof DOMException && error.name === "TimeoutError")) throw error;
        figures.slow += 1;
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one)).finally(() => over.abort());
  await watching;
  return figures;
};

/** Names outside `state/`, where the server keeps its audit trail, and the snapshot's content. */
const outsideOf = (folder: string): string =>
  [
    ...readdirSync(folder, { recursive: true, encoding: "utf8" })
      .filter((name) => !name.startsWith(join("data", "state")))
      .sort(),
    readFileSync(join(folder, "data", "warehouse.duckdb"), "latin1"),
  ].join("\n");

/** Processes whose arguments name the folder. */
const processesOf = (folder: string): readonly string[] =>
  readdirSync("/proc").filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(folder);
    } catch {
      return false;
    }
  });

/** Attacks in `folder`, which is made and left as it is. `main`: of the built program. */
export const attackOverHttp = async (
  folder: string,
  main: string,
  extent: { readonly count: number; readonly seed: number },
): Promise<readonly HttpFigures[]> => {
  const [dataDir, secret] = [join(folder, "data"), join(folder, "token")];
  mkdirSync(dataDir, { recursive: true });
  writeFileSync(secret, SECRET, { mode: 0o600 });
  const warehouse = await openWarehouse({ dataDir, clock: systemClock });
  await warehouse.publish();
  await warehouse.close();
  let connections = 0;
  const listener = createServer((socket) => {
    connections += 1;
    socket.destroy();
  }).listen(0, "127.0.0.1");
  await once(listener, "listening");
  const address = listener.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const server = await serving(main, dataDir);
  const harmless = await asking(server, "SELECT count(*) FROM main.accounts");
  if (harmless.status !== 200) throw new Error(`a harmless statement is answered with ${await harmless.text()}`);
  const found: HttpFigures[] = [];
  const before = outsideOf(folder);
  for (const family of await attackFamilies({ secret, folder, port }, extent)) {
    const figures = await attackBy(server, family);
    if (outsideOf(folder) !== before) figures.reached.push("files changed");
    if (connections > 0) figures.reached.push(`${connections} connections`);
    found.push(figures);
  }
  const code = await server.stop();
  const left = processesOf(folder);
  if (code !== 0 || left.length > 0)
    found[0]?.reached.push(`the server ended with ${code}, processes left: ${left.join(" ")}`);
  listener.close();
  return found;
};

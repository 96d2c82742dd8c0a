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
/** The server runs two at once and turns the others away; these are asked again. */
const AT_ONCE = 4;
const TURNED_AWAY = 429;
/** A statement without an answer for so long is given up; the server ends it. */
const STATEMENT_MS = 20_000;
const PAUSE_MS = 20;
const QUIET_REQUESTS = 200;

export interface HttpFigures {
  readonly family: string;
  readonly statements: number;
  answered: number;
  /** By the gate. */
  refused: number;
  /** By DuckDB, or ended at a limit. */
  ended: number;
  slow: number;
  /** Answers of 500 and more. */
  failed: number;
  /** Times of other requests meanwhile, ms. */
  readonly otherMs: number[];
  readonly reached: string[];
}

export interface HttpFindings {
  /** Times of the same other requests to the same server before the attack, ms. */
  readonly quietMs: readonly number[];
  readonly families: readonly HttpFigures[];
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
  else if (text.includes('"SQL_REFUSED"')) figures.refused += 1;
  else figures.ended += 1;
};

const pause = () => new Promise((resolve) => setTimeout(resolve, PAUSE_MS));

/** Asks for other routes until `isOver`, and notes how long each took. */
const others = async ({ url, key }: Server, times: number[], isOver: () => boolean): Promise<void> => {
  while (!isOver()) {
    for (const path of ["/healthz", "/api/status"]) {
      const asked = performance.now();
      const answer = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${key}` } });
      await answer.text();
      if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}`);
      times.push(performance.now() - asked);
    }
    await pause();
  }
};

const attackBy = async (server: Server, { name, statements }: Family): Promise<HttpFigures> => {
  const counts = { answered: 0, refused: 0, ended: 0, slow: 0, failed: 0 };
  const figures: HttpFigures = { family: name, statements: statements.length, ...counts, otherMs: [], reached: [] };
  let isOver = false;
  const watching = others(server, figures.otherMs, () => isOver);
  const queue = [...statements];
  const one = async () => {
    for (let sql = queue.shift(); sql !== undefined; sql = queue.shift()) {
      try {
        const answer = await asking(server, sql);
        const text = await answer.text();
        if (answer.status !== TURNED_AWAY) {
          note(figures, answer.status, text);
          continue;
        }
        queue.push(sql);
        await pause();
      } catch (error) {
        if (!(error instanceof DOMException && error.name === "TimeoutError")) throw error;
        figures.slow += 1;
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one)).finally(() => {
    isOver = true;
  });
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
): Promise<HttpFindings> => {
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
  const quietMs: number[] = [];
  // The first request for the status tries the box.
  const first: number[] = [];
  await others(server, first, () => first.length > 0);
  await others(server, quietMs, () => quietMs.length >= QUIET_REQUESTS);
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
  return { quietMs, families: found };
};

// Attacks the fence of the built program: every statement runs in a fenced process without the gate. Says what became of them, and whether
// anything outside was reached: a secret in an answer, a file changed or made, a connection.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { openDatabase } from "../../src/warehouse/duckdb/database.ts";
import { attackFamilies } from "./statements.ts";

const SECRET = "duckmirror-attack-secret";
/** A statement without an answer for so long ends with its process. */
const STATEMENT_MS = 5_000;
const START_MS = 120_000;
const ROOT = join(import.meta.dirname, "../..");

export interface FamilyFigures {
  readonly family: string;
  readonly statements: number;
  answered: number;
  refused: number;
  /** Their process ended: a fault of the engine, or want of memory. */
  crashed: number;
  slow: number;
  readonly reached: string[];
}

interface Arena {
  readonly folder: string;
  readonly snapshot: string;
  readonly secret: string;
  readonly launcher: string;
}

const startIn = ({ folder, snapshot, launcher }: Arena, file: string, first: number) => {
  const program = join(import.meta.dirname, "in-box.mjs");
  const readable = [import.meta.dirname, file, snapshot, join(ROOT, "node_modules/@duckdb")];
  const limits = { cpuSeconds: 3600, memoryBytes: 1_638_400_000 };
  const launch = { limits, readable, argv: ["--max-old-space-size=512", program, file, String(first), snapshot] };
  return spawn(process.execPath, [launcher, JSON.stringify(launch)], {
    cwd: folder,
    env: { TOKEN: SECRET },
    stdio: ["ignore", "ignore", "ignore", "pipe"],
  });
};

/** Runs the statements from `first` on until their process ends; returns the next one to run. */
const runFrom = async (arena: Arena, file: string, first: number, figures: FamilyFigures): Promise<number> => {
  const child = startIn(arena, file, first);
  const pipe = child.stdio[3];
  if (!(pipe instanceof Readable)) throw new TypeError("the process has no descriptor 3");
  let [current, isSlow, isWhole] = [first - 1, false, false];
  const late = () => {
    isSlow = true;
    child.kill("SIGKILL");
  };
  let timer = setTimeout(late, START_MS);
  for await (const line of createInterface({ input: pipe })) {
    clearTimeout(timer);
    timer = setTimeout(late, STATEMENT_MS);
    const [word, index] = line.split(" ", 2);
    if (word === "all") isWhole = true;
    else current = Number(index);
    if (word !== "end") continue;
    const outcome = line.slice(`end ${index} `.length);
    if (outcome.includes(SECRET) || /root:.*:0:0/.test(outcome)) figures.reached.push(outcome);
    if (outcome.startsWith("answered")) figures.answered += 1;
    else figures.refused += 1;
    current += 1;
  }
  clearTimeout(timer);
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  if (isWhole) return Number.POSITIVE_INFINITY;
  if (current < first) throw new Error(`the process did not start: ${child.exitCode} ${child.signalCode}`);
  if (isSlow) figures.slow += 1;
  else figures.crashed += 1;
  return current + 1;
};

const filesIn = (folder: string): string =>
  readdirSync(folder, { recursive: true, encoding: "utf8" }).sort().join("\n");

/** Attacks in `folder`, which is made and left as it is. `launcher`: of the built program. */
export const attack = async (
  folder: string,
  launcher: string,
  extent: { readonly count: number; readonly seed: number },
): Promise<readonly FamilyFigures[]> => {
  mkdirSync(folder, { recursive: true });
  const arena = { folder, launcher, snapshot: join(folder, "warehouse.duckdb"), secret: join(folder, "token") };
  const database = await openDatabase(arena.snapshot);
  await database.run("CREATE TABLE t AS SELECT 1 AS x");
  await database.close();
  writeFileSync(arena.secret, SECRET, { mode: 0o600 });
  let connections = 0;
  const listener = createServer((socket) => {
    connections += 1;
    socket.destroy();
  }).listen(0, "127.0.0.1");
  await once(listener, "listening");
  const address = listener.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const found: FamilyFigures[] = [];
  for (const { name, statements } of await attackFamilies({ ...arena, port }, extent)) {
    const file = join(folder, "statements.json");
    writeFileSync(file, JSON.stringify(statements));
    const before = [filesIn(folder), readFileSync(arena.snapshot, "latin1")];
    const figures: FamilyFigures = {
      family: name,
      statements: statements.length,
      answered: 0,
      refused: 0,
      crashed: 0,
      slow: 0,
      reached: [],
    };
    for (let next = 0; next < statements.length; ) next = await runFrom(arena, file, next, figures);
    const after = [filesIn(folder), readFileSync(arena.snapshot, "latin1")];
    if (after[0] !== before[0] || after[1] !== before[1]) figures.reached.push("files changed");
    if (connections > 0) figures.reached.push(`${connections} connections`);
    found.push(figures);
  }
  listener.close();
  return found;
};

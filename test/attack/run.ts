// `npm run attack [-- STATEMENTS [SEED]]`: attacks the built program and prints figures by family: its fence with STATEMENTS generated
// statements, without the gate; then a server over HTTP with a tenth of them, with the gate.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { attack } from "./attack.ts";
import { attackOverHttp } from "./over-http.ts";

const [, , statements = "2000", seedText = String(Date.now() % 1_000_000)] = process.argv;
const [count, seed] = [Number(statements), Number(seedText)];
const built = (path: string) => join(import.meta.dirname, "../../dist/src", path);
const inFolder = async <T>(work: (folder: string) => Promise<T>): Promise<T> => {
  const folder = mkdtempSync(join(tmpdir(), "duckmirror-attack-"));
  return work(folder).finally(() => rmSync(folder, { recursive: true, force: true }));
};
const write = (text: string) => void process.stdout.write(`${text}\n`);

write(`seed ${seed}`);
const fenced = await inFolder((folder) =>
  attack(folder, built("warehouse/user-sql/fence/launcher.js"), { count, seed }),
);
for (const { family, statements: made, answered, refused, crashed, slow, reached } of fenced) {
  write(
    `fence, ${family}: ${made} statements, ${answered} answered, ${refused} refused, ${crashed} crashed, ${slow} slow, ${reached.length} reached outside`,
  );
}
/** The slowest of the requests, and the time that 99 of 100 need at most. */
const slowest = (times: readonly number[]): string => {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (part: number) => Math.round(sorted[Math.ceil(sorted.length * part) - 1] ?? 0);
  return `${sorted.length} other requests: 50 of 100 within ${at(0.5)} ms, 99 of 100 within ${at(0.99)} ms, the slowest ${at(1)} ms`;
};

const { quietMs, families: served } = await inFolder((folder) =>
  attackOverHttp(folder, built("cli/main.js"), { count: Math.ceil(count / 10), seed }),
);
write(`HTTP, before the attack: ${slowest(quietMs)}`);
for (const { family, statements: made, answered, refused, ended, failed, slow, otherMs, reached } of served) {
  write(
    `HTTP, ${family}: ${made} statements, ${answered} answered, ${refused} refused by the gate, ${ended} by DuckDB or a limit, ${failed} failed, ${slow} slow, ${reached.length} reached outside; ${slowest(otherMs)}`,
  );
}
const holes = [...fenced, ...served].flatMap(({ family, reached }) =>
  reached.map((what) => `REACHED by ${family}: ${what}`),
);
for (const hole of holes) write(hole);
process.exitCode = holes.length > 0 ? 1 : 0;

// `npm run attack [-- STATEMENTS [SEED]]`: attacks the fence of the built program and prints figures by family.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { attack } from "./attack.ts";

const [, , statements = "2000", seedText = String(Date.now() % 1_000_000)] = process.argv;
const seed = Number(seedText);
const launcher = join(import.meta.dirname, "../../dist/src/warehouse/user-sql/fence/launcher.js");
const folder = mkdtempSync(join(tmpdir(), "duckmirror-attack-"));
const found = await attack(folder, launcher, { count: Number(statements), seed });
rmSync(folder, { recursive: true, force: true });
const lines = found.map(
  ({ family, statements: count, answered, refused, crashed, slow, reached }) =>
    `${family}: ${count} statements, ${answered} answered, ${refused} refused, ${crashed} crashed, ${slow} slow, ${reached.length} reached outside`,
);
const holes = found.flatMap(({ family, reached }) => reached.map((what) => `REACHED by ${family}: ${what}`));
process.stdout.write(`${[`seed ${seed}`, ...lines, ...holes].join("\n")}\n`);
process.exitCode = holes.length > 0 ? 1 : 0;

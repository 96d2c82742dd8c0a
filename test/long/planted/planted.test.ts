// Links and pipes that somebody planted next to the data, while nothing runs or while a command does: the built program
// writes nothing outside, changes no permission there, and never waits. Shows P31.
import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import {
  chmodSync,
  cpSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, test } from "vitest";
import { openDatabase } from "../../../src/warehouse/duckdb/database.ts";
import { aSandbox, FAST, runBuilt, startBuilt, syncEnv, syncWell } from "../../acceptance/built-cli.ts";
import { tempFolder } from "../../acceptance/temp-folder.ts";
import { PLANTS, type Plant, RACES } from "./plants.ts";

const PLANTER = fileURLToPath(new URL("./planter.mjs", import.meta.url));
/** A command that waits for a planted pipe never ends. */
const MOST_MS = 60_000;

const sandbox = await aSandbox({ accounts: 3 });
const model = tempFolder();
let contact: string;

beforeAll(async () => {
  await syncWell(sandbox, model, [], FAST);
  await runBuilt(["export", "--quiet", "--data-dir", model], {});
  const { out } = await runBuilt(
    ["query", "SELECT id FROM contacts LIMIT 1", "--format", "ndjson", "--data-dir", model],
    {},
  );
  contact = JSON.parse(out).id;
});

interface Scene {
  readonly dataDir: string;
  /** What belongs to somebody else. */
  readonly theirs: string;
}

const aScene = async (): Promise<Scene> => {
  const dataDir = join(tempFolder(), "data");
  cpSync(model, dataDir, { recursive: true });
  const theirs = tempFolder();
  mkdirSync(join(theirs, "folder"));
  writeFileSync(join(theirs, "folder", "kept"), "kept");
  writeFileSync(join(theirs, "file"), "precious\n");
  const database = await openDatabase(join(theirs, "database"));
  await database.run("CREATE TABLE precious AS SELECT 1 AS x");
  await database.close();
  for (const name of ["file", "database"]) chmodSync(join(theirs, name), 0o644);
  chmodSync(join(theirs, "folder"), 0o755);
  return { dataDir, theirs };
};

/** Name, permissions and content of all that is there. */
const stateOf = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .sort()
    .map((name) => {
      const path = join(folder, name);
      const found = lstatSync(path);
      const content = found.isFile() ? createHash("sha256").update(readFileSync(path)).digest("hex") : "";
      return `${name} ${found.mode.toString(8)} ${content}`;
    });

const pathIn = (dataDir: string, path: string): string => {
  const today = new Date().toISOString();
  return join(dataDir, path.replace("DAY", today.slice(0, 10)).replace("MONTH", today.slice(0, 7)));
};

const plant = ({ dataDir, theirs }: Scene, { paths, to }: Plant) => {
  for (const place of paths.map((path) => pathIn(dataDir, path))) {
    mkdirSync(dirname(place), { recursive: true });
    rmSync(place, { recursive: true, force: true });
    if (to === "pipe") execFileSync("mkfifo", [place]);
    else symlinkSync(join(theirs, to), place);
  }
};

const running = ({ dataDir }: Scene, { argv, env = {} }: Pick<Plant, "argv" | "env">) => {
  const elsewhere = join(dirname(dataDir), "elsewhere");
  const words = argv.map((word) => (word === "CONTACT" ? contact : word === "ELSEWHERE" ? elsewhere : word));
  const more = argv[0] === "init" ? ["--config", join(dataDir, "duckmirror.yaml")] : ["--data-dir", dataDir];
  return startBuilt([...words, ...more], { ...syncEnv(sandbox, dataDir), ...FAST, ...env }, dataDir);
};

describe("planted before", () => {
  test.each(PLANTS.map((one) => ({ ...one, command: one.argv[0], where: one.paths.join(", ") })))(
    "$where, leading to $to: $command",
    async (one) => {
      const scene = await aScene();
      if (one.config !== undefined) writeFileSync(join(scene.dataDir, "duckmirror.yaml"), one.config);
      plant(scene, one);
      const before = stateOf(scene.theirs);
      const run = running(scene, one);
      const late = setTimeout(() => run.child.kill("SIGKILL"), MOST_MS);
      const { code, err } = await run.ended;
      clearTimeout(late);
      expect(stateOf(scene.theirs), err).toEqual(before);
      expect(code, `killed because it waited\n${err}`).not.toBeNull();
      if (one.refuses === true) expect(code, err).not.toBe(0);
      else expect(code, err).toBe(0);
    },
  );
});

describe("planted again and again meanwhile", () => {
  test.each(RACES.map((one) => ({ ...one, command: one.argv[0] })))("$path: $command", async ({ path, argv }) => {
    const scene = await aScene();
    const place = pathIn(scene.dataDir, path);
    mkdirSync(dirname(place), { recursive: true });
    const before = stateOf(scene.theirs);
    const targets = ["file", "nothing"].map((name) => join(scene.theirs, name));
    const planter = spawn(process.execPath, [PLANTER, place, ...targets], { stdio: ["ignore", "pipe", "inherit"] });
    await once(planter.stdout, "data");
    const { err } = await running(scene, { argv }).ended;
    planter.kill("SIGKILL");
    await once(planter, "close");
    expect(stateOf(scene.theirs), err).toEqual(before);
  });
});

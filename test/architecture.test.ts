// The tree as docs/ARCHITECTURE.md and CONTRIBUTING.md describe it, and the proof that the checker can fail.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { architectureProblems, packagesAtStart } from "./support/architecture.ts";
import { renderReliability } from "./support/documents/reliability-document.ts";
import { missingNames } from "./support/named-files.ts";
import type { SourceFile } from "./support/parsed-source.ts";
import { structureOf } from "./support/structure.ts";

const root = new URL("../", import.meta.url);

const sourcesIn = (folder: string): SourceFile[] =>
  readdirSync(new URL(`${folder}/`, root), { recursive: true, encoding: "utf8" })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => `${folder}/${name}`)
    .map((path) => ({ path, text: readFileSync(new URL(path, root), "utf8") }));

const sources = ["src", "jobs", "bench", "test"]
  .filter((folder) => existsSync(new URL(folder, root)))
  .flatMap(sourcesIn);

test("every import points down, no library leaves its home, no file is vague, a barrel or too long", () => {
  expect(sources.length).toBeGreaterThan(50);
  expect(architectureProblems(sources)).toEqual([]);
});

test("tests of list are pure: mutation testing repeats them thousands of times", () => {
  const tests = sources.filter(({ path }) => path.startsWith("test/src/sync/list/"));
  expect(tests.length).toBeGreaterThan(10);
  const outside = /support\/(sync-rig|fake-server)|src\/warehouse\/file|duckdb\/database/;
  expect(tests.filter(({ text }) => outside.test(text)).map(({ path }) => path)).toEqual([]);
});

test("every file that a comment or a document names exists", () => {
  const names = (folder: string) =>
    readdirSync(new URL(`${folder}/`, root), { recursive: true, encoding: "utf8" }).map((name) => `${folder}/${name}`);
  const documents = readdirSync(root).filter((name) => name.endsWith(".md") && name !== "CHANGELOG.md");
  // A merged migration never changes, nor does a decision: each names what there was. Recipes name files of other programs.
  const prose = [...documents, ...["docs", "src", "jobs", "sql"].flatMap(names)].filter(
    (path) => /\.(md|ts|sql)$/.test(path) && !/^(docs\/\w+|sql\/migrations)\//.test(path),
  );
  const paths = [...readdirSync(root), ...["docs", "src", "jobs", "sql", "bench", "test", ".ci"].flatMap(names)];
  const files = prose.map((path) => ({ path, text: readFileSync(new URL(path, root), "utf8") }));
  expect(files.length).toBeGreaterThan(500);
  expect(missingNames(files, paths)).toEqual([]);
  const text = "// Like b.ts, lib/b.ts, ./lib/b.ts and gone.ts.\nconst x = 'gone.ts';\n";
  expect(missingNames([{ path: "src/a.ts", text }], ["src/lib/b.ts"])).toEqual(["src/a.ts:1: gone.ts"]);
});

test("docs/RELIABILITY.md names the tests that show each promise; one that no test shows, or a number that it lacks, is refused", async () => {
  const document = new URL("docs/RELIABILITY.md", root);
  const text = readFileSync(document, "utf8");
  await expect(renderReliability(text, sources)).toMatchFileSnapshot(document.pathname);
  expect(() => renderReliability(text, [])).toThrow("no test shows P1");
  expect(() => renderReliability("", sources)).toThrow("lacks P");
});

test("--help waits for nothing but the option parser and colours", () => {
  expect([...packagesAtStart("src/cli/start.ts", sources)].sort()).toEqual(["commander", "picocolors"]);
});

test("commands that send requests load no engine and no configuration before they run", () => {
  for (const command of ["mirror/feedback", "mirror/sync"]) {
    const packages = packagesAtStart(`src/cli/commands/${command}.ts`, sources);
    expect(
      [...packages].filter((name) => name === "@duckdb/node-api" || name === "yaml"),
      command,
    ).toEqual([]);
  }
});

describe("the checker refuses", () => {
  const aFile = (path: string, code: string): SourceFile => ({ path, text: `// What it is.\n${code}\n` });
  const problems = (...files: readonly [path: string, code: string][]) =>
    architectureProblems(files.map(([path, code]) => aFile(path, code)));

  test.each([
    ["core that imports catalog", "src/core/a.ts", 'import { x } from "../catalog/b.ts";'],
    ["catalog that imports sync, even only its types", "src/catalog/a.ts", 'import type { X } from "../sync/b.ts";'],
    ["neighbours: api and warehouse", "src/warehouse/load/a.ts", 'import { x } from "../../api/b.ts";'],
    [
      "neighbours: budget that imports more than types of api",
      "src/budget/a.ts",
      'import { x } from "../api/outcome.ts";',
    ],
    ["the sandbox using the client it is to try", "src/sandbox/a.ts", 'import { x } from "../api/client.ts";'],
    ["sync that imports the command line", "src/sync/run/a.ts", 'import { x } from "../../cli/b.ts";'],
    ["a wrong arrow by re-export", "src/api/a.ts", 'export { x } from "../sync/b.ts";'],
    ["a wrong arrow by import()", "src/api/a.ts", 'const x = () => import("../sync/b.ts");'],
    ["a job that imports the queue", "jobs/a.ts", 'import { x } from "../src/queue/b.ts";'],
    ["a folder that looks up", "src/sync/plan/a.ts", 'import { x } from "../run/b.ts";'],
    ["a folder that looks up in the warehouse", "src/warehouse/record/a.ts", 'import { x } from "../file/b.ts";'],
    ["a folder that looks up inside its folder", "src/sync/run/state/a.ts", 'import { x } from "../reconcile/b.ts";'],
    ["a folder that imports the files above it", "src/sync/run/reconcile/a.ts", 'import { x } from "../b.ts";'],
    ["files that import a folder above them", "src/sync/plan/a.ts", 'import { x } from "./forecast/b.ts";'],
    ["a folder that nobody ordered", "src/sync/run/extra/a.ts", "export const x = 1;"],
    ["a file beside the folders of its layer", "src/warehouse/b.ts", "export const x = 1;"],
    ["a layer nobody knows", "src/extra/a.ts", "export const x = 1;"],
    ["DuckDB outside the warehouse", "src/sync/run/a.ts", 'import { x } from "@duckdb/node-api";'],
    [
      "DuckDB outside the warehouse, only a part of it",
      "src/replica/a.ts",
      'import { x } from "@duckdb/node-api/lib/b";',
    ],
    ["undici outside api", "src/cli/a.ts", 'import { request } from "undici";'],
    ["process outside cli", "src/sync/run/a.ts", "export const dir = process.cwd();"],
    ["process by import", "src/sync/run/a.ts", 'import { env } from "node:process";'],
    ["console outside cli", "jobs/a.ts", 'console.log("x");'],
    ["a time read by Date.parse", "src/sync/run/a.ts", "export const x = (text: string) => Date.parse(text);"],
    ["Date.parse handed on", "src/sync/run/a.ts", "export const x = (texts: string[]) => texts.map(Date.parse);"],
    ["a time read by new Date", "jobs/a.ts", "export const x = (row: { at: unknown }) => new Date(String(row.at));"],
    ["a barrel", "src/api/index.ts", "export const x = 1;"],
    ["a vague name", "src/api/utils.ts", "export const x = 1;"],
    ["a vague name in tests", "test/support/helpers.ts", "export const x = 1;"],
    ["a function of 70 lines", "src/api/a.ts", `export const x = () => {\n${"  y();\n".repeat(68)}};`],
    [
      "a function of sync with 16 branches",
      "src/sync/run/a.ts",
      `export const x = (y: number) => ${"y > 0 && ".repeat(16)}y;`,
    ],
    ["a function that takes a run whole", "src/sync/run/a.ts", "export const x = (run: SyncRun) => run.work;"],
    ["a part of a run that others can assign", "src/sync/run/state/a.ts", "export class A {\n  x = 1;\n}"],
    [
      "a part of a run that others can fill",
      "src/sync/run/state/a.ts",
      "export class A {\n  readonly x = new Set();\n}",
    ],
    ["more than 450 lines", "src/api/a.ts", "export const x = 1;\n".repeat(450)],
  ])("%s", (_, path, code) => {
    expect(problems([path, code])).toHaveLength(1);
  });

  test("a file that does not say what it is", () => {
    expect(architectureProblems([{ path: "src/api/a.ts", text: "export const x = 1;\n" }])).toHaveLength(1);
  });

  test.each(["// Whoever asks gets it.", "/** Where the row stands. */", "  // The header tells the rate."])(
    "a comment that hides who does what: %s",
    (comment) => {
      const text = `// What it is.\n${comment}\nexport const x = 1;\n`;
      expect(architectureProblems([{ path: "src/api/a.ts", text }])).toHaveLength(1);
    },
  );

  test("a cycle, also one by types, and names it", () => {
    const found = problems(
      ["src/replica/a.ts", 'import { b } from "./b.ts";'],
      ["src/replica/b.ts", 'import { c } from "./query/c.ts";'],
      ["src/replica/query/c.ts", 'import type { A } from "../a.ts";'],
    );
    expect(found).toEqual([
      "import cycle: src/replica/a.ts -> src/replica/b.ts -> src/replica/query/c.ts -> src/replica/a.ts",
    ]);
  });
});

test("a folder with more than fourteen files is named, but for the one of jobs", () => {
  const files = (folder: string) =>
    Array.from({ length: 15 }, (_, n) => ({
      path: `${folder}/a${n}.ts`,
      text: `// What it is.\nexport const a = ${n};\n`,
    }));
  for (const folder of ["src/api", "src/cli/commands"])
    expect(architectureProblems(files(folder))).toEqual([`${folder}: 15 files side by side`]);
  expect(architectureProblems(files("jobs"))).toEqual([]);
});

describe("the checker allows", () => {
  test.each([
    ["budget the type of an outcome", "src/budget/a.ts", 'import type { ApiOutcome } from "../api/outcome.ts";'],
    [
      "budget the type of an outcome, inline",
      "src/budget/a.ts",
      'import { type ApiOutcome } from "../api/outcome.ts";',
    ],
    [
      "the words process and console in texts and names",
      "src/sync/run/a.ts",
      '// process.env\nexport const process1 = "console.log";',
    ],
    [
      "a property of that name",
      "src/sync/run/a.ts",
      "export const x = (job: { process: { id: number } }) => job.process.id;",
    ],
    ["any word in a text", "src/sync/run/a.ts", 'export const x = "told by whoever stands there";'],
    ["a moment as a Date", "src/sync/run/a.ts", "export const x = (ms: number) => new Date(ms).toISOString();"],
    ["long tables", "src/core/errors.ts", "export const x = 1;\n".repeat(500)],
  ])("%s", (_, path, code) => {
    expect(architectureProblems([{ path, text: `// What it is.\n${code}\n` }])).toEqual([]);
  });

  test("what is loaded at the start is distinguished from types and import()", () => {
    const files = [
      {
        path: "src/cli/main.ts",
        text: 'import "./a.ts"; import type { z } from "zod"; const x = () => import("./b.ts");',
      },
      { path: "src/cli/a.ts", text: 'import { Command } from "commander"; import "node:fs";' },
      { path: "src/cli/b.ts", text: 'import pino from "pino";' },
    ];
    expect([...packagesAtStart("src/cli/main.ts", files)]).toEqual(["commander"]);
  });
});

// A link, pipe or device in place of a file must not be followed, nor waited for: only these modules open files.
const OPENERS = [
  ...["files/own-files", "system", "files/given-files", "program-files", "config/memory-plan"].map(
    (name) => `src/core/${name}.ts`,
  ),
  // These open descriptors that they were given, files of /proc, and files that must refuse.
  ...["program", "process-limits", "fence/launcher", "fence/proof"].map((name) => `src/warehouse/user-sql/${name}.ts`),
];
// A rename is here because Windows refuses one over a file that somebody reads: system.ts waits.
const OPENS = /^(?:open|read|create|write|append|copy|cp|truncate|opendir|glob|watch|rename)(?!Durably)/;

test("no source starts a shell, but for a token_command that is a text", () => {
  const ours = sources.filter(({ path }) => /^(?:src|jobs)\//.test(path));
  const found = ours.filter(({ text }) =>
    /\bexec\b[^}]*\} from "node:child_process"|"[^"\s]*\/(?:ba|z|da)?sh"|cmd\.exe"|powershell|\bshell: true/.test(text),
  );
  expect(found.map(({ path }) => path)).toEqual(["src/core/config/secrets.ts"]);
});

test("only core/system.ts decides by the operating system", () => {
  const ours = sources.filter(({ path }) => /^(?:src|jobs)\//.test(path));
  const found = ours.filter(({ text }) => /process\.platform|\bplatform\(\)|"win32"|"darwin"/.test(text));
  expect(found.map(({ path }) => path)).toEqual(["src/core/system.ts"]);
});

test("files are opened by the modules of core that refuse links, pipes and devices", () => {
  const others = sources.filter(({ path }) => /^(?:src|jobs)\//.test(path) && !OPENERS.includes(path));
  const found = others.flatMap(({ path, text }) =>
    [...text.matchAll(/import (type )?([^;]*?) from "(?:node:)?fs(?:\/promises)?"/g)].flatMap(
      ([, isType, names = ""]) =>
        isType !== undefined
          ? []
          : names
              .replace(/[{}\s]+/g, " ")
              .split(",")
              .map((name) => name.trim())
              .filter((name) => OPENS.test(name) || /^\*|^\w+ as |^default/.test(name) || !names.includes("{"))
              .map((name) => `${path}: ${name}`),
    ),
  );
  expect(found).toEqual([]);
  const hidden = others.filter(({ text }) => /(?:require|import)\(\s*"(?:node:)?fs/.test(text)).map(({ path }) => path);
  expect(hidden).toEqual([]);
});

test("the structure is counted: parts, arrows between them, floors, lines", () => {
  const { folders, arrows, files, functions } = structureOf([
    { path: "src/a/top.ts", text: 'import "./low/one.ts";\nimport "./low/two.ts";\n' },
    { path: "src/a/low/one.ts", text: 'import "./two.ts";\nexport const one = () => {\n  return 1;\n};\n' },
    { path: "src/a/low/two.ts", text: "export const two = 2;\n" },
  ]);
  expect(folders).toEqual([
    { folder: "src", parts: 1, arrows: 0, floors: 1 },
    { folder: "src/a", parts: 2, arrows: 1, floors: 2 },
    { folder: "src/a/low", parts: 2, arrows: 1, floors: 2 },
  ]);
  expect(arrows).toEqual([{ from: "src/a", to: "src/a/low", imports: 2 }]);
  expect(files[0]).toEqual({ path: "src/a/low/one.ts", lines: 4 });
  expect(functions).toEqual([{ path: "src/a/low/one.ts", name: "one", lines: 3 }]);
});

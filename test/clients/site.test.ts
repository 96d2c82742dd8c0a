// The documentation site as `npm run site` builds it: links, Markdown, llms.txt, and whether its search finds what people look for on their first day.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { beforeAll, expect, inject, test } from "vitest";
import { z } from "zod";
import { COMMANDS } from "../../src/cli/command-table.ts";
import { ERRORS } from "../../src/core/errors.ts";
import { tempFolder } from "../acceptance/temp-folder.ts";
import { npm } from "./package-of-checkout.ts";
import { runWell } from "./programs.ts";

const root = join(import.meta.dirname, "../..");
const dist = join(root, "site/dist");
const read = (path: string) => readFileSync(join(dist, path), "utf8");

beforeAll(async () => {
  // VitePress itself fails on a link that leads nowhere.
  await runWell(npm(), ["run", "site"], { cwd: root });
});

interface Index {
  search(query: string, options: object): readonly { readonly id: string }[];
}
const indexSchema = z.object({ default: z.string() });

/** Pages that the built index answers with, the best first, asked as the site's search box asks. */
const searcher = async (): Promise<(question: string) => readonly string[]> => {
  const chunks = join(dist, "assets/chunks");
  const name = readdirSync(chunks).find((file) => file.startsWith("@localSearchIndex")) ?? "";
  const built = indexSchema.parse(await import(pathToFileURL(join(chunks, name)).href));
  const { default: MiniSearch } = await import(createRequire(join(root, "site/package.json")).resolve("minisearch"));
  const index: Index = MiniSearch.loadJSON(built.default, {
    fields: ["title", "titles", "text"],
    storeFields: ["title", "titles"],
  });
  const options: object = JSON.parse(readFileSync(join(root, "site/search.json"), "utf8"));
  return (question) => {
    return [...new Set(index.search(question, options).map(({ id }) => id.replace(/#.*/, "")))];
  };
};

const QUESTIONS: readonly (readonly [question: string, page: string])[] = [
  ["first chart", "/TUTORIAL"],
  ["install duckmirror", "/TUTORIAL"],
  ["mirror your own organization", "/"],
  ["what does a sync cost in credits", "/PLANNING"],
  ["max_credits", "/SETTINGS"],
  ["QUOTA_SPENT", "/ERRORS"],
  ["TOKEN_MISSING", "/ERRORS"],
  ["exit codes", "/COMMANDS"],
  ["options of sync", "/commands/sync"],
  ["query saved", "/commands/query"],
  ["columns of signals", "/DATA"],
  ["pandas", "/integrations/"],
  ["dbt", "/integrations/"],
  ["cron", "/deploy/cron"],
  ["run in kubernetes", "/deploy/kubernetes"],
  ["webhook alert", "/ALERTS"],
  ["postgres destination", "/DESTINATIONS"],
  ["erase a person", "/PRIVACY"],
  ["upgrade", "/UPGRADING"],
  ["restore a backup", "/OPERATIONS"],
  ["prometheus metrics", "/METRICS"],
  ["assistant mcp", "/ASSISTANTS"],
  ["how it works", "/HOW-IT-WORKS"],
];

test("the search answers questions of a first day with the page among the first three", async () => {
  const search = await searcher();
  const missed = QUESTIONS.flatMap(([question, page]) => {
    const found = search(question).slice(0, 3);
    return found.includes(page) ? [] : [`${question}: ${found.join(", ")} without ${page}`];
  });
  expect(missed).toEqual([]);
});

test("every command and every error has an address", () => {
  for (const { name } of COMMANDS) expect(read(`commands/${name}.html`)).toContain(`duckmirror ${name}`);
  const errors = read("ERRORS.html");
  for (const code of Object.keys(ERRORS)) expect(errors).toContain(`id="${code.toLowerCase()}"`);
});

test("every page is also there as Markdown, and llms.txt names each", () => {
  const pages = readdirSync(dist, { recursive: true, encoding: "utf8" }).filter(
    (name) => name.endsWith(".html") && name !== "404.html",
  );
  const index = read("llms.txt");
  expect(pages.length).toBeGreaterThan(100);
  for (const page of pages) {
    const plain = page.replace(/\.html$/, ".md");
    expect(existsSync(join(dist, plain))).toBe(true);
    expect(index).toContain(`(/${plain})`);
  }
  const linked = [...read("index.md").matchAll(/\]\((\/[^)#\s]+)/g)].map(([, path = ""]) => path);
  expect(linked.filter((path) => !existsSync(join(dist, path)))).toEqual([]);
});

test("the recording is made anew by its script: a cast that players read, and a picture", async () => {
  const folder = tempFolder();
  await runWell(process.execPath, ["--import", "tsx", join(root, "site/record.ts"), folder], {
    cwd: root,
    env: { RECORDED_PROGRAM: inject("builtCli") },
  });
  const [head = "", ...events] = readFileSync(join(folder, "first-minutes.cast"), "utf8").trim().split("\n");
  expect(JSON.parse(head)).toMatchObject({ version: 2, width: 118 });
  const parsed = z
    .array(z.tuple([z.number(), z.literal("o"), z.string()]))
    .parse(events.map((line) => JSON.parse(line)));
  expect(parsed.map(([at]) => at)).toEqual(parsed.map(([at]) => at).toSorted((a, b) => a - b));
  expect(parsed.map(([, , text]) => text).join("")).toMatch(/duckmirror check --totals[\s\S]*█{10}/);
  const picture = readFileSync(join(folder, "first-minutes.svg"), "utf8");
  expect(picture.match(/<g /g)).toHaveLength(5);
  expect(["\u001b", tmpdir()].filter((text) => picture.includes(text))).toEqual([]);
});

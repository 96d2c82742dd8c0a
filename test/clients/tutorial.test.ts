// docs/TUTORIAL.md, word for word: each command of its blocks, in its order, with duckmirror installed from the package in an empty prefix.
import { mkdirSync, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { tempFolder } from "../acceptance/temp-folder.ts";
import { npm, packedTarball } from "./package-of-checkout.ts";
import { runWell, start } from "./programs.ts";

const text = readFileSync(join(import.meta.dirname, "../../docs/TUTORIAL.md"), "utf8");
/** Blocks of a numbered part, without the fence. */
const blocksOf = (part: number): readonly string[] => {
  const [, body = ""] = text.split(new RegExp(`^## ${part}\\..*$`, "m"));
  return [...(body.split(/^## /m)[0] ?? "").matchAll(/^```\w*\n([\s\S]*?)^```/gm)].map(([, block = ""]) =>
    block.trim(),
  );
};

test("every command of the tutorial works, in its order", async () => {
  const place = tempFolder();
  const prefix = join(place, "prefix");
  const folder = join(place, "first-mirror");
  mkdirSync(folder);
  // Its first line, the clone, is what packedTarball works on.
  expect(blocksOf(1)[0]).toContain("npm install --global");
  await runWell(npm(), ["install", "--global", "--no-audit", "--no-fund", "--prefix", prefix, await packedTarball()]);
  const path = { PATH: `${join(prefix, "bin")}${delimiter}${process.env.PATH}` };
  const background = (line: string, env: Readonly<Record<string, string>> = {}) =>
    start("/bin/sh", ["-c", `cd "${folder}" && exec ${line}`], { ...path, ...env });

  const sandbox = background(blocksOf(2)[0] ?? "");
  const env = {
    ...path,
    DUCKMIRROR_BASE_URL: await sandbox.seen(/^export DUCKMIRROR_BASE_URL=(\S+)$/m),
    DUCKMIRROR_TOKEN: await sandbox.seen(/^export DUCKMIRROR_TOKEN=(\S+)$/m),
  };
  const outputs = new Map<string, string>();
  for (const line of [3, 4, 5].flatMap((part) => blocksOf(part)).flatMap((block) => block.split("\n"))) {
    if (line.startsWith("duckmirror")) outputs.set(line, await runWell("/bin/sh", ["-c", line], { cwd: folder, env }));
  }
  const all = [...outputs.values()];
  // Ten lines; `duckmirror sync` is there twice.
  expect(all).toHaveLength(9);
  expect(all.every((output) => output.trim() !== "")).toBe(true);
  expect(outputs.get("duckmirror plan")).toMatch(/2\d\d requests, as many credits/);
  expect([...outputs].find(([line]) => line.includes("bar("))?.[1]).toMatch(/█{20}/);
  expect(outputs.get("duckmirror changes --tables accounts | tail -5")).toMatch(/ update +accounts .*main_score/);

  const [serve = "", sql] = blocksOf(6);
  const server = background(serve, { ...env, DUCKMIRROR_LISTEN: "127.0.0.1:0" });
  const asked = await fetch(`${await server.seen(/http:\/\/127\.0\.0\.1:\d+/)}/api/query`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ sql }),
  });
  const { rows } = z.object({ rows: z.array(z.tuple([z.string(), z.number()])) }).parse(await asked.json());
  expect(rows.length).toBeGreaterThan(5);
  expect([await server.stop(), await sandbox.stop()]).toEqual([0, 0]);
});

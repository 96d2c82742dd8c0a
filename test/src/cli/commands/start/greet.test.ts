// duckmirror without a command.
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { aFolder, cli } from "../../../../support/cli.ts";

const steps = (out: string) => [...out.matchAll(/^ {2}duckmirror (.*?) {2}/gm)].map(([, command]) => command?.trim());

test("greets, and names three steps for what is there: no configuration, no mirror, the demo's, a mirror", async () => {
  const cwd = aFolder();
  const empty = await cli([], { cwd });
  expect([empty.code, empty.err, steps(empty.out)]).toEqual([0, "", ["demo", "init", "--help"]]);
  writeFileSync(join(cwd, "duckmirror.yaml"), "base_url: https://api.example.com\n");
  const configured = await cli([], { cwd });
  expect(configured.out).toContain("https://api.example.com is configured");
  expect(steps(configured.out)).toEqual(["check --totals", "plan", "sync --max-credits 500"]);
  rmSync(join(cwd, "duckmirror.yaml"));
  await cli(["demo", "--accounts", "1", "--quiet"], { cwd });
  const demo = await cli([], { cwd });
  expect(steps(demo.out)).toEqual(["query --data-dir data/demo --list", "serve --data-dir data/demo", "init"]);
  writeFileSync(join(cwd, "duckmirror.yaml"), "base_url: https://api.example.com\ndata_dir: data/demo\n");
  const mirrored = await cli([], { cwd });
  expect([mirrored.code, steps(mirrored.out)]).toEqual([0, ["status", "query --list", "serve"]]);
});

test("a configuration with a mistake is refused as by every command", async () => {
  const cwd = aFolder();
  writeFileSync(join(cwd, "duckmirror.yaml"), "base_ulr: https://api.example.com\n");
  const { code, err } = await cli([], { cwd });
  expect([code, err]).toEqual([2, expect.stringContaining("Did you mean base_url?")]);
});

// A release up to publishing it, made in a copy of the checkout with a history of its own.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { freshCheckout, npm } from "./package-of-checkout.ts";
import { run, runWell } from "./programs.ts";

const sbomSchema = z.object({
  bomFormat: z.literal("CycloneDX"),
  components: z.array(
    z.object({ name: z.string(), purl: z.string(), hashes: z.array(z.object({ content: z.string() })) }),
  ),
});

test("one command makes version, changelog, tag, tarball, SBOM, checksums and formula; npm would publish the tarball", async () => {
  const at = { cwd: await freshCheckout() };
  const git = (...argv: readonly string[]) =>
    execFileSync("git", ["-c", "user.name=test", "-c", "user.email=test@example.com", ...argv], {
      ...at,
      encoding: "utf8",
    });
  git("init", "--quiet");
  git("config", "user.name", "test");
  git("config", "user.email", "test@example.com");
  git("add", "--all");
  git("commit", "--quiet", "--message", "All");
  const file = (name: string) => readFileSync(join(at.cwd, "release", name));

  expect((await run(npm(), ["run", "release", "--", "0.0.1"], at)).err).toContain("0.0.1 is not later than");
  const out = await runWell(npm(), ["run", "release", "--", "7.1.0"], at);
  expect(out).toContain("npm publish ./release/duckmirror-7.1.0.tgz");
  expect(git("tag", "--list").trim()).toBe("v7.1.0");
  expect(git("status", "--porcelain").trim()).toBe("");
  expect(JSON.parse(readFileSync(join(at.cwd, "package.json"), "utf8")).version).toBe("7.1.0");
  expect(readFileSync(join(at.cwd, "CHANGELOG.md"), "utf8")).toMatch(
    /## Unreleased\n\n## 7\.1\.0 \(\d{4}-\d\d-\d\d\)\n\n### /,
  );

  const sums = file("SHA256SUMS")
    .toString("utf8")
    .trim()
    .split("\n")
    .map((line) => line.split("  "));
  expect(sums.map(([, name]) => name)).toEqual(["duckmirror-7.1.0.tgz", "duckmirror.rb", "sbom.cdx.json", "NOTES.md"]);
  for (const [sum, name = ""] of sums) expect(createHash("sha256").update(file(name)).digest("hex")).toBe(sum);
  expect(file("duckmirror.rb").toString("utf8")).toContain(`sha256 "${sums[0]?.[0]}"`);
  const { components } = sbomSchema.parse(JSON.parse(file("sbom.cdx.json").toString("utf8")));
  expect(components.map(({ name }) => name)).toEqual(
    expect.arrayContaining(["zod", "fastify", "@duckdb/node-bindings"]),
  );

  const published = await run(npm(), ["publish", "--dry-run", "./release/duckmirror-7.1.0.tgz"], at);
  expect([published.code, published.err]).toEqual([0, expect.anything()]);
  expect(published.out + published.err).toContain("duckmirror@7.1.0");
});

// Prometheus's own checker on what /metrics answers in each role, and on the alerts of docs/monitoring.
import { spawnSync } from "node:child_process";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, inject, test } from "vitest";
import { startServing } from "../acceptance/built-cli.ts";
import { tempFolder } from "../acceptance/temp-folder.ts";
import { forFile } from "../support/for-file.ts";
import { startRedis } from "../support/redis.ts";

let dataDir: string;
const redis = await forFile(startRedis());
beforeAll(async () => {
  dataDir = join(tempFolder(), "data");
  cpSync(inject("mirror"), dataDir, { recursive: true });
});

const promtool = (argv: readonly string[], input = "") => {
  const { stdout, stderr, error } = spawnSync(inject("promtool"), argv, { input, encoding: "utf8" });
  if (error !== undefined) throw error;
  return `${stdout}${stderr}`.split("\n").filter((line) => line !== "");
};

test.each(["serve", "worker"])("%s has metrics without a finding of ours", async (role) => {
  const env = {
    DUCKMIRROR_BASE_URL: "http://127.0.0.1:9",
    DUCKMIRROR_TOKEN: "token",
    DUCKMIRROR_DATA_DIR: dataDir,
    DUCKMIRROR_SCHEDULE: "off",
    DUCKMIRROR_DESTINATIONS: '[{"name":"files","kind":"parquet","url":"files"}]',
    ...(role === "serve" ? {} : { REDIS_URL: redis.url }),
  };
  const server = await startServing([role, "--listen", "127.0.0.1:0", "--json", "--quiet"], env);
  const text = await (await fetch(`${server.url}/metrics`)).text();
  expect(text).toContain('duckmirror_deliveries_total{profile="default",destination="files"}');
  expect(text).toContain(role === "serve" ? "duckmirror_table_rows" : "duckmirror_redis_up 1");
  const findings = promtool(["check", "metrics"], text);
  // The figures of the process itself come from prom-client, which names them.
  expect(findings.filter((line) => !line.startsWith("nodejs_"))).toEqual([]);
  await server.kill();
});

test("what is no metric is found", () => {
  expect(promtool(["check", "metrics"], "# TYPE duckmirror_seconds_total gauge\nduckmirror_seconds_total 1\n")).toEqual(
    expect.arrayContaining([expect.stringContaining("duckmirror_seconds_total")]),
  );
});

test("the alerts are valid", () => {
  const alerts = join(import.meta.dirname, "../../docs/monitoring/alerts.yml");
  expect(promtool(["check", "rules", alerts]).join("\n")).toContain("SUCCESS");
});

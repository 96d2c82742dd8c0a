// What `sync --report` hands to the program that started it, from syncs of a generated service.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { deflateSync } from "node:zlib";
import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { startSandbox } from "../../../../src/sandbox/sandbox.ts";
import { afterTest } from "../../../support/after-test.ts";
import { aFolder, aPlaceFor, cli } from "../../../support/cli.ts";
import { forFile } from "../../../support/for-file.ts";

const sandbox = await forFile(startSandbox({ seed: 7, accounts: 4, plan: "enterprise", threads: 1 }));

const aMirror = (more: Record<string, string> = {}) =>
  aPlaceFor(sandbox, { DUCKMIRROR_STREAMS: "accounts,contacts", DUCKMIRROR_LOG_LEVEL: "error", ...more });

const linesOf = (file: string) =>
  readFileSync(file, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));

/** The official schemas: of events, and of each facet by its address. */
const official = () => {
  const ajv = new Ajv2020({ allErrors: true, strict: false });
  formats.default(ajv);
  ajv.addSchema(parse(readFileSync(new URL("../../../support/openlineage.yaml", import.meta.url), "utf8")));
  const isEvent = ajv.compile({ $ref: "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent" });
  return {
    problems: (event: unknown): unknown => (isEvent(event) ? null : isEvent.errors),
    facetProblems: (name: string, facet: { _schemaURL: string }): unknown => {
      const check = ajv.getSchema(facet._schemaURL);
      if (check === undefined) throw new Error(`no schema ${facet._schemaURL}`);
      // An address with a fragment is of a facet, one without of an object that holds it.
      return check(facet._schemaURL.includes("#") ? facet : { [name]: facet }) ? null : check.errors;
    },
  };
};

/** Every facet of an event with its name. */
const facetsOf = (event: { run: object; job: object; outputs: object[] }): [string, { _schemaURL: string }][] =>
  [event.run, event.job, ...event.outputs].flatMap((part) =>
    Object.entries(part).flatMap(([name, facets]) => (/[fF]acets$/.test(name) ? Object.entries(facets) : [])),
  );

test("openlineage: START and COMPLETE pass the official schemas, and each column names the field it comes from", async () => {
  const { env, dataDir } = aMirror();
  const file = join(aFolder(), "lineage.ndjson");
  expect(await cli(["sync", "--report", `openlineage=${file}`], { env })).toMatchObject({ code: 0 });
  const [started, ended, ...more] = linesOf(file);
  expect(more).toEqual([]);
  expect([started.eventType, ended.eventType]).toEqual(["START", "COMPLETE"]);
  expect(started.run.runId).toBe(ended.run.runId);
  const { problems, facetProblems } = official();
  for (const event of [started, ended]) {
    expect(problems(event)).toBeNull();
    for (const [name, facet] of facetsOf(event)) expect([name, facetProblems(name, facet)]).toEqual([name, null]);
  }
  expect(facetsOf(ended).length).toBeGreaterThan(10);
  const accounts = ended.outputs.find(({ name }: { name: string }) => name.endsWith("/main.accounts"));
  expect(accounts).toMatchObject({ namespace: "file", outputFacets: { outputStatistics: { rowCount: 4 } } });
  expect(accounts.name.startsWith(dataDir)).toBe(true);
  expect(accounts.facets.columnLineage.fields.main_score.inputFields).toMatchObject([
    { namespace: env.DUCKMIRROR_BASE_URL, name: "GET /v1/accounts", field: "mainScore" },
  ]);
  expect(accounts.facets.dataQualityAssertions.assertions).toMatchObject([{ assertion: "complete", success: true }]);
  expect(problems({ ...ended, eventTime: "yesterday" })).not.toBeNull();
});

test("openlineage over HTTP: the collector gets both events with its key; one that is away is a warning", async () => {
  const got: { path: string | undefined; key: string | undefined; type: string }[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const part of request) body += part;
    got.push({ path: request.url, key: request.headers.authorization, type: JSON.parse(body).eventType });
    response.writeHead(201).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const close = () => new Promise((resolve) => server.close(resolve));
  afterTest(close);
  const { env } = aMirror();
  const lineage = { ...env, OPENLINEAGE_URL: `http://127.0.0.1:${port}`, OPENLINEAGE_API_KEY: "a-key-of-the-catalog" };
  expect(await cli(["sync", "--report", "openlineage"], { env: lineage })).toMatchObject({ code: 0 });
  const [path, key] = ["/api/v1/lineage", "Bearer a-key-of-the-catalog"];
  expect(got).toEqual([
    { path, key, type: "START" },
    { path, key, type: "COMPLETE" },
  ]);
  await close();
  const { code, err } = await cli(["sync", "--report", "openlineage"], { env: lineage });
  expect(code).toBe(0);
  expect(err).toContain("warning: --report openlineage");
});

const aCheck = (): string => {
  const folder = aFolder();
  writeFileSync(join(folder, "none.sql"), "SELECT id FROM accounts");
  return folder;
};

test("a sync whose check fails: FAIL without outputs, no asset for Dagster, an annotation for GitHub", async () => {
  const { env } = aMirror();
  await cli(["sync"], { env });
  const failing = { ...env, DUCKMIRROR_CHECKS: aCheck() };
  const file = join(aFolder(), "lineage.ndjson");
  expect((await cli(["sync", "--report", `openlineage=${file}`], { env: failing })).code).toBe(5);
  const ended = linesOf(file)[1];
  expect(official().problems(ended)).toBeNull();
  expect(ended).toMatchObject({ eventType: "FAIL", outputs: [], run: { facets: { errorMessage: {} } } });
  const messages = join(aFolder(), "pipes");
  await cli(["sync", "--report", `dagster=${messages}`], { env: failing });
  const methods = linesOf(messages).map(({ method }) => method);
  expect(methods).not.toContain("report_asset_materialization");
  expect(methods).toContain("report_asset_check");
  const summary = join(aFolder(), "summary.md");
  const github = await cli(["sync", "--json", "--report", "github"], {
    env: { ...failing, GITHUB_STEP_SUMMARY: summary },
  });
  expect(github.err).toContain("::error title=duckmirror::CHECK_FAILED");
  expect(JSON.parse(github.out)).toMatchObject({ status: "partial" });
  expect(readFileSync(summary, "utf8")).toContain("The snapshot stays as it was.");
});

test("dagster: messages go where its variable says, with the figures of each table", async () => {
  const { env } = aMirror();
  const path = join(aFolder(), "messages");
  const place = deflateSync(JSON.stringify({ path })).toString("base64");
  const run = await cli(["sync", "--report", "dagster"], { env: { ...env, DAGSTER_PIPES_MESSAGES: place } });
  expect(run.code).toBe(0);
  const messages = linesOf(path);
  expect(messages.at(0)).toMatchObject({ __dagster_pipes_version: "0.1", method: "opened" });
  expect(messages.at(-1)).toMatchObject({ method: "closed" });
  expect(messages.find(({ params }) => params.asset_key === "duckmirror/accounts").params.metadata).toMatchObject({
    inserted: { raw_value: 4 },
    "dagster/row_count": { raw_value: 4 },
    credits: { raw_value: 1 },
  });
});

test("github: the step's summary has a row per table; airflow: the last line of stdout is the result", async () => {
  const { env } = aMirror();
  const summary = join(aFolder(), "summary.md");
  await cli(["sync", "--report", "github"], { env: { ...env, GITHUB_STEP_SUMMARY: summary } });
  expect(readFileSync(summary, "utf8")).toMatch(/^\| accounts \| 4 \| 4 \| 0 \| 0 \| .* \| complete \| 1 \|$/m);
  const { out } = await cli(["sync", "--report", "airflow"], { env });
  expect(JSON.parse(out.trimEnd().split("\n").at(-1) ?? "")).toMatchObject({
    status: "done",
    published: true,
    tables: expect.arrayContaining([expect.objectContaining({ table: "accounts", rows: 4, complete: true })]),
  });
  const file = join(aFolder(), "return.json");
  await cli(["sync", "--report", `airflow=${file}`], { env });
  expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({ status: "done" });
});

test.each([["jenkins"], ["openlineage"], ["dagster"], ["github"], ["airflow="]])(
  "a report that has no place is refused before a request: %s",
  async (report) => {
    const { env, dataDir } = aMirror();
    expect(await cli(["sync", "--report", report], { env })).toMatchObject({ code: 2 });
    expect(existsSync(join(dataDir, "warehouse.duckdb"))).toBe(false);
  },
);

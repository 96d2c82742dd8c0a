// `sync --report KIND[=FILE|URL]`: runs a sync and reports its start, result or failure to the orchestrator that started it (Dagster, Airflow,
// GitHub Actions, OpenLineage). A report that cannot be sent is a warning; one without a place to go is refused before the sync.
import { randomUUID } from "node:crypto";
import { resolve } from "node:path";
import { inflateSync } from "node:zlib";
import { z } from "zod";
import { postOnce } from "../../alerts/sending/post.ts";
import type { Config } from "../../core/config/config.ts";
import { snapshotPath } from "../../core/data-dir.ts";
import { DuckmirrorError, detailOf } from "../../core/errors.ts";
import { appendOwn, replaceFile } from "../../core/files/own-files.ts";
import { jsonOrNull } from "../../core/json.ts";
import type { CheckReport, SyncResult } from "../../core/report/sync-report.ts";
import { Secret } from "../../core/secret.ts";
import { counted, formatCount, formatDuration, unconfirmedText } from "../../core/text/units.ts";
import { isoTime } from "../../core/time.ts";
import type { CommandContext } from "../command.ts";
import { endEvent, failEvent, type LineageRun, startEvent } from "./openlineage.ts";
import { readNews, type SyncNews, type TableNews } from "./sync-news.ts";

// The news of a sync in the forms of Dagster Pipes, Airflow and GitHub. Pure.

// Dagster Pipes: messages, one JSON object a line, to the place that DAGSTER_PIPES_MESSAGES names.
// Source: dagster-pipes, dagster_pipes/__init__.py (PipesMessage, PipesDefaultMessageWriter).

const placeSchema = z.union([z.object({ path: z.string() }), z.object({ stdio: z.enum(["stdout", "stderr"]) })]);
/** Where Dagster reads messages. */
export type PipesPlace = z.output<typeof placeSchema>;

/** The place in the variable's text; null: it names none that duckmirror can write. */
export const pipesPlace = (variable: string): PipesPlace | null => {
  try {
    const found = placeSchema.safeParse(jsonOrNull(inflateSync(Buffer.from(variable, "base64")).toString("utf8")));
    return found.success ? found.data : null;
  } catch {
    return null;
  }
};

const pipes = (method: string, params: object | null) =>
  JSON.stringify({ __dagster_pipes_version: "0.1", method, params });

const metadata = (values: Readonly<Record<string, number | string | boolean | null>>) =>
  Object.fromEntries(Object.entries(values).map(([name, raw_value]) => [name, { raw_value, type: "__infer__" }]));

const pipesTable = ({ table, complete, unconfirmed, reason, ...news }: TableNews, isPublished: boolean) => {
  const asset_key = `duckmirror/${table}`;
  const { stream: _, last_change_at, ...figures } = news;
  const check = { asset_key, check_name: "complete", passed: complete, severity: "WARN" };
  return [
    ...(isPublished
      ? [
          pipes("report_asset_materialization", {
            asset_key,
            data_version: last_change_at ?? "empty",
            metadata: metadata({ ...figures, "dagster/row_count": figures.rows, last_change_at }),
          }),
        ]
      : []),
    pipes("report_asset_check", { ...check, metadata: metadata({ unconfirmed, reason }) }),
  ];
};

/** Lines of the session with Dagster. */
export const dagsterLines = ({ tables, published, error }: SyncNews): readonly string[] => [
  pipes("opened", { extras: {} }),
  ...tables.flatMap((table) => pipesTable(table, published)),
  ...(error === null ? [] : [pipes("log", { message: `${error.code}: ${error.message}`, level: "WARNING" })]),
  pipes("closed", {}),
];

// Airflow: the last line of stdout, or a file, becomes the task's XCom.

export const airflowLine = (news: SyncNews): string => JSON.stringify(news);

// GitHub: a step's summary in Markdown, and annotations.
// Source: https://docs.github.com/actions/reference/workflow-commands-for-github-actions

const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("\n", " ");

const row = (table: TableNews): string => {
  const { inserted, updated, deleted, rows, credits, age_seconds: age, complete, unconfirmed } = table;
  const numbers = [rows, inserted, updated, deleted].map(formatCount);
  const state = complete ? "complete" : unconfirmedText(unconfirmed);
  const ago = age === null ? "never" : formatDuration(age * 1000);
  return `| ${[table.table, ...numbers, ago, cell(state), formatCount(credits)].join(" | ")} |`;
};

const checkText = ({ check, failing }: CheckReport): string =>
  failing === null ? `check ${check} could not run` : `check ${check}: ${counted(failing, "row")}`;

export const githubSummary = (news: SyncNews): string =>
  [
    `### duckmirror: ${news.status}, ${counted(news.credits, "credit")}`,
    "",
    ...(news.published ? [] : ["The snapshot stays as it was.", ""]),
    "| table | rows | inserted | updated | deleted | age | state | credits |",
    "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ...news.tables.map(row),
    ...(news.error === null ? [] : ["", `**${news.error.code}**: ${cell(news.error.message)}`]),
    "",
  ].join("\n");

/** Line breaks and % would end or change a command. */
const annotation = (level: "error" | "warning", text: string): string =>
  `::${level} title=duckmirror::${text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A")}`;

export const githubAnnotations = ({ error, tables, checks }: SyncNews): readonly string[] => [
  ...(error === null ? [] : [annotation("error", `${error.code}: ${error.message}`)]),
  ...checks
    .filter(({ status }) => status !== "passed")
    .map((check) => annotation(check.severity === "error" ? "error" : "warning", checkText(check))),
  ...tables
    .filter(({ complete }) => !complete)
    .map(({ table, unconfirmed, reason }) =>
      annotation("warning", `${table}: ${unconfirmedText(unconfirmed)}${reason === null ? "" : `: ${reason}`}`),
    ),
];

const KINDS = ["dagster", "airflow", "github", "openlineage"] as const;
type Kind = (typeof KINDS)[number];

/** Reports a sync; what a kind does not report is unset. */
interface SyncReporter {
  readonly began?: () => Promise<void>;
  readonly ended: (result: SyncResult) => Promise<void>;
  /** The sync threw before it had a report. */
  readonly failed?: (error: unknown) => Promise<void>;
}

interface Wanted {
  readonly kind: Kind;
  /** File or address; null: the kind's own place. */
  readonly target: string | null;
}

const wantedOf = (text: string): Wanted => {
  const [name = "", ...rest] = text.split("=");
  const kind = KINDS.find((known) => known === name);
  const target = rest.join("=");
  if (kind !== undefined && (rest.length === 0 || target !== ""))
    return { kind, target: rest.length === 0 ? null : target };
  throw new DuckmirrorError("USAGE", {
    detail: `--report: "${text}" is none of ${KINDS.join(", ")}, each also with =FILE`,
  });
};

type Means = Pick<CommandContext, "env" | "terminal" | "clock" | "signal" | "version" | "cwd" | "scrubber">;

const newsOf = (result: SyncResult, { clock, scrubber }: Means): Promise<SyncNews> =>
  readNews(result, { now: clock.now(), scrub: (text) => scrubber.scrub(text) });

/** Appends lines to a file that the user, or the program above, named. */
const appendTo = (file: string, lines: readonly string[]) => appendOwn(file, lines.map((line) => `${line}\n`).join(""));

const dagsterWriter = ({ target }: Wanted, { env, terminal, cwd }: Means) => {
  const place = target === null ? pipesPlace(env.DAGSTER_PIPES_MESSAGES ?? "") : { path: resolve(cwd, target) };
  if (place === null)
    throw new DuckmirrorError("USAGE", {
      detail: "--report dagster: no messages file is named; start it with PipesSubprocessClient, or name one",
    });
  return async (lines: readonly string[]): Promise<void> => {
    if ("path" in place) return appendTo(place.path, lines);
    const text = lines.map((line) => `${line}\n`).join("");
    if (place.stdio === "stderr") terminal.err(text);
    else await terminal.out(text);
  };
};

const githubWriter = ({ target }: Wanted, { env, terminal, cwd }: Means) => {
  const file = target === null ? env.GITHUB_STEP_SUMMARY : resolve(cwd, target);
  if (file === undefined || file === "")
    throw new DuckmirrorError("USAGE", { detail: "--report github: GITHUB_STEP_SUMMARY is not set; name a file" });
  return (news: SyncNews): void => {
    appendTo(file, [githubSummary(news)]);
    const annotations = githubAnnotations(news);
    // The runner reads commands from stderr as well; stdout carries the result of --json.
    if (annotations.length > 0) terminal.err(`${annotations.join("\n")}\n`);
  };
};

/** Where OpenLineage's own clients send events. */
const lineageUrl = (env: Means["env"]): string | null =>
  env.OPENLINEAGE_URL
    ? new URL(env.OPENLINEAGE_ENDPOINT ?? "api/v1/lineage", `${env.OPENLINEAGE_URL.replace(/\/$/, "")}/`).href
    : null;

const lineageWriter = ({ target }: Wanted, { env, signal, cwd, scrubber }: Means) => {
  const place = target ?? lineageUrl(env);
  if (place === null)
    throw new DuckmirrorError("USAGE", {
      detail: "--report openlineage: OPENLINEAGE_URL is not set; name a file or an address",
    });
  if (!/^https?:\/\//.test(place))
    return async (event: object) => appendTo(resolve(cwd, place), [JSON.stringify(event)]);
  const key = env.OPENLINEAGE_API_KEY;
  if (key) scrubber.hide(new Secret(key));
  const headers = { "content-type": "application/json", ...(key ? { authorization: `Bearer ${key}` } : {}) };
  return async (event: object): Promise<void> => {
    // An interrupted sync ends with an event, too.
    const post = {
      url: place,
      headers,
      body: JSON.stringify(event),
      allowPrivate: true,
      signal: signal.aborted ? new AbortController().signal : signal,
    };
    const attempt = await postOnce(post);
    if (attempt.kind === "away") throw new Error(attempt.detail);
    if (attempt.status >= 300) throw new Error(`it answered ${attempt.status}`);
  };
};

const lineageReporter = (wanted: Wanted, config: Config, means: Means): SyncReporter => {
  const { clock, version, scrubber } = means;
  const send = lineageWriter(wanted, means);
  const run: LineageRun = {
    id: randomUUID(),
    profile: config.profile,
    service: config.baseUrl ?? "duckmirror",
    warehouse: snapshotPath(config.dataDir),
    version,
  };
  return {
    began: () => send(startEvent(run, isoTime(clock.now()))),
    ended: async (result) => send(endEvent(run, await newsOf(result, means))),
    failed: (error) => send(failEvent(run, scrubber.scrub(detailOf(error)), isoTime(clock.now()))),
  };
};

const airflowWriter =
  ({ target }: Wanted, { terminal, cwd }: Means) =>
  (line: string): Promise<void> =>
    target === null ? terminal.out(`${line}\n`) : replaceFile(resolve(cwd, target), `${line}\n`);

const reporterOf = (wanted: Wanted, config: Config, means: Means): SyncReporter => {
  switch (wanted.kind) {
    case "dagster": {
      const write = dagsterWriter(wanted, means);
      return { ended: async (result) => write(dagsterLines(await newsOf(result, means))) };
    }
    case "airflow": {
      const write = airflowWriter(wanted, means);
      return { ended: async (result) => write(airflowLine(await newsOf(result, means))) };
    }
    case "github": {
      const write = githubWriter(wanted, means);
      return { ended: async (result) => write(await newsOf(result, means)) };
    }
    case "openlineage":
      return lineageReporter(wanted, config, means);
    default:
      return wanted.kind satisfies never;
  }
};

/**
 * Runs a sync between its reports. `text`: of the option; unset: nobody hears. Throws USAGE for a kind, or a place, that is not known, and
 * the errors of `work`.
 */
export const reporting = async (
  text: string | undefined,
  config: Config,
  means: Means,
  work: () => Promise<SyncResult>,
): Promise<{ readonly result: SyncResult; readonly report: () => Promise<void> }> => {
  if (text === undefined) return { result: await work(), report: async () => {} };
  const wanted = wantedOf(text);
  const reporter = reporterOf(wanted, config, means);
  const careful = (sending?: Promise<void>): Promise<void> | undefined =>
    sending?.catch((error: unknown) => means.terminal.err(`warning: --report ${wanted.kind}: ${detailOf(error)}\n`));
  await careful(reporter.began?.());
  try {
    const result = await work();
    return { result, report: async () => careful(reporter.ended(result)) };
  } catch (error) {
    await careful(reporter.failed?.(error));
    throw error;
  }
};

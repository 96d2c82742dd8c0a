// The news of a sync in the forms of Dagster Pipes, Airflow and GitHub. Pure.
import { inflateSync } from "node:zlib";
import { z } from "zod";
import { jsonOrNull } from "../../core/json.ts";
import type { CheckReport } from "../../core/report/sync-report.ts";
import { counted, formatCount, formatDuration, unconfirmedText } from "../../core/text/units.ts";
import type { SyncNews, TableNews } from "./sync-news.ts";

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

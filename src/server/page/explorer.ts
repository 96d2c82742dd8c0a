// The explorer: SQL on the snapshot, its result as table or plot, saved queries, feedback on a record.

import { byId, make, ofKind } from "./dom.ts";
import { openFeedback } from "./feedback.ts";
import { cellText, count, counted } from "./format.ts";
import { type Line, showPlot } from "./views/charts.ts";
import { ask, chosenProfile, type QueryResult, Refused, type SavedQuery, send } from "./wire.ts";

/** Rows inserted into the page; further rows are only counted, because more would be slow on a phone. */
const ROWS_SHOWN = 300;
const POINTS_SHOWN = 2000;
const BARS_SHOWN = 30;

let result: QueryResult | null = null;
let running: AbortController | null = null;
let offersFeedback = false;
/** Origin of the result: the saved query's name or the SQL. */
let asked = "";

const NUMERIC = /^(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT|U\w+INT\w*|FLOAT|DOUBLE|DECIMAL)/;
const TIMED = /^(DATE|TIMESTAMP)/;

const cellOf = (value: unknown, numeric: boolean): HTMLElement =>
  value === null
    ? make("td", { class: "none" }, "NULL")
    : make("td", { class: numeric ? "number" : "cell" }, cellText(value).slice(0, 2000));

const feedbackButton = (columns: QueryResult["columns"], row: readonly unknown[], at: number): HTMLElement => {
  const button = make("button", { type: "button", class: "quiet", "aria-label": `Feedback on row ${at + 1}` }, "✎");
  button.addEventListener("click", () => {
    const record = Object.fromEntries(columns.map(({ name }, index) => [name, row[index]]));
    openFeedback({ query: asked, record });
  });
  return button;
};

const showTable = ({ columns, rows }: QueryResult): void => {
  const numeric = columns.map(({ type }) => NUMERIC.test(type));
  const heads = columns.map(({ name, type }, index) =>
    make("th", { scope: "col", class: numeric[index] === true ? "number" : null, title: type }, name),
  );
  const lines = rows.slice(0, ROWS_SHOWN).map((row, at) => {
    const cells = row.map((value, index) => cellOf(value, numeric[index] === true));
    return make("tr", {}, ...cells, ...(offersFeedback ? [make("td", {}, feedbackButton(columns, row, at))] : []));
  });
  const more = offersFeedback ? [make("th", { scope: "col" }, make("span", { class: "unseen" }, "feedback"))] : [];
  byId("result-table").replaceChildren(
    make(
      "table",
      {},
      make("caption", { class: "unseen" }, "Result of the query"),
      make("thead", {}, make("tr", {}, ...heads, ...more)),
      make("tbody", {}, ...lines),
    ),
  );
};

/** Plots numeric columns over the first time column, else over the first column that is not a number. */
const showChart = ({ columns, rows }: QueryResult): void => {
  const place = byId("result-plot");
  const timed = columns.findIndex(({ type }) => TIMED.test(type));
  const named = columns.findIndex(({ type }) => !NUMERIC.test(type));
  const axis = timed >= 0 ? timed : named;
  const measures = columns.flatMap(({ name, type }, index) =>
    NUMERIC.test(type) && index !== axis ? [{ name, index }] : [],
  );
  const points = [...rows]
    .filter((row) => axis < 0 || row[axis] !== null)
    .sort((a, b) => (timed < 0 ? 0 : Date.parse(String(a[axis])) - Date.parse(String(b[axis]))))
    .slice(0, timed >= 0 ? POINTS_SHOWN : BARS_SHOWN);
  const lines = measures.slice(0, 8).map(
    ({ name, index }): Line => ({
      label: name,
      bars: timed < 0 && measures.length === 1,
      values: points.map((row) => (row[index] === null ? null : Number(row[index]))),
    }),
  );
  const label = `Result of the query: ${measures.map(({ name }) => name).join(", ")}`;
  if (lines.length === 0) showPlot(place, { label, x: [], lines: [] });
  else if (timed >= 0) showPlot(place, { label, x: points.map((row) => Date.parse(String(row[axis])) / 1000), lines });
  else {
    const names = points.map((row, at) => (axis < 0 ? String(at + 1) : cellText(row[axis])));
    showPlot(place, { label, x: points.map((_, at) => at), lines, names });
  }
};

const showAs = (view: "table" | "chart"): void => {
  byId("as-table").setAttribute("aria-pressed", String(view === "table"));
  byId("as-chart").setAttribute("aria-pressed", String(view === "chart"));
  byId("result-table").hidden = view !== "table";
  byId("result-plot").hidden = view !== "chart";
  if (result === null) return;
  if (view === "table") showTable(result);
  else showChart(result);
};

const view = (): "table" | "chart" => (byId("as-chart").getAttribute("aria-pressed") === "true" ? "chart" : "table");

const stateText = ({ rows, truncated, ms }: QueryResult): string => {
  const cut = truncated ? " (there are more: add a limit or filter)" : "";
  const hidden = rows.length > ROWS_SHOWN ? `, the first ${ROWS_SHOWN} shown` : "";
  return `${counted(rows.length, "row")}${cut}${hidden}, ${count(ms)} ms`;
};

const run = async (): Promise<void> => {
  if (running !== null) return;
  const stop = new AbortController();
  running = stop;
  const problem = byId("query-problem");
  const state = byId("query-state");
  problem.hidden = true;
  state.textContent = "running …";
  ofKind("stop-query", HTMLButtonElement).disabled = false;
  const sql = ofKind("sql", HTMLTextAreaElement).value;
  asked = ofKind("saved", HTMLSelectElement).value || sql.slice(0, 500);
  try {
    result = await send<QueryResult>("POST", "/api/query", { sql, profile: chosenProfile() }, stop.signal);
    state.textContent = stateText(result);
    showAs(view());
  } catch (error) {
    state.textContent = stop.signal.aborted ? "stopped" : "";
    if (!stop.signal.aborted) {
      problem.hidden = false;
      problem.textContent = error instanceof Refused ? `${error.message}\n${error.hint}` : String(error);
    }
  } finally {
    running = null;
    ofKind("stop-query", HTMLButtonElement).disabled = true;
  }
};

export const startExplorer = async (): Promise<void> => {
  const { queries } = await ask<{ queries: readonly SavedQuery[] }>("/api/queries");
  const saved = ofKind("saved", HTMLSelectElement);
  saved.append(...queries.map(({ name, question }) => make("option", { value: name }, question)));
  saved.addEventListener("change", () => {
    const chosen = queries.find(({ name }) => name === saved.value);
    if (chosen === undefined) return;
    ofKind("sql", HTMLTextAreaElement).value = chosen.sql;
    void run();
  });
  ofKind("query-form", HTMLFormElement).addEventListener("submit", (event) => {
    event.preventDefault();
    void run();
  });
  byId("sql").addEventListener("input", () => {
    saved.value = "";
  });
  byId("sql").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void run();
  });
  byId("stop-query").addEventListener("click", () => running?.abort());
  byId("as-table").addEventListener("click", () => showAs("table"));
  byId("as-chart").addEventListener("click", () => showAs("chart"));
};

/** Sets whether feedback can be sent on rows of a result. */
export const offerFeedback = (offered: boolean): void => {
  offersFeedback = offered;
};

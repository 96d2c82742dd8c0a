// Runs: a bar for each in the timeline, a table, and details with streams, requests and errors.
import { badge, byId, fillTable, make, ofKind } from "../dom.ts";
import { ago, bytes, count, counted, moodOf, span, when } from "../format.ts";
import { ask, type Overview, type Run, type RunDetail, type RunRequests, type Runs } from "../wire.ts";

const BARS = 80;
const LINES = 12;
const BAR_HEIGHT = 70;

let runs: readonly Run[] = [];
let linesShown = LINES;
let total = 0;
let now = 0;
/** Number of the latest request, so that a late response does not replace a newer one. */
let asked = 0;

const took = (run: { readonly started_at: number; readonly finished_at: number | null }): string =>
  run.finished_at === null ? "–" : span(run.finished_at - run.started_at);

const fact = (name: string, value: string | Node): HTMLElement =>
  make("div", {}, make("dt", {}, name), make("dd", {}, value));

const showRequests = async (place: HTMLElement, runId: string, stream: string | null): Promise<void> => {
  asked += 1;
  const turn = asked;
  const filter = stream === null ? "" : `&stream=${encodeURIComponent(stream)}`;
  const { requests, more } = await ask<RunRequests>(
    `/api/runs/${encodeURIComponent(runId)}/requests?offset=0${filter}`,
  );
  if (turn !== asked) return;
  const table = make("table");
  fillTable(
    table,
    requests.length === 0 ? "No requests." : "Requests of the run",
    [
      { head: "endpoint", kind: "cell", cell: (call) => call.endpoint },
      { head: "scope", kind: "cell", wideOnly: true, cell: (call) => call.scope },
      {
        head: "status",
        cell: (call) => badge(String(call.status ?? "no answer"), call.status === 200 ? "good" : "bad"),
      },
      { head: "charge", wideOnly: true, cell: (call) => call.charge },
      { head: "rows", kind: "number", cell: (call) => count(call.rows) },
      { head: "time", kind: "number", cell: (call) => span(call.duration_ms) },
      { head: "error", kind: "cell", cell: (call) => call.error ?? "" },
    ],
    requests,
  );
  const title = `Requests${stream === null ? "" : ` of ${stream}`}, those without a good answer first`;
  place.replaceChildren(
    make("h3", {}, title),
    make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": title }, table),
    more ? make("p", { class: "hint" }, "The first 100. The explorer shows all: select * from sync.requests") : "",
  );
};

const showDetail = (run: RunDetail): void => {
  const requestsPlace = make("div");
  const streams = make("table");
  fillTable(
    streams,
    run.streams.length === 0 ? "The run sent no request." : "Streams of the run",
    [
      {
        head: "stream",
        cell: (row) => {
          const button = make("button", { type: "button", class: "link" }, row.stream);
          button.addEventListener("click", () => void showRequests(requestsPlace, run.run_id, row.stream));
          return button;
        },
      },
      { head: "requests", kind: "number", cell: (row) => count(row.requests) },
      { head: "credits", kind: "number", cell: (row) => count(row.credits) },
      { head: "failed", kind: "number", cell: (row) => count(row.failed_requests) },
      { head: "rows", kind: "number", cell: (row) => count(row.rows) },
      { head: "bytes", kind: "number", wideOnly: true, cell: (row) => bytes(row.bytes) },
    ],
    run.streams,
  );
  const known = runs.find((one) => one.run_id === run.run_id);
  byId("run-body").replaceChildren(
    make(
      "dl",
      { class: "facts" },
      fact("Status", badge(run.status, moodOf(run.status))),
      fact("Mode", run.mode),
      fact("Started", when(run.started_at)),
      fact("Took", took(run)),
      fact("Requests", count(known?.requests ?? null)),
      fact("Foreseen", count(known?.forecast_requests ?? null)),
      fact("Credits", count(known?.credits ?? null)),
    ),
    ...(run.error === null ? [] : [make("div", { class: "problem" }, run.error)]),
    make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Streams of the run" }, streams),
    requestsPlace,
  );
  byId("run-title").textContent = `Run ${run.run_id}`;
  ofKind("run-dialog", HTMLDialogElement).showModal();
  void showRequests(requestsPlace, run.run_id, null);
};

const openRun = async (runId: string): Promise<void> =>
  showDetail(await ask<RunDetail>(`/api/runs/${encodeURIComponent(runId)}`));

const runButton = (run: Run, text: string, attributes: Readonly<Record<string, string>>): HTMLElement => {
  const button = make("button", { type: "button", ...attributes }, text);
  button.addEventListener("click", () => void openRun(run.run_id));
  return button;
};

const showTimeline = (): void => {
  const shown = runs.slice(0, BARS).reverse();
  const most = Math.max(1, ...shown.map((run) => run.requests));
  byId("timeline").replaceChildren(
    ...shown.map((run) => {
      const label = `${when(run.started_at)}: ${run.status}, ${counted(run.requests, "request")}, ${counted(run.credits, "credit")}`;
      const bar = runButton(run, "", { class: moodOf(run.status), "aria-label": label, title: label });
      // A run of a single request is still large enough to click.
      bar.style.height = `${Math.max(8, Math.round((BAR_HEIGHT * Math.sqrt(run.requests)) / Math.sqrt(most)))}px`;
      return bar;
    }),
  );
};

const showTable = (): void => {
  fillTable(
    ofKind("runs", HTMLTableElement),
    runs.length === 0 ? "No run yet." : "Runs, newest first",
    [
      { head: "started", cell: (run) => runButton(run, ago(run.started_at, now), { class: "link" }) },
      { head: "status", cell: (run) => badge(run.status, moodOf(run.status)) },
      { head: "mode", wideOnly: true, cell: (run) => run.mode },
      { head: "took", kind: "number", wideOnly: true, cell: took },
      { head: "requests", kind: "number", cell: (run) => count(run.requests) },
      { head: "foreseen", kind: "number", wideOnly: true, cell: (run) => count(run.forecast_requests) },
      { head: "credits", kind: "number", cell: (run) => count(run.credits) },
      { head: "error", kind: "cell", cell: (run) => run.error ?? "" },
    ],
    runs.slice(0, linesShown),
  );
  byId("more-runs").hidden = linesShown >= total;
};

export const showRuns = (overview: Overview): void => {
  runs = overview.runs;
  total = overview.run_count;
  now = overview.now;
  linesShown = LINES;
  byId("runs-lead").textContent =
    `${counted(total, "run")}. Height is requests; choose one to see its streams and requests.`;
  showTimeline();
  showTable();
};

export const startRuns = (): void => {
  byId("more-runs").addEventListener("click", async () => {
    linesShown += LINES;
    const last = runs.at(-1);
    if (linesShown > runs.length && runs.length < total && last !== undefined) {
      const older = await ask<Runs>(`/api/runs?before=${last.started_at}`);
      runs = [...runs, ...older.runs];
    }
    showTable();
  });
};

// The four figures at the top and the table of freshness: freshness, credits left, result of the last run.
import { badge, byId, fillTable, make, ofKind } from "../dom.ts";
import { ago, bytes, count, counted, moodOf, span } from "../format.ts";
import type { Overview } from "../wire.ts";

const tile = (title: string, figure: string, ...notes: readonly (Node | string)[]): HTMLElement =>
  make(
    "article",
    { class: "tile" },
    make("h2", {}, title),
    make("p", { class: "figure" }, figure),
    ...notes.map((note) => make("div", { class: "note" }, note)),
  );

/** A share as a bar. An SVG attribute, because the page's policy forbids inline styles. */
const shareBar = (share: number): HTMLElement => {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("viewBox", "0 0 100 6");
  const rect = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  rect.setAttribute("width", String(Math.round(100 * Math.min(1, Math.max(0, share)))));
  rect.setAttribute("height", "6");
  rect.setAttribute("fill", "currentColor");
  svg.append(rect);
  const bar = make("div", { class: "bar", "aria-hidden": "true" });
  bar.append(svg);
  return bar;
};

/** The verdict in words, above everything else. Commands in it are set as code. */
export const showVerdict = ({ verdict: { level, text, step } }: Overview): void => {
  const place = byId("verdict");
  const words = (step ?? "").split("`").map((part, index) => (index % 2 === 1 ? make("code", {}, part) : part));
  place.replaceChildren(make("p", { class: "said" }, text), ...(step === null ? [] : [make("p", {}, ...words)]));
  place.dataset.level = level;
  place.hidden = false;
};

type Table = Overview["tables"][number];

/** The table with the oldest check of any part. */
const stalest = (tables: readonly Table[]): Table | undefined =>
  tables
    .filter((table) => table.oldest_checked_at !== null)
    .sort((a, b) => (a.oldest_checked_at ?? 0) - (b.oldest_checked_at ?? 0))[0];

export const showTiles = (overview: Overview): void => {
  const { tables, credits, runs, snapshot, now } = overview;
  const worst = stalest(tables);
  const failed = tables.filter((table) => table.failed_scopes > 0).length;
  const reading = credits.burn.find((day) => day.captured_at !== null);
  const last = runs[0];
  const rows = tables.reduce((sum, table) => sum + table.row_count, 0);
  byId("tiles").replaceChildren(
    tile(
      "Worst-case staleness",
      worst === undefined ? "–" : span(now - (worst.oldest_checked_at ?? now)),
      worst === undefined ? "nothing was checked yet" : `${worst.table_name}`,
      failed === 0 ? "" : badge(`${counted(failed, "table")} with failures`, "bad"),
    ),
    tile(
      "Credits left",
      count(reading?.remaining ?? null),
      ...(reading?.credit_limit ? [shareBar((reading.remaining ?? 0) / reading.credit_limit)] : []),
      reading === undefined
        ? "the service has not said yet"
        : `of ${count(reading.credit_limit)}, reset in ${span((reading.resets_at ?? now) - now)}`,
    ),
    tile(
      "Rows",
      count(rows),
      `${bytes(snapshot.bytes)}, published ${ago(snapshot.published_at, now)}`,
      overview.findings.rejects === 0
        ? badge("no rejects", "good")
        : badge(counted(overview.findings.rejects, "reject"), "warn"),
    ),
    tile(
      "Last run",
      last === undefined ? "none" : ago(last.finished_at ?? last.started_at, now),
      last === undefined ? "" : `${counted(last.requests, "request")}, ${counted(last.credits, "credit")}`,
      last === undefined ? "" : badge(last.status, moodOf(last.status)),
    ),
  );
};

const freshMood = (table: Table, now: number): HTMLElement => {
  if (table.failed_scopes > 0) return badge(`${counted(table.failed_scopes, "list")} failed`, "bad");
  if (table.oldest_checked_at === null) return badge(table.row_count === 0 ? "empty" : "never checked", "plain");
  if (table.unchecked_scopes > 0) return badge(`${count(table.unchecked_scopes)} to come`, "warn");
  return table.due_at !== null && now > table.due_at ? badge("old", "warn") : badge("fresh", "good");
};

/** Whether the table is proven to equal the service's list; the reason appears on hover. */
const completeMood = (table: Table): HTMLElement => {
  if (table.complete) return badge("complete", "good");
  const rows = table.unconfirmed === null || table.unconfirmed === 0 ? "" : `, ${counted(table.unconfirmed, "row")}`;
  const mark = badge(`unconfirmed${rows}`, "warn");
  mark.title = table.unconfirmed_because ?? "";
  return mark;
};

const age = (at: number | null, now: number): string => (at === null ? "–" : span(now - at));

export const showFreshness = ({ tables, now }: Overview): void => {
  byId("fresh-lead").textContent = "Time since the stalest part of each table was last compared with the service.";
  fillTable(
    ofKind("fresh", HTMLTableElement),
    "Freshness per table",
    [
      { head: "table", cell: (table) => table.table_name },
      { head: "rows", kind: "number", cell: (table) => count(table.row_count) },
      { head: "stalest", kind: "number", cell: (table) => age(table.oldest_checked_at, now) },
      { head: "walked", kind: "number", wideOnly: true, cell: (table) => age(table.oldest_walked_at, now) },
      { head: "state", cell: (table) => freshMood(table, now) },
      { head: "complete", cell: completeMood },
    ],
    tables,
  );
};

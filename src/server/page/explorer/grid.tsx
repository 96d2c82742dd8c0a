// Shows a result of the explorer as a grid, with only the visible rows in the page: sorted by a click on a head, filtered by words; a row
// unfolds below. Arrow keys choose a row, Enter unfolds it.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { cellText, count, counted } from "../format.ts";
import type { QueryResult } from "../wire.ts";
import { JsonView } from "./json-view.tsx";

const ROW_HEIGHT = 29;
const MOST_HEIGHT = 520;
/** Rows drawn above and below those in sight. */
const AROUND = 12;

export const NUMERIC = /^(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT|U\w+INT\w*|FLOAT|DOUBLE|DECIMAL)/;

type Row = readonly unknown[];

const compare = (a: unknown, b: unknown, numeric: boolean): number => {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  return numeric ? Number(a) - Number(b) : cellText(a).localeCompare(cellText(b), "en", { numeric: true });
};

/** Rows that hold the words, in order; `by` is a column, negative (`~column`) for descending. */
export const arranged = ({ columns, rows }: QueryResult, words: string, by: number | null): readonly Row[] => {
  const wanted = words.trim().toLowerCase();
  const held =
    wanted === "" ? rows : rows.filter((row) => row.some((value) => cellText(value).toLowerCase().includes(wanted)));
  if (by === null) return held;
  const at = by < 0 ? ~by : by;
  const numeric = NUMERIC.test(columns[at]?.type ?? "");
  const sign = by < 0 ? -1 : 1;
  // Missing values come last in both orders.
  return [...held].sort((a, b) => {
    const isGap = a[at] === null || b[at] === null;
    return compare(a[at], b[at], numeric) * (isGap ? 1 : sign);
  });
};

/** Width of each column, from its head and its first rows, in characters. */
const widthsOf = ({ columns, rows }: QueryResult): string =>
  columns
    .map(({ name, type }, at) => {
      const longest = rows
        .slice(0, 100)
        .reduce((most, row) => Math.max(most, cellText(row[at]).length), name.length + Math.min(12, type.length) + 3);
      return `${Math.min(42, Math.max(7, longest + 2))}ch`;
    })
    .join(" ");

const Cell = ({ value, numeric }: { value: unknown; numeric: boolean }) => (
  <div role="cell" class={`${numeric ? "number" : ""} ${value === null ? "none" : ""}`}>
    {value === null ? "NULL" : cellText(value).slice(0, 300).replaceAll("\n", " ")}
  </div>
);

const Unfolded = ({ result, row, onClose }: { result: QueryResult; row: Row; onClose: () => void }) => (
  <section class="unfolded" aria-label="The chosen row">
    <button type="button" class="quiet" onClick={onClose}>
      Close
    </button>
    <dl>
      {result.columns.map(({ name, type }, at) => (
        <div key={name}>
          <dt>
            {name} <span class="hint">{type}</span>
          </dt>
          <dd>
            <JsonView value={row[at]} />
          </dd>
        </div>
      ))}
    </dl>
  </section>
);

const Heads = (props: { result: QueryResult; by: number | null; onSort: (by: number | null) => void }) => (
  <div role="row" class="grid-row grid-heads" tabIndex={-1}>
    {props.result.columns.map(({ name, type }, at) => {
      const order = props.by === at ? "ascending" : props.by === ~at ? "descending" : "none";
      return (
        <div role="columnheader" aria-sort={order} class={NUMERIC.test(type) ? "number" : ""} key={`${at} ${name}`}>
          <button
            type="button"
            class="head"
            title={`${name}: ${type}. Sort by it.`}
            onClick={() => props.onSort(order === "none" ? at : order === "ascending" ? ~at : null)}
          >
            {name}
            {order === "none" ? "" : order === "ascending" ? " ▲" : " ▼"}{" "}
            <small>{type.toLowerCase().slice(0, 12)}</small>
          </button>
        </div>
      );
    })}
  </div>
);

/** How far each key moves the choice. */
const stepOf = (key: string, rows: number): number | undefined =>
  ({ ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15, Home: -rows, End: rows })[key];

/** Scrolls so that the row, and the one after it, can be seen below the heads. */
const bringIntoSight = (place: HTMLElement, row: number): void => {
  const at = row * ROW_HEIGHT;
  const end = at + 3 * ROW_HEIGHT - place.clientHeight;
  if (at < place.scrollTop) place.scrollTop = at;
  else if (end > place.scrollTop) place.scrollTop = end;
};

interface RowsInSight {
  readonly result: QueryResult;
  readonly rows: readonly Row[];
  readonly by: number | null;
  readonly onSort: (by: number | null) => void;
  readonly onOpen: (row: Row | null) => void;
}

const Body = ({ result, rows, by, onSort, onOpen }: RowsInSight) => {
  const [top, setTop] = useState(0);
  const [chosen, setChosen] = useState(0);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    setChosen(0);
    box.current?.scrollTo(0, 0);
  }, [result]);
  const widths = useMemo(() => widthsOf(result), [result]);
  const numeric = result.columns.map(({ type }) => NUMERIC.test(type));
  const first = Math.max(0, Math.floor(top / ROW_HEIGHT) - AROUND);
  const height = Math.min(MOST_HEIGHT, (rows.length + 1) * ROW_HEIGHT + 18);
  const last = Math.min(rows.length, first + Math.ceil(height / ROW_HEIGHT) + 2 * AROUND);
  const onKeyDown = (event: KeyboardEvent) => {
    const place = box.current;
    if (place === null || event.target !== place) return;
    if (event.key === "Enter" || event.key === "Escape") onOpen(event.key === "Enter" ? (rows[chosen] ?? null) : null);
    const step = stepOf(event.key, rows.length);
    if (step === undefined) return;
    event.preventDefault();
    const next = Math.max(0, Math.min(rows.length - 1, chosen + step));
    setChosen(next);
    bringIntoSight(place, next);
  };
  return (
    <div
      class="grid"
      id="result-table"
      ref={box}
      role="table"
      tabIndex={0}
      aria-label="Result; arrow keys choose a row, Enter unfolds it"
      aria-rowcount={rows.length + 1}
      style={{ height: `${height}px` }}
      onScroll={(event) => setTop(event.currentTarget.scrollTop)}
      onKeyDown={onKeyDown}
    >
      <div
        class="grid-all"
        role="rowgroup"
        style={{ height: `${(rows.length + 1) * ROW_HEIGHT}px`, "--columns": widths }}
      >
        <Heads result={result} by={by} onSort={onSort} />
        {rows.slice(first, last).map((row, index) => (
          <div
            role="row"
            class={`grid-row ${first + index === chosen ? "chosen" : ""}`}
            aria-rowindex={first + index + 2}
            key={first + index}
            style={{ top: `${(first + index + 1) * ROW_HEIGHT}px` }}
            onClick={() => {
              setChosen(first + index);
              onOpen(row);
            }}
          >
            {row.map((value, at) => (
              <Cell value={value} numeric={numeric[at] === true} />
            ))}
          </div>
        ))}
      </div>
    </div>
  );
};

export const Grid = ({ result }: { result: QueryResult }) => {
  const [words, setWords] = useState("");
  const [by, setBy] = useState<number | null>(null);
  const [open, setOpen] = useState<Row | null>(null);
  useEffect(() => {
    setBy(null);
    setOpen(null);
  }, [result]);
  const rows = useMemo(() => arranged(result, words, by), [result, words, by]);
  const found = counted(result.rows.length, "row");
  return (
    <>
      <div class="buttons">
        <input
          type="search"
          aria-label="Show rows that hold"
          placeholder="Filter these rows"
          value={words}
          onInput={(event) => setWords(event.currentTarget.value)}
        />
        <span class="hint" role="status">
          {words === "" ? found : `${count(rows.length)} of ${found}`}
        </span>
      </div>
      <Body result={result} rows={rows} by={by} onSort={setBy} onOpen={setOpen} />
      {open === null ? null : <Unfolded result={result} row={open} onClose={() => setOpen(null)} />}
    </>
  );
};

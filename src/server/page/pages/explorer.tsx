// Page of the SQL explorer: editor, saved and past queries, and one result or one error at a time; a new run ends the one before it.
import { useEffect, useRef, useState } from "preact/hooks";
import type { SavedQuery } from "../../../warehouse/read/saved-queries.ts";
import { Downloads } from "../explorer/download.tsx";
import type { Editor } from "../explorer/editor.ts";
import { Feedback } from "../explorer/feedback.tsx";
import { Grid, NUMERIC } from "../explorer/grid.tsx";
import { parametersOf, withParameters } from "../explorer/parameters.ts";
import { cellText, count, counted } from "../format.ts";
import { type Line, Plot, type PlotShape } from "../parts/plot.tsx";
import { useAsk, useShared } from "../state.ts";
import { profileMember, type QueryResult, type Refused, refusalOf, type Schema, send } from "../wire.ts";

const SCHEMAS: readonly (readonly [schema: string, title: string])[] = [
  ["main", "Tables of the mirror"],
  ["marts", "Views for analysts"],
  ["history", "Earlier versions"],
  ["sync", "Runs and requests"],
];

interface TableProps {
  readonly table: Schema["tables"][number];
  readonly onName: (name: string) => void;
}

/** A table; its columns are drawn once it is unfolded, because hundreds of them take longer than all else on the page. */
const TableNode = ({ table: { schema, name, grain, columns }, onName }: TableProps) => {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary title={grain}>{name}</summary>
      {isOpen ? (
        <ul>
          <li>
            <button type="button" class="link" onClick={() => onName(schema === "main" ? name : `${schema}.${name}`)}>
              insert the name
            </button>
          </li>
          {columns.map((column) => (
            <li key={column.name}>
              <button type="button" class="link" title={column.meaning} onClick={() => onName(column.name)}>
                {column.name}
              </button>{" "}
              <span class="hint">{column.type}</span>
            </li>
          ))}
        </ul>
      ) : null}
    </details>
  );
};

export const SchemaTree = ({ schema, onName }: { schema: Schema; onName: (name: string) => void }) => (
  <nav class="tree" aria-label="Tables and columns">
    {SCHEMAS.map(([of, title]) => (
      <details key={of} open={of === "main"}>
        <summary>{title}</summary>
        {schema.tables
          .filter((table) => table.schema === of)
          .map((table) => (
            <TableNode key={table.name} table={table} onName={onName} />
          ))}
      </details>
    ))}
  </nav>
);

// Past statements and saved queries of the explorer, which this browser keeps.

export interface Kept {
  readonly name: string;
  readonly sql: string;
}

const HISTORY = "duckmirror-history";
const SAVED = "duckmirror-saved";
const MOST_HISTORY = 50;

const read = (key: string): readonly Kept[] => {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(key) ?? "[]");
    return Array.isArray(found)
      ? found.filter((one) => typeof one?.name === "string" && typeof one?.sql === "string")
      : [];
  } catch {
    return [];
  }
};

export const pastStatements = (): readonly Kept[] => read(HISTORY);
export const keptQueries = (): readonly Kept[] => read(SAVED);

/** Puts a statement first in the history, once. */
export const remember = (sql: string): void => {
  const kept = pastStatements().filter((one) => one.sql !== sql);
  const next = [{ name: sql.replaceAll(/\s+/g, " ").slice(0, 80), sql }, ...kept];
  localStorage.setItem(HISTORY, JSON.stringify(next.slice(0, MOST_HISTORY)));
};

export const keepQuery = (name: string, sql: string): void =>
  localStorage.setItem(SAVED, JSON.stringify([...keptQueries().filter((one) => one.name !== name), { name, sql }]));

export const dropQuery = (name: string): void =>
  localStorage.setItem(SAVED, JSON.stringify(keptQueries().filter((one) => one.name !== name)));

// A result as a plot that labels itself: numbers over the first time column, else over the first column that is no number.

const POINTS_SHOWN = 2000;
const BARS_SHOWN = 30;
const TIMED = /^(DATE|TIMESTAMP)/;

const shapeOf = ({ columns, rows }: QueryResult): PlotShape => {
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
  const label = `${measures.map(({ name }) => name).join(", ")} by ${columns[axis]?.name ?? "row"}`;
  if (lines.length === 0) return { label, x: [], lines: [] };
  if (timed >= 0) return { label, x: points.map((row) => Date.parse(String(row[axis])) / 1000), lines };
  const names = points.map((row, at) => (axis < 0 ? String(at + 1) : cellText(row[axis])));
  return { label, x: points.map((_, at) => at), lines, names };
};

export const Chart = ({ result }: { result: QueryResult }) => {
  const shape = shapeOf(result);
  return (
    <figure id="result-plot">
      <figcaption>{shape.x.length === 0 ? "A plot needs a column of numbers." : shape.label}</figcaption>
      <Plot shape={shape} />
    </figure>
  );
};

const FIRST = "select name, type, main_score, industry\nfrom accounts\norder by main_score desc nulls last\nlimit 20";
const MOST_ROWS = 5000;

type State =
  | { readonly kind: "none" | "stopped" | "running" }
  | { readonly kind: "done"; readonly result: QueryResult; readonly sql: string }
  | { readonly kind: "failed"; readonly message: string; readonly hint: string };

/** A hint for the terminal helps nobody here. */
const hintOf = ({ code, hint }: Refused): string =>
  code === "QUERY_FAILED" ? "The list beside the statement shows every table and column." : hint;

const linked = (): string | null => new URLSearchParams(location.hash.slice(1)).get("sql");

const useRun = () => {
  const [state, setState] = useState<State>({ kind: "none" });
  const current = useRef<AbortController | null>(null);
  const stop = () => {
    current.current?.abort();
    current.current = null;
  };
  useEffect(() => stop, []);
  const run = async (sql: string) => {
    stop();
    const mine = new AbortController();
    current.current = mine;
    setState({ kind: "running" });
    remember(sql);
    try {
      const body = { sql, limit: MOST_ROWS, ...profileMember() };
      const result = await send<QueryResult>("POST", "/api/query", body, mine.signal);
      if (current.current === mine) setState({ kind: "done", result, sql });
    } catch (error) {
      if (current.current !== mine) return;
      const refused = refusalOf(error);
      setState({ kind: "failed", message: refused.message, hint: hintOf(refused) });
    }
  };
  const cancel = () => {
    stop();
    setState({ kind: "stopped" });
  };
  return { state, run, cancel };
};

const Result = ({ state, onCancel }: { state: State; onCancel: () => void }) => {
  const [asChart, setChart] = useState(false);
  if (state.kind === "stopped") return <p role="status">Stopped.</p>;
  if (state.kind === "running")
    return (
      <p role="status">
        Running …{" "}
        <button type="button" onClick={onCancel}>
          Stop
        </button>
      </p>
    );
  if (state.kind === "failed") {
    return (
      <div id="query-problem" role="alert">
        <pre class="problem">{state.message}</pre>
        <p class="hint">{state.hint}</p>
      </div>
    );
  }
  if (state.kind !== "done") return <p class="hint">The result appears here.</p>;
  const { result, sql } = state;
  const cut = result.truncated ? " (there are more: a download has all of them)" : "";
  return (
    <>
      <div class="buttons">
        <span role="status" id="query-state">
          {counted(result.rows.length, "row")}
          {cut}, {count(result.ms)} ms
        </span>
        <button type="button" aria-pressed={asChart} onClick={() => setChart(!asChart)}>
          Chart
        </button>
        <Downloads sql={sql} name="result" />
        <Feedback result={result} sql={sql} />
      </div>
      {asChart ? <Chart result={result} /> : <Grid result={result} />}
    </>
  );
};

/** Questions of the program, queries that this browser keeps, past statements. */
const Library = ({ onChoose }: { onChoose: (sql: string) => void }) => {
  const { queries = [] } = useAsk<{ queries: readonly SavedQuery[] }>("/api/queries").value ?? {};
  const kept = keptQueries();
  const all = [
    ...kept.map(({ name, sql }) => ({ group: "Saved here", name, sql })),
    ...queries.map(({ question, sql }) => ({ group: "Questions", name: question, sql })),
    ...pastStatements().map(({ name, sql }) => ({ group: "History", name, sql })),
  ];
  return (
    <select
      id="saved"
      aria-label="Saved queries, questions and history"
      value=""
      onChange={(event) => {
        const found = all[Number(event.currentTarget.value)];
        if (found !== undefined) onChoose(found.sql);
      }}
    >
      <option value="">Open a question, a saved query or a past statement …</option>
      {["Saved here", "Questions", "History"].map((group) => (
        <optgroup label={group} key={group}>
          {all.map((one, at) => (one.group === group ? <option value={at}>{one.name}</option> : null))}
        </optgroup>
      ))}
    </select>
  );
};

/** Keeps the statement under a name, in this browser. */
const Keep = ({ text, onKept }: { text: () => string; onKept: () => void }) => {
  const [name, setName] = useState("");
  const isKept = keptQueries().some((one) => one.name === name);
  return (
    <details class="keep">
      <summary>Save</summary>
      <input
        aria-label="Name of the query"
        placeholder="Name"
        value={name}
        onInput={(event) => setName(event.currentTarget.value)}
      />
      <button
        type="button"
        disabled={name.trim() === ""}
        onClick={() => {
          keepQuery(name.trim(), text());
          onKept();
        }}
      >
        {isKept ? "Replace" : "Save"}
      </button>
      {isKept ? (
        <button
          type="button"
          onClick={() => {
            dropQuery(name);
            onKept();
          }}
        >
          Delete
        </button>
      ) : null}
    </details>
  );
};

const Parameters = (props: {
  names: readonly string[];
  values: Readonly<Record<string, string>>;
  onValue: (name: string, value: string) => void;
}) => (
  <div class="buttons">
    {props.names.map((name) => (
      <label key={name}>
        ${name}{" "}
        <input value={props.values[name] ?? ""} onInput={(event) => props.onValue(name, event.currentTarget.value)} />
      </label>
    ))}
  </div>
);

/** The editor in its place, with the schema once it is known. */
const useEditor = (schema: Schema | null, on: { run(): void; change(text: string): void }) => {
  const place = useRef<HTMLDivElement>(null);
  const editor = useRef<Editor | null>(null);
  const calls = useRef(on);
  calls.current = on;
  const [isReady, setReady] = useState(false);
  useEffect(() => {
    let isWanted = true;
    void import("../explorer/editor.ts").then(({ startEditor }) => {
      if (!isWanted || place.current === null) return;
      const change = () => calls.current.change(editor.current?.text() ?? "");
      editor.current = startEditor(place.current, linked() ?? FIRST, { run: () => calls.current.run(), change });
      setReady(true);
      change();
      if (linked() !== null) calls.current.run();
    });
    return () => {
      isWanted = false;
      editor.current?.destroy();
    };
  }, []);
  useEffect(() => {
    if (isReady && schema !== null) editor.current?.setSchema(schema);
  }, [isReady, schema]);
  return { place, editor, isReady };
};

export const Explorer = () => {
  const { status } = useShared();
  const schema = useAsk<Schema>("/api/tables").value;
  const { state, run, cancel } = useRun();
  const [names, setNames] = useState<readonly string[]>([]);
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const [note, setNote] = useState("");
  const [, again] = useState(0);
  const start = () => {
    const chosen = editor.current?.statement();
    if (chosen === undefined || chosen.sql.trim() === "") return;
    setNote(chosen.of > 1 ? `This ran one of ${chosen.of} statements: the one at the cursor, or the selection.` : "");
    history.replaceState(
      null,
      "",
      `${location.pathname}${location.search}#sql=${encodeURIComponent(editor.current?.text() ?? "")}`,
    );
    void run(withParameters(chosen.sql, values));
  };
  const change = (text: string) => {
    const found = parametersOf(text);
    if (found.join() !== names.join()) setNames(found);
  };
  const { place, editor, isReady } = useEditor(schema, { run: start, change });
  return (
    <div class="explorer" id="explorer" data-editor={isReady ? "" : undefined}>
      {schema === null ? <div /> : <SchemaTree schema={schema} onName={(name) => editor.current?.insert(name)} />}
      <section class="card" aria-label="Explorer">
        <p class="lead">
          Read-only SQL on the published mirror. <kbd>Ctrl</kbd> + <kbd>Enter</kbd> runs it; the address then reopens
          it.
        </p>
        {status.error?.code === "SNAPSHOT_MISSING" ? <p>There is no mirror to ask yet.</p> : null}
        <Library
          onChoose={(sql) => {
            editor.current?.setText(sql);
            if (parametersOf(sql).length === 0) start();
          }}
        />
        <div class="editor" ref={place} />
        {names.length === 0 ? null : (
          <Parameters
            names={names}
            values={values}
            onValue={(name, value) => setValues({ ...values, [name]: value })}
          />
        )}
        <div class="buttons">
          <button type="button" class="primary" id="run-query" onClick={start}>
            Run
          </button>
          <Keep text={() => editor.current?.text() ?? ""} onKept={() => again((n) => n + 1)} />
          <span class="hint">{note}</span>
        </div>
        <Result state={state} onCancel={cancel} />
      </section>
    </div>
  );
};

// The SQL editor: CodeMirror with the tables, columns and functions of the mirror. It lives in a shadow root, because there it
// adopts its styles, which the page's policy allows; in the page itself it would write inline styles.
import {
  autocompletion,
  type CompletionContext,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { PostgreSQL, sql } from "@codemirror/lang-sql";
import { bracketMatching, HighlightStyle, syntaxHighlighting, syntaxTree } from "@codemirror/language";
import { Compartment, EditorState } from "@codemirror/state";
import { drawSelection, EditorView, keymap, lineNumbers, placeholder } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { Schema } from "../wire.ts";

export interface Editor {
  text(): string;
  setText(text: string): void;
  /** The selection, else the statement at the cursor, and how many statements there are. */
  statement(): { readonly sql: string; readonly of: number };
  setSchema(schema: Schema): void;
  insert(text: string): void;
  focus(): void;
  destroy(): void;
}

const colours = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--plot-4)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--plot-3)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--warn)" },
  { tag: tags.comment, color: "var(--soft)" },
]);

const look = EditorView.theme({
  "&": {
    color: "var(--text)",
    backgroundColor: "var(--field)",
    border: "1px solid var(--line)",
    borderRadius: "7px",
    fontSize: "14px",
  },
  "&.cm-focused": { outline: "3px solid var(--accent)", outlineOffset: "1px" },
  ".cm-scroller": {
    fontFamily: "ui-monospace, SFMono-Regular, Menlo, Consolas, monospace",
    minHeight: "150px",
    maxHeight: "340px",
  },
  ".cm-content": { caretColor: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "var(--ground)", color: "var(--soft)", border: "0" },
  ".cm-tooltip": { backgroundColor: "var(--card)", border: "1px solid var(--line)", color: "var(--text)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--on-accent)" },
  ".cm-selectionBackground, &.cm-focused .cm-selectionBackground": { backgroundColor: "var(--selection) !important" },
});

/** Tables with their columns, as CodeMirror completes them; tables of `main` need no schema. */
const namesOf = ({ tables }: Schema) =>
  Object.fromEntries(
    tables.map(({ schema, name, grain, columns }) => [
      schema === "main" ? name : `${schema}.${name}`,
      {
        self: { label: name, detail: grain.slice(0, 60), type: "class" },
        children: columns.map((column) => ({
          label: column.name,
          detail: column.type ?? "",
          info: column.meaning,
          type: "property",
        })),
      },
    ]),
  );

/** Columns of every table whose name the text holds, and functions: CodeMirror alone completes columns only after a point. */
const wordsOf = (schema: Schema) => (context: CompletionContext) => {
  const word = context.matchBefore(/[\w]+/);
  if (word === null || (word.from === word.to && !context.explicit)) return null;
  const text = context.state.doc.toString();
  const named = schema.tables.filter(({ name }) => new RegExp(`\\b${name}\\b`).test(text));
  const columns = new Map(
    named.flatMap(({ name, columns: all }) => all.map((column) => [column.name, { ...column, of: name }] as const)),
  );
  return {
    from: word.from,
    options: [
      ...[...columns.values()].map(({ name, of, meaning }) => ({
        label: name,
        detail: of,
        info: meaning,
        type: "property",
        boost: 2,
      })),
      ...schema.functions.map((name) => ({ label: name, type: "function", apply: `${name}(` })),
    ],
  };
};

const languageOf = (schema: Schema | null) => {
  const language = sql(schema === null ? { dialect: PostgreSQL } : { dialect: PostgreSQL, schema: namesOf(schema) });
  return schema === null ? language : [language, PostgreSQL.language.data.of({ autocomplete: wordsOf(schema) })];
};

const statementsOf = (state: EditorState) =>
  syntaxTree(state)
    .topNode.getChildren("Statement")
    .map(({ from, to }) => ({ from, to }));

export const startEditor = (place: HTMLElement, text: string, on: { run(): void; change(): void }): Editor => {
  const root = place.shadowRoot ?? place.attachShadow({ mode: "open" });
  const language = new Compartment();
  const run = () => {
    on.run();
    return true;
  };
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(),
        history(),
        drawSelection(),
        bracketMatching(),
        closeBrackets(),
        autocompletion({ icons: false }),
        language.of(languageOf(null)),
        syntaxHighlighting(colours),
        look,
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ "aria-label": "SQL" }),
        placeholder("select …"),
        EditorView.updateListener.of((update) => update.docChanged && on.change()),
        keymap.of([
          { key: "Mod-Enter", run },
          ...closeBracketsKeymap,
          ...completionKeymap,
          ...historyKeymap,
          // Tab leaves the editor, so that the keyboard alone is enough to get out.
          ...defaultKeymap,
        ]),
      ],
    }),
  });
  return {
    text: () => view.state.doc.toString(),
    setText: (next) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: next } }),
    statement: () => {
      const { main } = view.state.selection;
      const statements = statementsOf(view.state);
      if (!main.empty) return { sql: view.state.sliceDoc(main.from, main.to), of: statements.length };
      const at = statements.find(({ to }) => main.head <= to) ?? statements.at(-1);
      const isOne = statements.length < 2 || at === undefined;
      return { sql: isOne ? view.state.doc.toString() : view.state.sliceDoc(at.from, at.to), of: statements.length };
    },
    setSchema: (schema) => view.dispatch({ effects: language.reconfigure(languageOf(schema)) }),
    insert: (part) => {
      view.dispatch(view.state.replaceSelection(part));
      view.focus();
    },
    focus: () => view.focus(),
    destroy: () => view.destroy(),
  };
};

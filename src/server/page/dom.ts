// Finds and creates elements. Text is always inserted as text, so no record of the mirror can become markup.

type Child = Node | string | null;

const missing = (id: string) => new TypeError(`#${id} is missing`);

/** The element with this id. Throws if index.html has none. */
export const byId = (id: string): HTMLElement => {
  const found = document.getElementById(id);
  if (found === null) throw missing(id);
  return found;
};

/** The element with this id, of this kind: `ofKind("sql", HTMLTextAreaElement)`. */
export const ofKind = <T extends HTMLElement>(id: string, kind: new () => T): T => {
  const found = document.getElementById(id);
  if (found instanceof kind) return found;
  throw missing(id);
};

/** Creates an element: `make("td", { class: "number" }, "12")`. Attributes that are null or false are omitted. */
export const make = <K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Readonly<Record<string, string | number | boolean | null>> = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === false) continue;
    element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child) => child !== null));
  return element;
};

export interface Column<T> {
  readonly head: string;
  readonly cell: (row: T) => Child;
  readonly kind?: "number" | "cell";
  /** Omitted on a narrow page. */
  readonly wideOnly?: boolean;
}

const classOf = (column: { readonly kind?: string; readonly wideOnly?: boolean }): string | null =>
  [column.kind ?? "", column.wideOnly === true ? "narrow-hide" : ""].join(" ").trim() || null;

/** Fills a table, or says that it is empty. */
export const fillTable = <T>(
  table: HTMLTableElement,
  caption: string,
  columns: readonly Column<T>[],
  rows: readonly T[],
): void => {
  const heads = columns.map((column) => make("th", { scope: "col", class: classOf(column) }, column.head));
  const body = rows.map((row) =>
    make("tr", {}, ...columns.map((column) => make("td", { class: classOf(column) }, column.cell(row)))),
  );
  table.replaceChildren(
    make("caption", { class: rows.length > 0 ? "unseen" : null }, caption),
    ...(rows.length > 0 ? [make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...body)] : []),
  );
};

export const badge = (text: string, mood: "good" | "warn" | "bad" | "plain"): HTMLElement =>
  make("span", { class: mood === "plain" ? "badge" : `badge ${mood}` }, text);

// Text from outside as people may see it. Control characters become visible, because it must not control a terminal: line ends and tabs
// stay; a carriage return that ends no line would let a text overwrite the text before it. Paths of this machine are cut. PURE.

/** JSON whose texts and names went through `change`. */
export const withTexts = (value: unknown, change: (text: string) => string): unknown => {
  if (typeof value === "string") return change(value);
  if (Array.isArray(value)) return value.map((item: unknown) => withTexts(item, change));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [change(name), withTexts(item, change)]));
};

/** The text with every other control character in the form `\u001b`. */
export const visible = (text: string): string =>
  text.replace(/(?![\t\n]|\r\n)\p{Cc}/gu, (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** How a path of this machine begins; a route of the service and a comment in SQL do not. */
const ROOT = String.raw`(?:file:\/\/)?(?:\/(?!v1\/|[*/])|[A-Za-z]:[\\/])`;
const QUOTED_PATH = new RegExp(String.raw`(["'\x60])${ROOT}(?:(?!\1)[^\n])*[\\/]((?:(?!\1)[^\n\\/])+)\1`, "g");
const STOP = String.raw`\s"'\x60,;:()<>|`;
const PLAIN_PATH = new RegExp(String.raw`(?<![\w.:/~%}\\-])${ROOT}[^${STOP}]*[\\/]([^${STOP}\\/]+)`, "g");

/** The text with every path of this machine cut to its last part: `…/warehouse.duckdb`. */
export const withoutPaths = (text: string): string => text.replace(QUOTED_PATH, "$1…/$2$1").replace(PLAIN_PATH, "…/$1");

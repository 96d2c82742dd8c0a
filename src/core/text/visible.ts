// Makes control characters visible, because external text must not control a terminal. Line ends and tabs stay; a
// carriage return that ends no line would let a text overwrite the text before it.

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

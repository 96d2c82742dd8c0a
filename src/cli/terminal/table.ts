// Renders tables for people: as wide as the terminal, numbers right-aligned, one record per block if the terminal is too narrow. Own code:
// cli-table3 took 0.4 ms a row, and no table of more than 120,000 rows.
import { stripVTControlCharacters } from "node:util";
import { eastAsianWidth } from "get-east-asian-width";
import { visible } from "../../core/text/shown-text.ts";
import { formatCount } from "../../core/text/units.ts";

export interface TableColumn {
  readonly name: string;
  readonly align?: "left" | "right";
}

/** A column of numbers. */
export const right = (name: string): TableColumn => ({ name, align: "right" });

type Head = string | TableColumn;
const nameOf = (head: Head): string => (typeof head === "string" ? head : head.name);

/** A number is shown with its thousands apart; null: an empty cell. */
export type TableCell = string | number | null;
const textOf = (cell: TableCell): string => (typeof cell === "number" ? formatCount(cell) : (cell ?? ""));

/** What a person sees as one character, such as a letter with its accents or an emoji of several code points. */
const characters = new Intl.Segmenter("en", { granularity: "grapheme" });

/** Columns of one of them: none for marks alone, two for emoji and wide letters. */
const characterWidth = (character: string): number => {
  if (/^[\p{Mark}\p{Default_Ignorable_Code_Point}\p{Control}]+$/u.test(character)) return 0;
  return /\p{Emoji_Presentation}|\ufe0f/u.test(character) ? 2 : eastAsianWidth(character.codePointAt(0) ?? 0);
};

/** Most texts are plain, and measuring others takes a hundred times as long. */
const displayWidth = (text: string): number =>
  /^[\x20-\x7e]*$/.test(text)
    ? text.length
    : [...characters.segment(stripVTControlCharacters(text))].reduce(
        (sum, { segment }) => sum + characterWidth(segment),
        0,
      );

/** Narrowest column, in characters. */
const NARROWEST = 8;
/** `│ ` and a space around each cell, and the last `│`. */
const frameWidth = (columns: number) => 3 * columns + 1;

/** Makes control characters visible, because external text must not control the terminal or break the table. */
const printable = (text: string): string =>
  visible(text.replace(/\r?\n/g, "↵").replaceAll("\t", " ").replaceAll("\r", "\\u000d"));

const cut = (text: string, width: number): string => {
  if (displayWidth(text) <= width) return text;
  let taken = "";
  let used = 0;
  for (const { segment } of characters.segment(text)) {
    const step = displayWidth(segment);
    if (used + step > width - 1) break;
    taken += segment;
    used += step;
  }
  return `${taken}…`;
};

/**
 * Column widths that fit; the widest columns are reduced first. Null when the frame alone leaves too little space.
 */
const fitWidths = (natural: readonly number[], available: number): readonly number[] | null => {
  const room = available - frameWidth(natural.length);
  const least = natural.map((width) => Math.min(width, NARROWEST));
  if (least.reduce((sum, width) => sum + width, 0) > room) return null;
  let cap = Math.min(Math.max(0, ...natural), Math.max(0, room));
  const total = (limit: number) => natural.reduce((sum, width) => sum + Math.min(width, limit), 0);
  while (total(cap) > room) cap -= 1;
  return natural.map((width) => Math.min(width, cap));
};

const naturalWidths = (names: readonly string[], rows: readonly (readonly string[])[]): readonly number[] =>
  names.map((name, index) =>
    rows.reduce((width, row) => Math.max(width, displayWidth(row[index] ?? "")), displayWidth(name)),
  );

/** Width of the uncut table. */
export const tableWidth = (columns: readonly Head[], rows: readonly (readonly TableCell[])[]): number =>
  naturalWidths(
    columns.map(nameOf),
    rows.map((row) => row.map(textOf)),
  ).reduce((sum, width) => sum + width, frameWidth(columns.length));

const asBlocks = (names: readonly string[], rows: readonly (readonly string[])[], available: number): string => {
  const label = Math.max(...names.map(displayWidth));
  const line = (name: string, cell: string) =>
    cut(`${name}${" ".repeat(label - displayWidth(name))}  ${cell}`, Math.max(available, label + NARROWEST));
  return rows
    .map((row, at) => [`─ ${at + 1}`, ...names.map((name, index) => line(name, row[index] ?? ""))].join("\n"))
    .join("\n");
};

/**
 * A table as text without a final line end. Cells are made printable and cut to fit here, so colour comes after that:
 * `paint` gets the cut cell, its column and its row.
 */
export const renderTable = (
  columns: readonly Head[],
  rows: readonly (readonly TableCell[])[],
  available: number,
  paint: (text: string, column: number, row: number) => string = (text) => text,
): string => {
  const cells = rows.map((row) => row.map((cell) => printable(textOf(cell))));
  const names = columns.map((column) => printable(nameOf(column)));
  if (names.length === 0) return "";
  const widths = fitWidths(naturalWidths(names, cells), available);
  if (widths === null) return asBlocks(names, cells, available);
  const frame = (left: string, middle: string, end: string) =>
    `${left}${widths.map((width) => "─".repeat(width + 2)).join(middle)}${end}`;
  const line = (texts: readonly string[], draw: (text: string, index: number) => string) =>
    `│${columns
      .map((head, index) => {
        const kept = cut(texts[index] ?? "", widths[index] ?? 0);
        const space = " ".repeat(Math.max(0, (widths[index] ?? 0) - displayWidth(kept)));
        return typeof head !== "string" && head.align === "right"
          ? ` ${space}${draw(kept, index)} │`
          : ` ${draw(kept, index)}${space} │`;
      })
      .join("")}`;
  const lines = [frame("┌", "┬", "┐"), line(names, (text) => text)];
  if (cells.length > 0) lines.push(frame("├", "┼", "┤"));
  for (const [at, row] of cells.entries()) lines.push(line(row, (text, index) => paint(text, index, at)));
  lines.push(frame("└", "┴", "┘"));
  return lines.join("\n");
};

// What DuckDB says of a table that does not exist, with a guess among the mirror's own tables: DuckDB's guess may be one
// of its internal tables. Pure.
import { LEDGER_TABLES } from "../../catalog/ledger-tables.ts";
import { TABLE_NAMES } from "../../catalog/tables.ts";
import { VIEW_NAMES } from "../../catalog/view-names.ts";
import { closest } from "../../core/did-you-mean.ts";

/** As SQL names them: tables of main by their names, all others with their schema. */
const NAMES: readonly string[] = [
  ...TABLE_NAMES,
  ...VIEW_NAMES.map((name) => `marts.${name}`),
  ...LEDGER_TABLES.map(({ name }) => `sync.${name}`),
  ...TABLE_NAMES.map((name) => `history.${name}`),
];

const bare = (name: string) => name.slice(name.indexOf(".") + 1);

/** The table that was most likely meant: the closest by spelling, with its schema where one was typed. */
const meant = (typed: string): string | null => {
  // A snapshot of an earlier version may lack a table that this program knows.
  const known = NAMES.filter((name) => name !== typed);
  const full = typed.includes(".") ? closest(typed, known) : null;
  const name = closest(bare(typed), known.map(bare));
  return full ?? known.find((candidate) => bare(candidate) === name) ?? null;
};

/** The name as it stands in the query, with its schema; DuckDB names the table alone. */
const asTyped = (name: string, excerpt: string): string => {
  const before = excerpt.slice(0, Math.max(0, excerpt.indexOf(`.${name}`)));
  const schema = /\w+$/.exec(before)?.[0];
  return schema === undefined ? name : `${schema}.${name}`;
};

/** DuckDB's message with our guess instead of its own; any other message as it is. */
export const withOurGuess = (message: string): string => {
  const found =
    /^(Catalog Error: Table with name "?(.+?)"? does not exist(?:!| because .*))\n(?:Did you mean .*\n)?/.exec(message);
  if (found === null) return message;
  const [whole, sentence = "", name = ""] = found;
  const excerpt = message.slice(whole.length);
  const guess = meant(asTyped(name, excerpt));
  return `${sentence}${guess === null ? "" : `\nDid you mean "${guess}"?`}\n${excerpt}`;
};

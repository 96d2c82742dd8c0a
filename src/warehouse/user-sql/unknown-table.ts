// Replaces DuckDB's suggestion for an unknown table by one of the mirror's tables, because DuckDB may suggest one of
// its internal tables. Pure.
import { LEDGER_TABLES } from "../../catalog/ledger-tables.ts";
import { TABLE_NAMES, VIEW_NAMES } from "../../catalog/tables.ts";
import { closest } from "../../core/text/did-you-mean.ts";

/** Names as in SQL: tables of main without schema, others with it. */
const NAMES: readonly string[] = [
  ...TABLE_NAMES,
  ...VIEW_NAMES.map((name) => `marts.${name}`),
  ...LEDGER_TABLES.map(({ name }) => `sync.${name}`),
  ...TABLE_NAMES.map((name) => `history.${name}`),
];

const bare = (name: string) => name.slice(name.indexOf(".") + 1);

/** The closest table by spelling, with its schema if one was typed. */
const meant = (typed: string): string | null => {
  // An older snapshot may lack a table that this program knows.
  const known = NAMES.filter((name) => name !== typed);
  const full = typed.includes(".") ? closest(typed, known) : null;
  const name = closest(bare(typed), known.map(bare));
  return full ?? known.find((candidate) => bare(candidate) === name) ?? null;
};

/** The name as written in the query, with its schema; DuckDB's message has the bare name. */
const asTyped = (name: string, excerpt: string): string => {
  const before = excerpt.slice(0, Math.max(0, excerpt.indexOf(`.${name}`)));
  const schema = /\w+$/.exec(before)?.[0];
  return schema === undefined ? name : `${schema}.${name}`;
};

/** DuckDB's message with our suggestion; any other message unchanged. */
export const withOurGuess = (message: string): string => {
  const found =
    /^(Catalog Error: Table with name "?(.+?)"? does not exist(?:!| because .*))\n(?:Did you mean .*\n)?/.exec(message);
  if (found === null) return message;
  const [whole, sentence = "", name = ""] = found;
  const excerpt = message.slice(whole.length);
  const guess = meant(asTyped(name, excerpt));
  return `${sentence}${guess === null ? "" : `\nDid you mean "${guess}"?`}\n${excerpt}`;
};

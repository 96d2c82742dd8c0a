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

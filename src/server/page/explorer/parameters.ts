// Finds the parameters of a statement of the explorer (`$account`) and replaces them by literals before it is sent. Pure.

/** Texts, comments and parameters, in order; a `$name` inside of a text is no parameter. */
const PARTS = /'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\$([a-z_]\w*)/gi;

/** Names of the parameters (`$account`) of a statement. */
export const parametersOf = (sql: string): readonly string[] => [
  ...new Set([...sql.matchAll(PARTS)].flatMap(([, name]) => (name === undefined ? [] : [name]))),
];

/** The statement with its parameters as literals: numbers as they are, all else as text. */
export const withParameters = (sql: string, values: Readonly<Record<string, string>>): string =>
  sql.replaceAll(PARTS, (part, name?: string) => {
    if (name === undefined) return part;
    const value = values[name] ?? "";
    return /^-?\d+(\.\d+)?$/.test(value) ? value : `'${value.replaceAll("'", "''")}'`;
  });

// Names and values as SQL text, for statements that are put together from the catalog. PURE.

/** An identifier; whatever it holds, it ends no name. */
export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/**
 * A value as a literal. Values are bound wherever they can be; only literals reach a primary key's index, and some
 * statements take nothing else.
 */
export const literal = (value: string | bigint): string =>
  typeof value === "bigint"
    ? `${value}::BIGINT`
    : value
        .split("\0")
        .map((part) => `'${part.replaceAll("'", "''")}'`)
        .join(" || chr(0) || ");

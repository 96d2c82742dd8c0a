// Names and values as SQL text, for statements built from the catalog. PURE.

/** An identifier, escaped. */
export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/**
 * A value as a literal. Values are bound where possible, but only literals use a primary key's index, and some
 * statements accept nothing else.
 */
export const literal = (value: string | bigint): string =>
  typeof value === "bigint"
    ? `${value}::BIGINT`
    : value
        .split("\0")
        .map((part) => `'${part.replaceAll("'", "''")}'`)
        .join(" || chr(0) || ");

// Shows one value of a result: text as text, objects and lists, also those in a JSON text, as a tree that unfolds.

const parsed = (value: unknown): unknown => {
  if (typeof value !== "string" || !/^\s*[[{]/.test(value)) return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
};

export const JsonView = ({ value, depth = 0 }: { value: unknown; depth?: number }) => {
  const shown = parsed(value);
  if (shown === null || shown === undefined) return <span class="none">NULL</span>;
  if (typeof shown !== "object") return <span class="value">{String(shown)}</span>;
  const entries = Object.entries(shown);
  const name = Array.isArray(shown) ? `list of ${entries.length}` : `${entries.length} fields`;
  if (entries.length === 0) return <span class="none">{Array.isArray(shown) ? "empty list" : "empty"}</span>;
  return (
    <details open={depth < 2 && entries.length <= 20}>
      <summary>{name}</summary>
      <ul class="json">
        {entries.map(([key, inner]) => (
          <li key={key}>
            <b>{key}</b> <JsonView value={inner} depth={depth + 1} />
          </li>
        ))}
      </ul>
    </details>
  );
};

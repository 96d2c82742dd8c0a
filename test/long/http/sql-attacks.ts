// Statements that want more memory or time than there is, or a plan that is too large.

export interface Attack {
  readonly name: string;
  readonly sql: string;
}

/** Want more memory than there is: the statement ends, nothing else does. */
export const GREEDY: readonly Attack[] = [
  { name: "a text of two billion characters", sql: "SELECT printf('%2000000000d', 1)" },
  { name: "a sort of everything", sql: "SELECT * FROM range(2000000000) ORDER BY hash(range)" },
  { name: "a hash table of everything", sql: "SELECT range, count(*) FROM range(4000000000) GROUP BY range" },
  { name: "a list of all there is", sql: "SELECT list(range) FROM range(4000000000)" },
  {
    name: "a cross join kept",
    sql: "CREATE TEMP TABLE x AS SELECT a.range FROM range(1000000) a, range(100000) b; FROM x",
  },
  {
    name: "a text doubled and doubled",
    sql: "WITH RECURSIVE r(s) AS (SELECT 'x' UNION ALL SELECT s || s FROM r) SELECT max(length(s)) FROM r",
  },
  {
    name: "a window over everything",
    sql: "SELECT max(s) FROM (SELECT sum(range) OVER (ORDER BY hash(range)) AS s FROM range(1000000000))",
  },
];

/** Take more time than there is, some in one call that DuckDB cannot interrupt. */
export const ENDLESS: readonly Attack[] = [
  { name: "levenshtein", sql: "SELECT levenshtein(repeat('a', 1000000), repeat('b', 1000000))" },
  {
    name: "a regular expression",
    sql: "SELECT count(*) FROM range(1000000000000) WHERE regexp_matches(range::VARCHAR, '^(1|2|3)*4$')",
  },
  { name: "a count to no end", sql: "SELECT count(*) FROM range(1000000000000000)" },
  {
    name: "a recursion without an end",
    sql: "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT (n + 1) % 1000 FROM r) SELECT count(*) FROM r",
  },
  { name: "rows without an end", sql: "SELECT range FROM range(1000000000000)" },
];

const nested = (open: string, inner: string, close: string, depth: number) =>
  open.repeat(depth) + inner + close.repeat(depth);

/** Large or deep statements: the parser and the planner work on them before anything runs. */
export const HEAVY_PLANS: readonly Attack[] = [
  { name: "brackets", sql: `SELECT ${nested("(", "1", ")", 20_000)}` },
  { name: "subqueries", sql: nested("SELECT * FROM (", "SELECT 1", ")", 3000) },
  { name: "a list of many", sql: `SELECT 1 IN (${Array.from({ length: 20_000 }, (_, i) => i).join()})` },
  { name: "unions", sql: Array.from({ length: 3000 }, () => "SELECT 1").join(" UNION ALL ") },
  { name: "joins", sql: `SELECT count(*) FROM ${Array.from({ length: 60 }, (_, i) => `t t${i}`).join(", ")}` },
  { name: "CASE", sql: `SELECT ${nested("CASE WHEN true THEN ", "1", " END", 2000)}` },
];

// Mirrors what is due within a budget, shows progress, and asks the mirror a question.
// Run: DUCKMIRROR_BASE_URL=... DUCKMIRROR_TOKEN=... npx tsx docs/examples/sync-and-ask.ts
import { createMirror } from "duckmirror";

const mirror = createMirror({ folder: process.cwd(), env: process.env, settings: { max_credits: 50 } });

mirror.onEvent((event) => {
  if (event.kind === "page") console.error(`${event.stream}: ${event.rows} rows`);
  if (event.kind === "waiting") console.error(`waiting until ${new Date(event.until).toISOString()}`);
});

const { report, error } = await mirror.sync({ streams: ["accounts", "signals"] });
console.error(`${report.credits.spent} credits spent, ${report.credits.remaining ?? "?"} left`);
// Exit code 4: the budget is used up and the next run goes on. Anything else is worth a look.
if (error !== null && error.exitCode !== 4) throw error;

const { columns, rows } = await mirror.query(
  "SELECT type, count(*) AS signals FROM signals GROUP BY type ORDER BY signals DESC, type LIMIT 5",
);
console.log(columns.map(({ name }) => name).join("\t"));
for (const row of rows) console.log(row.join("\t"));

// Syncs one stream every few minutes until it is interrupted, and prints what is new since the sync before.
// Run: DUCKMIRROR_BASE_URL=... DUCKMIRROR_TOKEN=... npx tsx docs/examples/watch-a-stream.ts [minutes]
import { createMirror } from "duckmirror";

const minutes = Number(process.argv[2] ?? 15);
const stop = new AbortController();
process.once("SIGINT", () => stop.abort());

const mirror = createMirror({ folder: process.cwd(), env: process.env });
while (!stop.signal.aborted) {
  const { report, error } = await mirror.sync({ streams: ["signals"], signal: stop.signal });
  if (error !== null && error.code !== "INTERRUPTED" && error.exitCode !== 4) console.error(error.message, error.hint);
  await mirror.stream(
    `SELECT date, type, headline FROM signals WHERE _run_id = '${report.run_id}' ORDER BY date DESC`,
    async ({ batches }) => {
      for await (const rows of batches) for (const [date, type, headline] of rows) console.log(date, type, headline);
    },
  );
  if (minutes === 0) break;
  await new Promise((resolve) => {
    const timer = setTimeout(resolve, minutes * 60_000);
    stop.signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve(undefined);
    });
  });
}

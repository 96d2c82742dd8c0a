// A process of its own that writes lines to an audit trail, and is killed behind half a line if asked to.
// Arguments: data directory, actor, number of actions, `killed` or nothing.
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { openTrail, trailDir } from "../../src/warehouse/audit/trail.ts";

const [dataDir = "", actor = "", times = "0", end = ""] = process.argv.slice(2);
const trail = openTrail({
  dataDir,
  enabled: true,
  required: true,
  clock: { now: () => Date.now() },
  warn: () => undefined,
});
for (let nth = 0; nth < Number(times); nth++) {
  trail.begin({ actor, way: "command", action: "query", sql: `select ${nth} -- ${"x".repeat(500)}` })({
    outcome: "ok",
    rows: nth,
  });
}
if (end === "killed") {
  trail.begin({ actor, way: "command", action: "query", sql: "select 'Ada'" });
  const today = `${new Date().toISOString().slice(0, 10)}.jsonl`;
  appendFileSync(join(trailDir(dataDir), today), '{"audit":1,"id":"00000000000000ff","started_at":"2026-');
  process.kill(process.pid, "SIGKILL");
}

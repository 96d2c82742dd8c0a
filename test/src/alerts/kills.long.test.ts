// A receiver that fails half the time gets every event once by id, in order per key, although its sender is killed again and
// again. Long: each kill starts a process.
import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { openWarehouse } from "../../../src/warehouse/file/warehouse.ts";
import { runQuery } from "../../../src/warehouse/read/query.ts";
import { seededRandom } from "../../support/chance.ts";
import { copyMigratedMirror } from "../../support/migrated-mirror.ts";
import { aCheckpoint, aLoad, aSignal, T0 } from "../warehouse/checkpoints.ts";
import { tempDir } from "../warehouse/temp-dir.ts";
import { type Answer, aReceiver } from "./a-receiver.ts";

const KILLS = 8;
const KEYS = 6;
const SQL = "SELECT n, key FROM changes WHERE table_name = 'signals'";
const FAILURES: readonly Answer[] = [
  { status: 503 },
  { reset: true },
  { status: 429, headers: { "retry-after": "20" } },
];

test("every event once by id, in order per key, with kills of the sender", async () => {
  const random = seededRandom(1);
  const below = (most: number) => Math.floor(random() * most);
  const dataDir = tempDir();
  await copyMigratedMirror(dataDir);
  const warehouse = await openWarehouse({ dataDir, clock: systemClock });
  let commits = 0;
  const move = async () => {
    for (let commit = 0; commit < 1 + below(3); commit += 1) {
      commits += 1;
      const ids = Array.from({ length: KEYS }, (_, id) => id + 1).filter(() => random() < 0.6);
      const rows = ids.map((id) => aSignal(id, { headline: `version ${commits}` }));
      await warehouse.commit(aCheckpoint([aLoad("signals", rows, { receivedAt: T0 + commits })]));
    }
    await warehouse.publish();
  };
  await warehouse.publish();

  // Half of the messages fail; of these, a third although the receiver has taken them.
  const { url, received } = await aReceiver(() => (random() < 0.5 ? (FAILURES[below(3)] ?? {}) : {}));
  const rules = JSON.stringify([
    { name: "all", event: "changes", sql: SQL, url, secret_env: "SECRET", batch: 3, allow_private: true },
  ]);
  const start = String(Date.now());
  const program = fileURLToPath(new URL("./sender-child.ts", import.meta.url));
  const startSender = () =>
    fork(program, [dataDir, rules, start], { execArgv: ["--import", import.meta.resolve("tsx")] });

  let sender = startSender();
  onTestFinished(() => void sender.kill("SIGKILL"));
  // The rule begins with what comes after its first pass.
  await once(sender, "message");
  for (let kill = 0; kill < KILLS; kill += 1) {
    await move();
    await once(sender, "message");
    await systemClock.sleep(below(120));
    const gone = once(sender, "exit");
    sender.kill("SIGKILL");
    await gone;
    if (random() < 0.3) await move();
    sender = startSender();
  }
  await warehouse.close();
  for (let quiet = 0; quiet < 3; ) {
    const [[pass]] = await once(sender, "message");
    quiet = pass.waiting === 0 && pass.error === null ? quiet + 1 : 0;
  }

  const { rows } = await runQuery({
    snapshot: join(dataDir, "warehouse.duckdb"),
    sql: "SELECT CAST(max(n) AS INTEGER) FROM sync.changes",
  });
  const last = Number(rows[0]?.[0]);
  const seen = new Map<string, { n: number; key: string }>();
  for (const { body, status } of received) {
    if (status !== null && status >= 300) continue;
    for (const { id, n = 0, key } of body.data.events) if (!seen.has(id)) seen.set(id, { n, key });
  }
  expect([...seen.values()].map(({ n }) => n).sort((a, b) => a - b)).toEqual(
    Array.from({ length: last }, (_, n) => n + 1),
  );
  for (let id = 1; id <= KEYS; id += 1) {
    const ofKey = [...seen.values()].filter(({ key }) => key === `signals:${id}`).map(({ n }) => n);
    expect(ofKey.length).toBeGreaterThan(5);
    expect(ofKey).toEqual([...ofKey].sort((a, b) => a - b));
  }
  expect(received.filter(({ status }) => status !== 204).length).toBeGreaterThan(10);
});

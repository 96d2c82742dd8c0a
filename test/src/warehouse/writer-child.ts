// A process of its own that writes: `commit` acknowledges one commit per line until it is killed, `hold` keeps the
// warehouse open until its input ends, `publish` publishes over and over, `fill` writes long rows until one fails and
// then says with what, and how many are there.
import { randomBytes } from "node:crypto";
import { systemClock } from "../../../src/core/clock.ts";
import { DuckmirrorError } from "../../../src/core/errors.ts";
import { openWarehouse } from "../../../src/warehouse/file/warehouse.ts";
import { aCheckpoint, aLoad, aRequest, aSignal, aState } from "./checkpoints.ts";

const [mode = "", dataDir = "", first = "0"] = process.argv.slice(2);
const say = (line: string) => new Promise<void>((resolve) => process.stdout.write(`${line}\n`, () => resolve()));

const warehouse = await openWarehouse({ dataDir, clock: systemClock });
await say("open");
if (mode === "hold") {
  for await (const _ of process.stdin);
  await warehouse.close();
}
if (mode === "fill") {
  let acknowledged = 0;
  try {
    for (;;) {
      const description = randomBytes(500_000).toString("hex");
      await warehouse.commit(aCheckpoint([aLoad("signals", [aSignal(acknowledged, { description })])]));
      acknowledged += 1;
    }
  } catch (error) {
    await say(error instanceof DuckmirrorError ? error.code : String(error));
  }
  await say(`${acknowledged} ${await warehouse.countRows("signals")}`);
  await warehouse.close();
}
for (let n = Number(first); mode === "commit" || mode === "publish"; n++) {
  const records = Array.from({ length: 20 }, (_, i) => aSignal(i, { headline: `commit ${n}` }));
  const requestId = `request-${n}`;
  await warehouse.commit(
    aCheckpoint([aLoad("signals", [...records, aSignal(1000 + n)], { requestId })], {
      requests: [aRequest(requestId)],
      scopes: [aState({ cursor: String(n) })],
    }),
  );
  if (mode === "publish") await warehouse.publish();
  await say(String(n));
}

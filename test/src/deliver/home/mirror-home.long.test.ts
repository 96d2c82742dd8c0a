// A home whose worker fails at each of its requests.
import { expect, test } from "vitest";
import { tempDir } from "../../warehouse/temp-dir.ts";
import { snapshotRows } from "../moving-mirror.ts";
import { watched } from "../stores/watched-store.ts";
import { aWorker, signalsIn } from "./a-worker.ts";

test("whichever step of keeping or fetching fails, the next worker goes on from a whole state", async () => {
  for (const victim of ["keeping", "fetching"]) {
    for (let at = 1; ; at += 1) {
      const url = tempDir();
      const [one, other] = [aWorker(url), aWorker(url)];
      await one.add(1, 2);
      await other.add(3);
      let nth = 0;
      const step = () => {
        if (++nth >= at) throw new Error("killed");
      };
      const dataDir = victim === "keeping" ? other.dataDir : one.dataDir;
      const breaking = aWorker(url, dataDir, (store) => watched(store, step));
      const failure = await breaking.add(4).then(
        () => null,
        (error: unknown) => String(error),
      );
      const next = aWorker(url);
      await next.add(5);
      expect([victim, at, [3, 4].includes((await signalsIn(next.dataDir)) - 1)]).toEqual([victim, at, true]);
      // What broke off goes on, too, with the state of the home.
      const again = aWorker(url, breaking.dataDir);
      await again.change(async () => undefined);
      expect(await snapshotRows(again.dataDir, "signals")).toEqual(await snapshotRows(next.dataDir, "signals"));
      if (failure === null) break;
      expect(failure).toContain("killed");
    }
  }
});

// duckmirror forget asks before it erases somebody, also beside --resume.
import { expect, test } from "vitest";
import { snapshotPath } from "../../../../../src/core/data-dir.ts";
import { runQuery } from "../../../../../src/warehouse/read/query.ts";
import { change } from "../../../../support/change-mirror.ts";
import { cli } from "../../../../support/cli.ts";
import { aCheckpoint, aLoad } from "../../../warehouse/checkpoints.ts";
import { tempDir } from "../../../warehouse/temp-dir.ts";

test.each([[["p_1"]], [["p_1", "--resume"]]])(
  "forget %j without a terminal needs --yes, and erases nobody",
  async (args) => {
    const dataDir = tempDir();
    await change(dataDir, (warehouse) =>
      warehouse.commit(aCheckpoint([aLoad("contacts", [{ id: "p_1", accountId: 1 }])])),
    );
    const env = { DUCKMIRROR_DATA_DIR: dataDir, DUCKMIRROR_BASE_URL: "https://api.example.com" };
    const { code, err } = await cli(["forget", ...args], { env });
    expect([code, err]).toEqual([2, expect.stringContaining("confirm with --yes")]);
    const sql = "SELECT id FROM contacts";
    expect((await runQuery({ snapshot: snapshotPath(dataDir), sql })).rows).toEqual([["p_1"]]);
  },
);

// A mirror whose syncs pass through checks.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { tempDir } from "../../temp-dir.ts";
import { startPublishing } from "../publish-rig.ts";

export const aFolder = (files: Readonly<Record<string, string>>): string => {
  const folder = tempDir();
  for (const [name, sql] of Object.entries(files)) writeFileSync(join(folder, name), sql);
  return folder;
};

export const TOO_HIGH =
  "-- severity: error\n-- Scores end at 100.\nSELECT id, main_score FROM accounts WHERE main_score > 100";

export const aGuarded = async (files: Readonly<Record<string, string>>) => {
  const folder = aFolder(files);
  const mirror = await startPublishing({ DUCKMIRROR_CHECKS: folder });
  const account = (id: number) => mirror.service.data.accounts[id - 1] ?? {};
  const set = (id: number, fields: object) =>
    void Object.assign(account(id), fields, { updatedAt: new Date(mirror.clock.now()).toISOString() });
  const scores = async () => (await mirror.rig.rows("SELECT max(main_score) AS score FROM accounts"))[0]?.score;
  const noted = () =>
    mirror.rig.rows('SELECT "check", severity, status, failing, sample, run_id FROM sync.checks ORDER BY ALL');
  return { ...mirror, folder, set, scores, noted };
};

// Whether everything that the mirror holds was stored under the present field rules. Otherwise only the archive can give
// a mirror without the values that the new rules keep out, so nothing of it may be removed.
import { join } from "node:path";
import { z } from "zod";
import { changeShared, readShared, type SharedFile } from "../../../core/state/shared-file.ts";

const rulesSchema = z.object({
  v: z.literal(1),
  /** Rules under which the mirror's values were stored. */
  rules: z.array(z.string()),
  /** Some values were stored before one of the rules existed. */
  mixed: z.boolean(),
});
type StoredRules = z.output<typeof rulesSchema>;

const fileOf = (state: string): SharedFile<StoredRules | null> => ({
  path: join(state, "field-rules.json"),
  schema: rulesSchema,
  holds: "list of field rules",
  without: "the next sync notes the present rules, and takes all stored values for older",
  empty: null,
});

/** Notes the rules of a sync. `isNew`: the mirror holds nothing yet. Returns whether values of before are left. */
export const noteRules = async (state: string, rules: readonly string[], isNew: boolean): Promise<boolean> => {
  const known = await readShared(fileOf(state));
  const before = known?.rules ?? (isNew ? rules : []);
  const mixed = known?.mixed === true || rules.some((rule) => !before.includes(rule));
  if (known !== null && known.mixed === mixed && String(known.rules) === String(rules)) return mixed;
  await changeShared(fileOf(state), () => ({ v: 1 as const, rules: [...rules], mixed }));
  return mixed;
};

/** The mirror was rebuilt from the whole archive: all its values are stored under these rules. */
export const settleRules = async (state: string, rules: readonly string[]): Promise<void> => {
  await changeShared(fileOf(state), () => ({ v: 1 as const, rules: [...rules], mixed: false }));
};

/** True when the mirror holds values stored before one of `rules` existed. */
export const holdsOlderValues = async (state: string, rules: readonly string[]): Promise<boolean> => {
  const known = await readShared(fileOf(state));
  return known?.mixed === true || rules.some((rule) => !(known?.rules ?? []).includes(rule));
};

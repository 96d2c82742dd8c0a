// Functions that are longer, or have more branches, than a reader can hold in mind, from the time before the limits: these lists
// only get shorter.

/** `file name`. Where a word is beside it, a cut would only move lines. */
export const LONG_FUNCTIONS: readonly string[] = [
  // A table.
  "src/core/config/settings.ts settingsSchema",
  // A line per setting.
  "src/core/config/config.ts resolveConfig",
  // A line per field.
  "src/sandbox/generate/accounts.ts accountRow",
];

export const BRANCHED_FUNCTIONS: readonly string[] = [
  "src/sync/plan/organization.ts organizationList",
  "src/sync/plan/companies.ts profileDue",
  "src/sync/plan/remembered.ts wideningLists",
  "src/sync/verify/check-lists.ts checkPage",
];

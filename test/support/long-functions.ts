// Functions that are longer than a reader can hold in mind, from the time before the limit: this list only gets shorter.

/** `file name`. Where a word is beside it, a cut would only move lines. */
export const LONG_FUNCTIONS: readonly string[] = [
  // A table.
  "src/core/config/settings.ts settingsSchema",
  // A line per setting.
  "src/core/config/config.ts resolveConfig",
  // A line per field.
  "src/sandbox/generate/accounts.ts accountRow",
];

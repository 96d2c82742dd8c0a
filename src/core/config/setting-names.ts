// Names of settings, in the file and in the environment, and what is said of unknown and mistyped ones. PURE.
import { closest, didYouMean } from "../text/did-you-mean.ts";
import type { ConfigFile, FileSettings } from "./config-file.ts";
import { PROGRAM_WIDE, settingList } from "./settings.ts";

/** Values of environment variables. */
export type Env = Readonly<Record<string, string | undefined>>;

/** Every setting, by its name in the file. */
export const NAMES = settingList().map((setting) => setting.name);
const ENV_PREFIX = "DUCKMIRROR_";

/** `max_credits` → `DUCKMIRROR_MAX_CREDITS`; Redis uses its usual name. */
export const envName = (setting: string): string =>
  setting === "redis_url" ? "REDIS_URL" : `${ENV_PREFIX}${setting.toUpperCase()}`;
const PROFILE_NAME = /^[A-Za-z0-9][\w-]{0,62}$/;

/**
 * A mistyped `DUCKMIRROR_MAX_CREDIT` would silently remove a limit, so names similar to a setting cause a warning.
 */
export const warningsOf = (env: Env): readonly string[] => {
  const known = [...NAMES, "config", "profile"].map(envName);
  return Object.keys(env)
    .filter((name) => name.startsWith(ENV_PREFIX) && !known.includes(name) && closest(name, known) !== null)
    .map((name) => `${name} is not a setting and is ignored.${didYouMean(name, known)}`);
};

/** Problems with the names of settings that a program gives. */
export const unknownNames = (names: readonly string[]): string[] =>
  names
    .filter((name) => !NAMES.some((known) => known === name))
    .map((name) => `${name} is not a setting.${didYouMean(name, NAMES)}`);

/** Problems with the names of settings and profiles in the file. */
export const checkKeys = (file: ConfigFile | null): string[] => {
  const unknown = (settings: FileSettings, names: readonly string[]) =>
    [...settings]
      .filter(([name]) => !names.includes(name))
      .map(([name, { line }]) => `${name} (${file?.path}, line ${line}) is not a setting.${didYouMean(name, names)}`);
  const shared = (settings: FileSettings) =>
    [...settings]
      .filter(([name]) => PROGRAM_WIDE.includes(name))
      .map(([name, { line }]) => `${name} (${file?.path}, line ${line}) belongs to the program, not to a profile`);
  return [
    ...unknown(file?.settings ?? new Map(), [...NAMES, "profiles"]),
    ...[...(file?.profiles ?? [])].flatMap(([name, settings]) => [
      ...(PROFILE_NAME.test(name) ? [] : [`profile ${name}: a name is made of letters, digits, - and _`]),
      ...unknown(settings, NAMES),
      ...shared(settings),
    ]),
  ];
};

// Files that comments and documents name: each must exist, so that a moved or renamed file leaves no false sentence.

export interface Prose {
  readonly path: string;
  readonly text: string;
}

/** Documents that come from elsewhere: the service's own, and the one of webhooks. */
const FOREIGN = /^(API|standard-webhooks)\.md$/;
const NAME = /(?<![\w@:.{])((?:[\w.-]+\/)*\w[\w.-]*\.(?:ts|sql|mjs|md))\b(?!\/)/g;
const COMMENT = /^\s*(?:\/\/|\*|\/\*\*|--)(.*)$/;

const proseOf = ({ path, text }: Prose): readonly string[] =>
  path.endsWith(".md") ? text.split("\n") : text.split("\n").map((line) => COMMENT.exec(line)?.[1] ?? "");

/** `file:line: name` for each name that no path of `paths` is or ends with. A name may leave out leading folders. */
export const missingNames = (files: readonly Prose[], paths: readonly string[]): readonly string[] => {
  const known = new Set(paths.flatMap((path) => path.split("/").map((_, from, parts) => parts.slice(from).join("/"))));
  return files.flatMap((file) =>
    proseOf(file).flatMap((line, index) =>
      [...line.matchAll(NAME)]
        .map(([, name = ""]) => name.replace(/^(\.\.?\/)+/, ""))
        .filter((name) => !FOREIGN.test(name.split("/").at(-1) ?? "") && !known.has(name))
        .map((name) => `${file.path}:${index + 1}: ${name}`),
    ),
  );
};

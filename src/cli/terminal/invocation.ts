// How the program was started, so that the commands it suggests work when they are typed.
import { basename, delimiter, dirname, relative } from "node:path";

/**
 * `duckmirror`, `npx duckmirror`, or `node dist/src/cli/main.js`. `script`: the path that Node was given.
 */
export const invocationOf = (
  script: string,
  env: Readonly<Record<string, string | undefined>>,
  cwd: string,
): string => {
  if (env.npm_command === "exec") return "npx duckmirror";
  // Of an installed package Node is given the link in a `bin` folder, or, on Windows, the file in the package.
  const isInstalled = /^duckmirror(\.\w+)?$/.test(basename(script)) || /[\\/]node_modules[\\/]/.test(script);
  if (!isInstalled) return `node ${relative(cwd, script) || script}`;
  const onPath = (env.PATH ?? "").split(delimiter).includes(dirname(script));
  return onPath || !/[\\/]node_modules[\\/]/.test(script) ? "duckmirror" : "npx duckmirror";
};

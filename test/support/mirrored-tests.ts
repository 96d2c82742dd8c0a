// Tests mirror the source: `src/a/b.ts` is tested by `test/src/a/b.test.ts` or `test/src/a/b.long.test.ts`. Pure.

/** Source files with a test of their own, among all files of `src` and `jobs`. */
export const mirroredTests = (paths: readonly string[]): { readonly sources: number; readonly mirrored: number } => {
  const sources = paths.filter((path) => /^(src|jobs)\//.test(path));
  const tests = new Set(paths.filter((path) => path.startsWith("test/")));
  const hasTest = (path: string) =>
    ["test.ts", "long.test.ts"].some((end) => tests.has(`test/${path.replace(/ts$/, end)}`));
  return { sources: sources.length, mirrored: sources.filter(hasTest).length };
};

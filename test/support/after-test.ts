// What a test started ends after it. Test files may share a process, in which this module is loaded once, so a setup file
// registers the hook for each of them (test/setup/end-of-test.ts).
const endings: (() => unknown)[] = [];

/** Runs `end` after the test, the last one first. */
export const afterTest = (end: () => unknown): void => void endings.push(end);

/** Runs what the test left to do, the last one first. */
export const runEndings = async (): Promise<void> => {
  for (const end of endings.splice(0).reverse()) await end();
};

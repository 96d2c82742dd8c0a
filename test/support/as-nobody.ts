// Runs a piece of a test without the rights of the administrator, who can read every file.

const NOBODY = 65_534;

/** Runs `work` as a user without rights where the test runs as the administrator, as in a container. */
export const asNobody = async <T>(work: () => Promise<T>): Promise<T> => {
  const { geteuid, seteuid } = process;
  if (geteuid?.() !== 0 || seteuid === undefined) return work();
  seteuid(NOBODY);
  try {
    return await work();
  } finally {
    seteuid(0);
  }
};

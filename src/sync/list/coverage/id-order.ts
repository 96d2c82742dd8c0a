// The order of ids in a page. Pure.

/** True when both are whole numbers and the first is the greater one. */
export const isHigher = (a: string, b: string): boolean => {
  const integer = /^-?\d+$/;
  return integer.test(a) && integer.test(b) && BigInt(a) > BigInt(b);
};

/** True when the ids are whole numbers in strictly descending order. */
export const isDescending = (ids: readonly string[]): boolean =>
  ids.every((id, index) => {
    const previous = ids[index - 1];
    return previous === undefined ? /^-?\d+$/.test(id) : isHigher(previous, id);
  });

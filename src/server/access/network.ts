// The network that an address belongs to: what one person can have of addresses without effort counts as one. Pure.

/** An IPv4 address; of an IPv6 address its /64, as its first four groups. */
export const networkOf = (address: string): string => {
  const [bare = ""] = address.replace(/^::ffff:(?=\d+\.)/i, "").split("%");
  if (!bare.includes(":")) return bare;
  const [head = "", tail = ""] = bare.split("::");
  const groups = (text: string) => text.split(":").filter((group) => group !== "");
  const gap = bare.includes("::") ? 8 - groups(head).length - groups(tail).length : 0;
  const all = [...groups(head), ...Array.from({ length: gap }, () => "0"), ...groups(tail)];
  return all.slice(0, 4).join(":");
};

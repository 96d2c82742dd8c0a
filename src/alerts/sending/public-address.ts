// Distinguishes public network addresses from private and special ones: messages go only to public ones unless a rule allows more. Pure.
// Source: IANA's registries of special-purpose IPv4 and IPv6 addresses.
import { BlockList, isIP } from "node:net";

const special = new BlockList();
for (const [net, bits] of [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  // Multicast, reserved and broadcast.
  ["224.0.0.0", 3],
] as const) {
  special.addSubnet(net, bits, "ipv4");
}
// Azure's metadata service, although the address is in no private range.
special.addAddress("168.63.129.16", "ipv4");
for (const [net, bits] of [
  // Protocol assignments, with Teredo, which carries IPv4 addresses.
  ["2001::", 23],
  ["2001:db8::", 32],
  // 6to4 carries IPv4 addresses.
  ["2002::", 16],
  ["3fff::", 20],
] as const) {
  special.addSubnet(net, bits, "ipv6");
}

/** Addresses of IPv6 that are routed; all others are loopback, local, mapped IPv4, translated or reserved. */
const routed = new BlockList();
routed.addSubnet("2000::", 3, "ipv6");

/** False for private, loopback, link-local, metadata and reserved addresses, and for a text that is no address. */
export const isPublicAddress = (address: string): boolean => {
  const family = isIP(address);
  if (family === 4) return !special.check(address, "ipv4");
  return family === 6 && routed.check(address, "ipv6") && !special.check(address, "ipv6");
};

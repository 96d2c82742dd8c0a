// Addresses that count as one.
import { expect, test } from "vitest";
import { networkOf } from "../../../../src/server/access/connection-limits.ts";

test.each([
  ["192.0.2.7", "192.0.2.7"],
  ["::ffff:192.0.2.7", "192.0.2.7"],
  ["::1", "0:0:0:0"],
  ["2001:db8::1", "2001:db8:0:0"],
  ["2001:db8::ffff:1:2:3", "2001:db8:0:0"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2"],
  ["2001:db8:1::", "2001:db8:1:0"],
  ["fe80::1%eth0", "fe80:0:0:0"],
  ["", ""],
])("%s belongs to %s", (address, network) => {
  expect(networkOf(address)).toBe(network);
});

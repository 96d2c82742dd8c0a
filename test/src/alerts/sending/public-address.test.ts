// Which addresses are public.
import { expect, test } from "vitest";
import { isPublicAddress } from "../../../../src/alerts/sending/public-address.ts";

const PRIVATE = [
  ...["127.0.0.1", "127.9.9.9", "10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.1.1"],
  ...["169.254.169.254", "100.100.100.200", "168.63.129.16", "0.0.0.0", "0.1.2.3", "192.0.0.192", "198.18.0.1"],
  ...["192.0.2.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "240.0.0.1", "255.255.255.255"],
  ...["::1", "::", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:8.8.8.8", "::7f00:1", "64:ff9b::7f00:1"],
  ...["fe80::1", "fc00::1", "fd00:ec2::254", "ff02::1", "2001::1", "2001:db8::1", "2002:7f00:1::", "100::1", "fec0::1"],
  ...["localhost", "", "1.2.3", "fe80::1%eth0"],
];

test.each(PRIVATE)("%j is no public address", (address) => {
  expect(isPublicAddress(address)).toBe(false);
});

test.each(["8.8.8.8", "1.1.1.1", "172.15.0.1", "172.32.0.1", "100.63.0.1", "2606:4700::1111", "2a00:1450::1"])(
  "%s is one",
  (address) => {
    expect(isPublicAddress(address)).toBe(true);
  },
);

// Domains and addresses in a comparable form.
import { expect, test } from "vitest";
import { bareAddress, domainCandidates } from "../../../../src/core/text/domain-names.ts";

test.each<[string, readonly string[]]>([
  ["https://www.Shop.Acme.co.uk/x?y", ["shop.acme.co.uk", "acme.co.uk", "co.uk"]],
  ["ACME.com", ["acme.com"]],
  ["https://www.shop.acme.co.uk:8443/x?y#z", ["shop.acme.co.uk", "acme.co.uk", "co.uk"]],
  ["user@acme.com", ["acme.com"]],
  ["Acme Corp.", []],
  ["acme.com.", ["acme.com"]],
  ["acme.com:8080", ["acme.com"]],
  ["mailto://me@acme.com", ["acme.com"]],
  [" ACME.com#top ", ["acme.com"]],
  ["acme", []],
  ["Acme Inc.", []],
  ["acme..com", []],
  ["two words.com", []],
  ["", []],
])("%j may mean %j", (input, domains) => {
  expect(domainCandidates(input)).toEqual(domains);
});

test.each([
  ["https://www.Acme.com/About/?x#y", "acme.com/about"],
  ["https://www.Network.example/company/acme/", "network.example/company/acme"],
  ["network.example/company/acme?ref=1#top", "network.example/company/acme"],
  ["acme.com//", "acme.com"],
  ["http://acme.com/a#b/c", "acme.com/a"],
])("%s is %s", (input, bare) => {
  expect(bareAddress(input)).toBe(bare);
});

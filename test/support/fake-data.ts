// Builders of fake data: valid defaults, a test states only what matters to it.
import { emptyData, type FakeData, type Row } from "./fake-service.ts";

const at = (day: number): string => new Date(Date.UTC(2026, 0, 1) + day * 86_400_000).toISOString();

export const anAccount = (id: number, more: Record<string, unknown> = {}): Row => ({
  id,
  organizationId: "org_1",
  companyId: `c_${id}`,
  ownerId: `u_${id % 3}`,
  createdAt: at(id % 300),
  updatedAt: at(id % 300),
  name: `Account ${id}`,
  type: "prospect",
  priority: (id % 3) + 1,
  mainScore: id % 100,
  ...more,
});

export const aContact = (id: string, more: Record<string, unknown> = {}): Row => ({
  id,
  organizationId: "org_1",
  accountId: 1,
  firstName: "Zoë",
  lastName: `Müller ${id}`,
  lastChangeDetectedOn: at(10),
  ...more,
});

export const aSignal = (id: number, more: Record<string, unknown> = {}): Row => ({
  id,
  organizationId: "org_1",
  accountId: 1,
  type: "relevant-news",
  headline: `Signal ${id}`,
  sources: [`https://source.example/${id}`],
  date: at(id % 300),
  createdAt: at(id % 300),
  updatedAt: at(id % 300),
  ...more,
});

export const aCompany = (id: string, more: Record<string, unknown> = {}): Row => ({
  id,
  name: `Company ${id}`,
  domain: `${id}.example`,
  websiteUrl: `https://${id}.example`,
  description: `What ${id} does`,
  industry: "Software",
  headquartersLocation: "Oslo",
  numberOfEmployees: 40,
  mainStockSymbol: id.toUpperCase(),
  fundingDataUrl: `https://funding.example/${id}`,
  professionalNetworkUrl: `https://network.example/${id}`,
  fiscalYearInfo: { endsIn: 12 },
  ...more,
});

export const aJob = (id: string, more: Record<string, unknown> = {}): Row => ({
  id,
  url: `https://jobs.example/${id}`,
  postedOn: "2026-05-01",
  title: "Engineer",
  ...more,
});

export const aNewsArticle = (id: string, more: Record<string, unknown> = {}): Row => ({
  id,
  url: `https://news.example/${id}`,
  datePublished: at(20),
  headline: `News ${id}`,
  ...more,
});

/** Scrambles 0..n-1 into ids that do not grow. */
export const opaque = (n: number): string => `p${((n * 2654435761) % 4294967296).toString(36)}`;

/** An organization with everything, sized by accounts. */
export const anOrganization = (accounts: number): FakeData => {
  const data = emptyData();
  for (let id = 1; id <= accounts; id++) {
    data.accounts.push(anAccount(id));
    data.companies.push(aCompany(`c_${id}`));
    data.insights[String(id)] = { summary: { keyInsights: [`insight ${id}`] } };
    data.lists[`c_${id}`] = {
      "news-articles": [aNewsArticle(`n${id}a`), aNewsArticle(`n${id}b`)],
      "job-openings": [aJob(`j${id}a`), aJob(`j${id}b`), aJob(`j${id}c`)],
      "earnings-calls": id % 2 === 0 ? [{ id: id * 10, year: 2026, quarter: 1 }] : [],
      filings: id % 2 === 0 ? [{ id: id * 10, type: "10-K", fiscalYear: 2026 }] : [],
    };
    for (let n = 0; n < 4; n++)
      data.contacts.push(
        aContact(opaque(id * 10 + n), { accountId: id, lastChangeDetectedOn: at((id * 7 + n) % 300) }),
      );
    for (let n = 0; n < 6; n++)
      data.signals.push(aSignal(id * 10 + n, { accountId: id, fullContent: `Full text ${id}/${n}` }));
  }
  for (let n = 0; n < 3; n++) data.owners.push({ id: `u_${n}`, name: `Owner ${n}` });
  return data;
};

// Fields of every resource, in the order of API.md, "Resources and their fields".
// A test reads API.md's tables and fails on any field that is missing or typed differently here.
import { fields, flag, integer, json, reference, score, small, text, texts, time } from "./fields.ts";

const required = { required: true } as const;
const optIn = { optIn: true } as const;

export const ACCOUNT_TYPES = ["prospect", "customer", "partner", "churned", "open-opportunity", "competitor", "other"];
export const PRIORITIES = [1, 2, 3];
export const CHANGE_TYPES = ["promotion", "newJoiner", "departure", "internalChange", "newInRole"];
export const CONTACT_TYPES = ["prospect", "champion", "contact"];
export const SIGNAL_TYPES = [
  "relevant-news",
  "hiring-alert",
  "hiring-alert-closed",
  "press-release",
  "m-and-a-alert",
  "funding-alert",
  "earnings-call",
  "filing-alert",
  "clinical-trial",
  "podcast",
  "media-document",
];

export const account = fields({
  id: integer("Account id.", required),
  organizationId: text("Organization that tracks the account.", required),
  companyId: reference("Canonical id of the linked company: companies.id."),
  ownerId: reference("User who owns the account: owners.id."),
  createdAt: time("When the account was created.", required),
  updatedAt: time("When the account last changed.", required),
  name: text("Name of the account."),
  domain: text("Internet domain of the account."),
  logoUrl: text("Address of the logo."),
  featuredImageUrl: text("Address of the featured image."),
  description: text("What the company does."),
  industry: text("Industry."),
  headquartersLocation: text("Location of the headquarters."),
  numberOfEmployees: integer("Number of employees."),
  type: text("Relationship with the account.", { required: true, allowed: ACCOUNT_TYPES }),
  priority: small("1 high, 2 medium, 3 low.", { allowed: PRIORITIES }),
  mainScore: score("0 to 100: recent activity and relevance."),
  mainScoreComponents: json("What the score is made of."),
  summary: json("Summary of the account."),
  insights: json("Insights about the account."),
  swotAnalysis: json("Strengths, weaknesses, opportunities, threats."),
  threeWhys: json("Why change, why now, why us."),
  valuePyramid: json("Value pyramid."),
  valueProposition: json("Value proposition."),
  valueHypothesis: json("Value hypothesis (internal name: highLevelMatch)."),
  pointOfView: json("Point of view."),
  professionalNetworkUrl: text("Profile on the professional network."),
  fundingDataUrl: text("Profile in the funding database."),
  contactDataUrl: text("Profile in the contact database."),
  crmUrl: text("Record in the CRM."),
  salesToolUrl: text("Record in the sales tool."),
  addedOn: time("When the account was added to the workspace."),
  lastRefreshAt: time("When the service last refreshed the account."),
  countryCode: text("Country of the headquarters, ISO 3166 alpha-2."),
});

export const contact = fields({
  id: text("Contact id.", required),
  organizationId: text("Organization that tracks the contact.", required),
  accountId: integer("Account the contact belongs to: accounts.id."),
  firstName: text("First name."),
  lastName: text("Last name."),
  currentTitle: text("Job title now."),
  currentCompanyName: text("Employer now."),
  changeType: text("Kind of the last career change.", { allowed: CHANGE_TYPES }),
  inCurrentRoleSince: time("Start of the current role."),
  lastChangeDetectedOn: time("When the last career change was detected."),
  mainScore: score("Targeting relevance."),
  professionalNetworkUrl: text("Profile on the professional network."),
  email: text("E-mail address."),
  emailStatus: text("Whether the e-mail address was verified."),
  phone: text("Phone number."),
  location: text("Where the contact lives."),
  previousTitle: text("Job title before the last change."),
  previousCompanyName: text("Employer before the last change."),
  profilePictureUrl: text("Address of the profile picture."),
  type: text("Role of the contact for the seller.", { allowed: CONTACT_TYPES }),
  contactRole: text("Role in the buying process."),
  personInsights: json("Insights about the person."),
  talkingPoints: json("Talking points for a conversation."),
  positionWhenFormerUser: json("Position held when the person was a user."),
  introPaths: texts("Ways to be introduced."),
  matchingTargetKeywords: texts("Target keywords that match."),
  matchingTargetJobTitles: texts("Target job titles that match."),
  matchingTargetLocations: texts("Target locations that match."),
  matchingTargetTechnologies: texts("Target technologies that match."),
});

export const signal = fields({
  id: integer("Signal id.", required),
  organizationId: text("Organization the signal was detected for.", required),
  accountId: integer("Account the signal is about: accounts.id.", required),
  type: text("Kind of business event.", { required: true, allowed: SIGNAL_TYPES }),
  subtype: text("Finer kind."),
  headline: text("Headline.", required),
  description: text("Short description."),
  date: time("When the event happened.", required),
  sources: texts("Addresses of the sources; named where the default response of the list lacks them.", {
    detailOnly: true,
  }),
  matchingKeywords: texts("Keywords of the organization that match."),
  relevance: json("Why the signal matters."),
  fullContent: text("Full text, when configured; from the detail route where the list has none.", {
    detailOnly: true,
  }),
  smartSummary: json("Generated summary."),
  playUrls: json("Addresses of audio or video."),
  slidesUrls: texts("Addresses of slides."),
  documentsUrls: texts("Addresses of documents."),
  clinicalTrialPrimaryCompletionDate: time("Primary completion date of the clinical trial."),
  clinicalTrialStudyCompletionDate: time("Study completion date of the clinical trial."),
  clinicalTrialLastKnownStatus: text("Last known status of the clinical trial."),
  clinicalTrialCollaborators: texts("Collaborators of the clinical trial."),
  createdAt: time("When the signal was created.", required),
  updatedAt: time("When the signal last changed.", required),
});

export const company = fields({
  id: text("Canonical company id.", required),
  name: text("Name of the company."),
  domain: text("Internet domain."),
  websiteUrl: text("Address of the website."),
  description: text("What the company does."),
  industry: text("Industry."),
  headquartersLocation: text("Location of the headquarters."),
  numberOfEmployees: integer("Number of employees."),
  mainStockSymbol: text("Main stock symbol."),
  fundingDataUrl: text("Profile in the funding database."),
  professionalNetworkUrl: text("Profile on the professional network."),
  contactDataUrl: text("Profile in the contact database (named in the field list only).", { namedOnly: true }),
  fiscalYearInfo: json("Fiscal year."),
  insights: json("Generated insights about the company.", optIn),
});

export const newsArticle = fields({
  id: text("Article id.", required),
  companyId: reference("Company the article is about: companies.id."),
  headline: text("Headline."),
  url: text("Address of the article.", required),
  datePublished: time("When the article was published.", required),
  description: text("Short description."),
  excerpt: text("Excerpt."),
  publisher: text("Publisher."),
  publisherUrl: text("Address of the publisher."),
  featuredImageUrl: text("Address of the featured image."),
  articleBody: text("Full text.", optIn),
});

export const jobOpening = fields({
  id: text("Job opening id.", required),
  companyId: reference("Company that hires: companies.id."),
  status: text("Status; values are not documented."),
  url: text("Address of the posting.", required),
  title: text("Job title."),
  companyName: text("Name of the company as posted."),
  location: text("Location."),
  postedOn: time("When the job was posted.", required),
  applicants: text("Number of applicants, as text."),
  seniorityLevel: text("Seniority."),
  employmentType: text("Full-time, part-time, contract, ..."),
  jobFunction: text("Function."),
  industries: text("Industries."),
  jobDescription: text("Full description.", optIn),
});

export const earningsCall = fields({
  id: integer("Earnings call id.", required),
  companyId: reference("Company that held the call: companies.id."),
  stockSymbol: text("Stock symbol."),
  year: small("Fiscal year of the call."),
  quarter: small("Fiscal quarter of the call."),
  happenedAt: time("When the call was held."),
  audioUrl: text("Address of the recording."),
  reportUrl: text("Address of the report."),
  presentationUrl: text("Address of the presentation."),
  fullTranscript: text("Full transcript.", optIn),
  generatedAnalysis: json("Generated analysis.", optIn),
});

export const filing = fields({
  id: integer("Filing id.", required),
  companyId: reference("Company that filed: companies.id."),
  type: text("Form, such as 10-K."),
  accessionNumber: text("Accession number."),
  url: text("Address of the filing."),
  filingDate: time("When it was filed."),
  reportDate: time("End of the period it reports on."),
  fiscalYear: small("Fiscal year."),
  quarter: small("Fiscal quarter."),
  fullContent: text("Full text.", optIn),
});

export const accountInsight = fields({
  accountId: integer("Account the insight is about: accounts.id.", required),
  status: text("Outcome of the lookup.", { required: true, allowed: ["found", "multiple_matches", "not_found"] }),
  profile: json("Profile section."),
  summary: json("Summary section: key insights, opportunities, challenges, people updates, top news, talking points."),
  research: json("Research section: overview, projects, goals, initiatives, financials."),
  swotAnalysis: json("Strengths, weaknesses, opportunities, threats."),
  value: json("Value section: three whys, value pyramid, propositions, hypothesis, point of view."),
});

export const owner = fields({
  id: text("User id.", required),
  data: json("The user as embedded in accounts; its shape is not documented."),
});

export const companyInput = fields({
  input: text("What was asked for: id, domain, website, stock symbol or profile address.", required),
  companyId: reference("Company it resolved to: companies.id."),
  status: text("Whether the service knows the input.", { allowed: ["found", "not_found"] }),
  resolvedAt: time("When it was resolved."),
});

export const signalCount = fields({
  capturedAt: time("When the counts were read.", required),
  type: text("`all`, `accounts` or a signal type.", required),
  count: integer("Number of signals (for `accounts`: of accounts with signals)."),
});

export const usageSnapshot = fields({
  capturedAt: time("When the service reported these figures.", required),
  source: text("`usage` (GET /v1/usage) or `response` (the usage block of another response)."),
  limit: integer("Credits of the period."),
  used: integer("Credits used in the period."),
  remaining: integer("Credits left in the period."),
  resetsAt: time("When the period ends."),
  window: text("Window of the totals."),
  from: time("Start of the window."),
  to: time("End of the window."),
  requests: integer("Requests in the window."),
  successful: integer("Successful requests in the window: those that cost a credit."),
  failed: integer("Failed requests in the window."),
});

export const usageBreakdown = fields({
  capturedAt: time("When the service reported these figures.", required),
  groupBy: text("What the key is: endpoint, apiKey or day.", required),
  key: text("Endpoint, key or day.", required),
  requests: integer("Requests."),
  successful: integer("Successful requests."),
  failed: integer("Failed requests."),
});

export const usageRequest = fields({
  id: integer("Request id.", required),
  occurredAt: time("When the request was made."),
  endpoint: text("Endpoint."),
  successful: flag("Whether it succeeded, and so cost a credit."),
  error: text("What went wrong."),
  apiKeyId: text("Key that made it."),
  input: json("Parameters of the request."),
});

export const usageLimit = fields({
  capturedAt: time("When the limits were read.", required),
  data: json("The contracted limits; their shape is not documented."),
});

/** Source: API.md, "POST /v1/feedback". */
export const FEEDBACK_CATEGORIES = ["missing-data", "wrong-data", "api-usability", "feature-request", "other"] as const;

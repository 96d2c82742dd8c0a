// Resources as API.md lists them, field by field. `!` marks a required field, `?opt` one that is opt-in.

export type Kind = "text" | "whole" | "small" | "score" | "flag" | "time" | "day" | "object" | "texts";

export interface Field {
  readonly name: string;
  readonly kind: Kind;
  readonly required: boolean;
  readonly optIn: boolean;
}

const fieldsOf = (lines: string): readonly Field[] =>
  lines
    .trim()
    .split(/\s+/)
    .map((entry): Field => {
      const [, name = "", kind = "text", mark = ""] = /^(\w+)(?::(\w+))?([!~]?)$/.exec(entry) ?? [];
      return { name, kind: kindOf(kind), required: mark === "!", optIn: mark === "~" };
    });

const KINDS: readonly Kind[] = ["text", "whole", "small", "score", "flag", "time", "day", "object", "texts"];
const kindOf = (text: string): Kind => {
  const kind = KINDS.find((each) => each === text);
  if (kind === undefined) throw new TypeError(`${text} is no kind of field`);
  return kind;
};

export const ACCOUNT = fieldsOf(`
  id:whole! organizationId! companyId ownerId createdAt:time! updatedAt:time! name domain logoUrl featuredImageUrl
  description industry headquartersLocation numberOfEmployees:whole type! priority:small mainScore:score
  mainScoreComponents:object summary:object insights:object swotAnalysis:object threeWhys:object valuePyramid:object
  valueProposition:object valueHypothesis:object pointOfView:object professionalNetworkUrl fundingDataUrl
  contactDataUrl crmUrl salesToolUrl addedOn:day lastRefreshAt:time countryCode`);

export const CONTACT = fieldsOf(`
  id! organizationId! accountId:whole firstName lastName currentTitle currentCompanyName changeType
  inCurrentRoleSince:day lastChangeDetectedOn:time mainScore:score professionalNetworkUrl email emailStatus phone
  location previousTitle previousCompanyName profilePictureUrl type contactRole personInsights:object
  talkingPoints:object positionWhenFormerUser:object introPaths:texts matchingTargetKeywords:texts
  matchingTargetJobTitles:texts matchingTargetLocations:texts matchingTargetTechnologies:texts`);

export const SIGNAL = fieldsOf(`
  id:whole! organizationId! accountId:whole! type! subtype headline! description date:day! sources:texts
  matchingKeywords:texts relevance:object fullContent smartSummary:object playUrls:object slidesUrls:texts
  documentsUrls:texts clinicalTrialPrimaryCompletionDate:day clinicalTrialStudyCompletionDate:day
  clinicalTrialLastKnownStatus clinicalTrialCollaborators:texts createdAt:time! updatedAt:time!`);

export const COMPANY = fieldsOf(`
  id! name domain websiteUrl description industry headquartersLocation numberOfEmployees:whole mainStockSymbol
  fundingDataUrl professionalNetworkUrl contactDataUrl fiscalYearInfo:object insights:object~`);

export const ARTICLE = fieldsOf(`
  id! companyId headline url! datePublished:time! description excerpt publisher publisherUrl featuredImageUrl
  articleBody~`);

export const JOB = fieldsOf(`
  id! companyId status url! title companyName location postedOn:day! applicants seniorityLevel employmentType
  jobFunction industries jobDescription~`);

export const CALL = fieldsOf(`
  id:whole! companyId stockSymbol year:small quarter:small happenedAt:time audioUrl reportUrl presentationUrl
  fullTranscript~ generatedAnalysis:object~`);

export const FILING = fieldsOf(`
  id:whole! companyId type accessionNumber url filingDate:day reportDate:day fiscalYear:small quarter:small
  fullContent~`);

export const HISTORY_ITEM = fieldsOf(`
  id:whole! occurredAt:time! endpoint! successful:flag! error apiKeyId input:object`);

export const OF_COMPANY = {
  "news-articles": ARTICLE,
  "job-openings": JOB,
  "earnings-calls": CALL,
  filings: FILING,
} as const;
export type CompanyList = keyof typeof OF_COMPANY;
export const COMPANY_LISTS = ["news-articles", "job-openings", "earnings-calls", "filings"] as const;

export const ACCOUNT_TYPES = [
  "prospect",
  "customer",
  "partner",
  "churned",
  "open-opportunity",
  "competitor",
  "other",
] as const;
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
] as const;

// Words for generated contacts and jobs: titles by department and how a career moves through them, roles in a deal, kinds of
// employment, levels of seniority.

export interface Department {
  readonly name: string;
  readonly titles: readonly string[];
  /** Requirements of an opening in this department. */
  readonly skills: readonly string[];
}

/** Titles rise from left to right: a promotion takes the next one. */
export const DEPARTMENTS: readonly Department[] = [
  {
    name: "Engineering",
    titles: [
      "Software Engineer",
      "Senior Software Engineer",
      "Engineering Manager",
      "Director of Engineering",
      "VP Engineering",
      "Chief Technology Officer",
    ],
    skills: ["distributed systems", "incident response", "mentoring", "API design"],
  },
  {
    name: "Data",
    titles: [
      "Data Analyst",
      "Senior Data Engineer",
      "Head of Analytics",
      "Director of Data Platforms",
      "Chief Data Officer",
    ],
    skills: ["SQL", "data modeling", "DuckDB", "stakeholder interviews"],
  },
  {
    name: "Sales",
    titles: [
      "Account Executive",
      "Senior Account Executive",
      "Regional Sales Manager",
      "Head of Sales",
      "VP Sales",
      "Chief Revenue Officer",
    ],
    skills: ["pipeline discipline", "negotiation", "territory planning", "CRM hygiene"],
  },
  {
    name: "Marketing",
    titles: [
      "Content Marketing Manager",
      "Demand Generation Lead",
      "Head of Growth",
      "VP Marketing",
      "Chief Marketing Officer",
    ],
    skills: ["positioning", "campaign analytics", "copywriting", "event planning"],
  },
  {
    name: "Finance",
    titles: ["Financial Analyst", "FP&A Manager", "Financial Controller", "VP Finance", "Chief Financial Officer"],
    skills: ["IFRS", "consolidation", "forecasting", "audit preparation"],
  },
  {
    name: "Operations",
    titles: [
      "Operations Coordinator",
      "Supply Chain Manager",
      "Plant Manager",
      "Director of Operations",
      "Chief Operating Officer",
    ],
    skills: ["lean production", "supplier management", "S&OP", "shift planning"],
  },
  {
    name: "People",
    titles: ["Recruiter", "HR Business Partner", "Head of Talent", "VP People", "Chief People Officer"],
    skills: ["workforce planning", "employer branding", "labor law", "coaching"],
  },
  {
    name: "Information Technology",
    titles: [
      "Systems Administrator",
      "IT Manager",
      "Head of Infrastructure",
      "Director of Information Security",
      "Chief Information Officer",
    ],
    skills: ["identity management", "vendor management", "ITIL", "cloud migration"],
  },
  {
    name: "Product",
    titles: [
      "Product Manager",
      "Senior Product Manager",
      "Group Product Manager",
      "VP Product",
      "Chief Product Officer",
    ],
    skills: ["discovery", "roadmaps", "pricing", "customer interviews"],
  },
];

export const EXECUTIVE_TITLES: readonly string[] = [
  "Chief Executive Officer",
  "Chief Financial Officer",
  "Chief Operating Officer",
];

export const CONTACT_ROLES: readonly string[] = [
  "Economic Buyer",
  "Champion",
  "Technical Evaluator",
  "Influencer",
  "User",
];
export const EMPLOYMENT_TYPES: readonly string[] = [
  "Full-time",
  "Full-time",
  "Full-time",
  "Part-time",
  "Contract",
  "Internship",
];
export const SENIORITIES: readonly string[] = ["Entry level", "Associate", "Mid-Senior level", "Director", "Executive"];

/** Position of a title in its department, and the next one. */
export const nextTitle = (title: string): string | undefined => {
  for (const { titles } of DEPARTMENTS) {
    const index = titles.indexOf(title);
    if (index >= 0) return titles[index + 1];
  }
  return undefined;
};

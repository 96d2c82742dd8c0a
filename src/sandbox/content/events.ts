// Templates of the headlines and descriptions of signals and news by type, and of the lines of account insights. prose.ts
// fills the words in braces: {aTitle}, {round}, {amount}, ... per event.

export interface EventTemplate {
  readonly subtype: string;
  readonly headline: string;
  readonly description: string;
}

const event = (subtype: string, headline: string, description: string): EventTemplate => ({
  subtype,
  headline,
  description,
});

export const EVENTS = {
  "relevant-news": [
    event(
      "expansion",
      "{company} expands its {product} business to {city}",
      "{company} opens a new site in {city} and plans to hire {count} people for its {product}.",
    ),
    event(
      "partnership",
      "{company} and {rival} agree to cooperate on {technology}",
      "The two companies will jointly offer {technology} to {customer}; {company} brings its {product}.",
    ),
    event(
      "customer-win",
      "{company} wins a {small}-year contract for its {product}",
      "One of the largest {customer} chose {company} after a tender with {small} bidders.",
    ),
    event(
      "cost-cutting",
      "{company} reviews spending on {technology}",
      "Under pressure from higher costs, {company} puts projects worth {millions} under review.",
    ),
    event(
      "leadership",
      "{person} takes a new role at {company}",
      "{company} reorganizes its leadership; {person} becomes responsible for {product}.",
    ),
    event(
      "award",
      "{company} named among the best suppliers of {customer}",
      "A jury of {customer} singled out the {product} of {company}.",
    ),
  ],
  "press-release": [
    event(
      "product-launch",
      "{company} launches new {product} for {customer}",
      "The new {product} builds on {technology} and is available from today.",
    ),
    event(
      "sustainability",
      "{company} cuts emissions by {percent}",
      "{company} publishes its sustainability report and sets a new target for {small} years from now.",
    ),
    event(
      "results",
      "{company} reports growth of {percent}",
      "Driven by its {product}, {company} raised revenue to {millions}.",
    ),
    event(
      "certification",
      "{company} certified for {technology}",
      "The certificate covers all sites of {company}, including {city}.",
    ),
  ],
  "hiring-alert": [
    event(
      "new-opening",
      "{company} is hiring {aTitle} in {city}",
      "{company} opened a position for {aTitle} ({department}) in {city}.",
    ),
  ],
  "hiring-alert-closed": [
    event(
      "closed-opening",
      "{company} closed its search for {aTitle} in {city}",
      "The opening for {aTitle} in {city} is no longer listed.",
    ),
  ],
  "funding-alert": [
    event(
      "funding-round",
      "{company} raises {amount} in {round} led by {lead}",
      "{lead} led the {round} of {company} with participation of {others}. The money goes into the {product} and into {city}.",
    ),
  ],
  "m-and-a-alert": [
    event(
      "acquisition",
      "{company} acquires {rival} to strengthen its {product}",
      "{company} takes over {rival} for {millions}; closing is expected within {small} months.",
    ),
    event(
      "divestiture",
      "{company} sells a stake in its {product} unit",
      "{company} agreed to sell a minority stake in the unit to {lead} for {millions}.",
    ),
  ],
  "earnings-call": [
    event(
      "quarterly-call",
      "{company} Q{quarter} {year} earnings call: revenue up {percent}",
      "{company} held its earnings call for the quarter; {product} and {city} were the main topics.",
    ),
  ],
  "filing-alert": [
    event(
      "regulatory-filing",
      "{company} files {form} for fiscal {year}",
      "{company} submitted form {form}; risk factors now mention {technology}.",
    ),
  ],
  "clinical-trial": [
    event(
      "trial-update",
      "{company} reports on phase {phase} trial of its {product}",
      "The trial enrolled {count} patients at sites of {customer}; the status is now {status}.",
    ),
  ],
  podcast: [
    event(
      "interview",
      "{person} of {company} on {technology}",
      "In the episode {person} talks about {product}, hiring in {city} and what {customer} ask for.",
    ),
  ],
  "media-document": [
    event(
      "slides",
      "{company} presents its {product} roadmap",
      "Slides of {company} from a conference in {city}, with figures on {customer}.",
    ),
  ],
} as const satisfies Record<string, readonly EventTemplate[]>;

export type EventType = keyof typeof EVENTS;

/** Lines of the generated insights, by list. */
export const INSIGHT_LINES = {
  opportunities: [
    "{company} hires in {city}, and its {product} will need support there.",
    "The budget for {technology} was raised by {percent} this year.",
    "A new leader for {product} reviews vendors in the first {small} months.",
    "{company} asks {customer} for references, a sign of an open evaluation.",
  ],
  challenges: [
    "{company} depends on few large {customer}.",
    "The migration to {technology} is behind plan by {small} months.",
    "{rival} undercuts the price of the {product} by {percent}.",
    "Open positions in {city} stay unfilled for {count} days.",
  ],
  strengths: [
    "The {product} is well established among {customer}.",
    "{company} finances its growth from cash flow of {millions}.",
    "Early and deep use of {technology}.",
    "{percent} of customers buy more than one product.",
  ],
  weaknesses: [
    "Little presence outside the region of {city}.",
    "Systems from {small} acquisitions are not integrated yet.",
    "{percent} of revenue comes from one product, the {product}.",
  ],
  threats: [
    "{rival} entered the market for {product}.",
    "New rules for {customer} could delay purchases.",
    "A shortage of people who know {technology}.",
  ],
  initiatives: [
    "Roll out the {product} to {small} more countries.",
    "Move core systems to {technology} within {small} quarters.",
    "Raise the share of subscriptions to {percent}.",
    "Build a second site in {city} with {count} employees.",
  ],
  financials: [
    "Last reported revenue: {millions}, up {percent}.",
    "Operating margin of {percent} in the last fiscal year.",
    "Net debt of {millions}, mostly long-term.",
  ],
  talkingPoints: [
    "Ask how the team in {city} handles {technology} today.",
    "Refer to the new {product} and to what {customer} say about it.",
    "{rival} took {small} months for the same project; offer a shorter way.",
  ],
  overview: [
    "{company} sells its {product} to {customer}.",
    "The company is based in {city} and is known for {technology}.",
    "It competes mainly with {rival}.",
  ],
  macro: [
    "Higher interest rates make {customer} postpone projects.",
    "Demand in the sector is expected to grow by {percent} a year.",
    "Energy costs weigh on suppliers around {city}.",
  ],
  quotes: [
    "We will double down on {technology}.",
    "Our {customer} expect answers within {small} days, not weeks.",
    "The {product} is what we will be known for in five years.",
  ],
} as const satisfies Record<string, readonly string[]>;

// Sentences of earnings calls, filings, articles and job descriptions. prose.ts fills in slots such as `{company}`.

import { createRandom } from "../random.ts";
import { fill, paragraphs, type Slots, sentences } from "./prose.ts";

// Long texts: transcripts of several thousand words, articles, job descriptions, filings. Each is a pure function of
// a seed: rows hold a function until they are loaded, so thousands of transcripts are never in memory at once.

/** Earnings call of 2,500 to 5,000 words: opening, remarks of two executives, questions and answers. */
export const transcript = (seed: string, slots: Slots, speakers: readonly string[], title: string): string => {
  const random = createRandom(seed);
  const [chief = "Chief Executive", finance = "Chief Financial Officer"] = speakers;
  const parts = [
    `Operator: Good day, and welcome to the ${title}. All lines are muted. After the remarks there will be questions.`,
    `${chief}: ${paragraphs(REMARKS, random.int(900, 1700), slots, random).join("\n\n")}`,
    `${finance}: ${paragraphs(REMARKS, random.int(700, 1300), slots, random).join("\n\n")}`,
    "Operator: We now come to the questions.",
  ];
  for (let question = random.int(7, 11); question > 0; question--) {
    parts.push(`Analyst ${question}: ${sentences(QUESTIONS, random.int(1, 2), slots, random).join(" ")}`);
    parts.push(`${random.pick([chief, finance])}: ${sentences(ANSWERS, random.int(4, 8), slots, random).join(" ")}`);
  }
  parts.push("Operator: This concludes today's call. You may now disconnect.");
  return parts.join("\n\n");
};

const report = (seed: string, slots: Slots, lead: string, least: number, most: number): string => {
  const random = createRandom(seed);
  return [lead, ...paragraphs(REPORTS, random.int(least, most), slots, random)].join("\n\n");
};

/** Article of 200 to 500 words. */
export const article = (seed: string, slots: Slots, lead: string): string => report(seed, slots, lead, 200, 500);

/** Full content of a signal, 80 to 240 words. */
export const signalText = (seed: string, slots: Slots, lead: string): string => report(seed, slots, lead, 80, 240);

/** Job description of 150 to 300 words. */
export const jobDescription = (seed: string, slots: Slots, title: string): string => {
  const random = createRandom(seed);
  const intro = fill("{company} is looking for a", slots, random);
  return [`${intro} ${title}.`, ...paragraphs(DUTIES, random.int(150, 300), slots, random)].join("\n\n");
};

/** Filing of 800 to 1,800 words. */
export const filingText = (seed: string, slots: Slots, title: string): string => {
  const random = createRandom(seed);
  return [title, ...paragraphs(DISCLOSURES, random.int(800, 1800), slots, random)].join("\n\n");
};

/** Prepared remarks of an earnings call. */
export const REMARKS: readonly string[] = [
  "Revenue for the quarter came in at {millions}, up {percent} from the same quarter a year ago.",
  "Demand for our {product} from {customer} was stronger than we had planned for at the start of the year.",
  "Gross margin improved by {small} percentage points, helped by better utilization and by lower freight costs.",
  "We signed {count} new customers in the quarter, among them several {customer} in {city}.",
  "Our investment in {technology} is beginning to show in the numbers, and we intend to keep going.",
  "Operating expenses grew by {percent}, mostly because of the people we hired in engineering and in the field.",
  "Free cash flow was {millions}, which lets us fund the expansion without drawing on the credit line.",
  "In {city} we opened a second site, and the first {count} colleagues have moved in.",
  "Churn remained low, and customers who use more than one product now stand for {percent} of recurring revenue.",
  "The backlog at the end of the period was {millions}, of which we expect to deliver about {percent} within twelve months.",
  "Currency took away roughly {small} points of growth, a little less than in the previous quarter.",
  "We completed the migration of our {product} to {technology} ahead of schedule.",
  "Pricing held up well, and discounts were {percent} below those of last year.",
  "Compared with {rival} we believe that we win on time to value rather than on price.",
  "We also renewed our agreement with one of the largest {customer} for another {small} years.",
  "Inventory is back at a level that we consider healthy, after {small} quarters of working it down.",
  "Regulation remains a topic, and our team in {city} is in a constructive exchange with the authorities.",
  "Capital expenditure was {millions} and will be somewhat higher in the second half because of the new line.",
  "I would like to thank the team, who delivered the {product} on time despite a difficult supply situation.",
  "We repurchased {count} thousand shares and keep the remaining authorization for periods of weakness.",
  "The share of sales that comes from outside our home market reached {percent}, a record for {company}.",
  "We expect the mix to shift further towards subscriptions, which weighs on revenue now and helps it later.",
  "Our net promoter score among {customer} rose by {small} points.",
  "For the full year we now expect growth of {percent}, at the upper end of the range we gave before.",
  "Research and development stood at {percent} of revenue, in line with our long-term model.",
  "We have decided to end the pilot in {city} and to move those resources to {product}.",
];

/** Questions from analysts. */
export const QUESTIONS: readonly string[] = [
  "Thank you for taking my question. Could you help us understand how much of the growth comes from {customer}?",
  "Congratulations on the quarter. What are you seeing in {city}, and is it any different from what {rival} reported?",
  "Could you walk us through the bridge from gross margin this quarter to the target of the year?",
  "How should we think about hiring in the coming quarters, given that you already added {count} people?",
  "On capital allocation: is an acquisition around {technology} still on the table?",
  "You mentioned pricing. Is there any resistance from {customer}, and how long are the contracts?",
  "What would have to happen for the {product} to reach break-even earlier than planned?",
  "Could you size the effect of currency and of the extra week separately?",
  "How dependent are you on a single supplier, and what does dual sourcing cost you?",
  "Is the pipeline for next year already at the level at which it stood at this time last year?",
];

/** Answers of the company. */
export const ANSWERS: readonly string[] = [
  "Sure. About {percent} of the growth is volume, and the rest is price and mix.",
  "We look at it the same way every quarter: customers first buy the {product}, and expand within {small} months.",
  "I would not read too much into a single quarter, but the trend over the last {small} quarters is clear.",
  "The team in {city} has done a remarkable job, and we will report on it in more detail at the investor day.",
  "We are disciplined. If an asset fits and the price is right we move, otherwise we build it ourselves.",
  "With {customer} the contracts usually run for {small} years, so changes come through gradually.",
  "On {technology} we are further along than most people think; about {percent} of the work is behind us.",
  "There is some seasonality in there, so please do not simply annualize the number.",
  "We have qualified a second source, and the cost of that was roughly {millions}, most of it already spent.",
  "As to {rival}, we rarely comment on others, but our win rate was stable at around {percent}.",
  "The guidance assumes no improvement in the environment, and that is deliberate.",
  "That is a fair question, and the short answer is that utilization will get us there without new capacity.",
];

/** Body of a news article or of the full content of a signal. */
export const REPORTS: readonly string[] = [
  "{company} said on the day of the announcement that the plan had been in the making for {small} quarters.",
  "According to people familiar with the matter, the budget amounts to {millions}.",
  "The move follows similar steps by {rival}, which had presented its own plans earlier in the year.",
  "“We see a clear need among {customer},” said {person} of {company}.",
  "At the center of the project stands the {product}, which the company has been refining since its launch.",
  "Some {count} positions are to be created in {city} and at other sites over the next {small} years.",
  "Analysts had expected the decision, but not at this pace.",
  "The technical basis is {technology}, which {company} introduced in its own operations first.",
  "Shares of comparable companies rose by up to {percent} in the days before.",
  "A spokesperson declined to comment on the terms of the agreement.",
  "Customers in the region welcomed the news; several {customer} had asked for an offer of this kind.",
  "The company had last reported annual revenue of {millions}.",
  "Works councils and local authorities were informed in advance.",
  "“It is the right step at the right time,” {person} added, “and it pays for itself within {small} years.”",
  "The first results are expected by the end of the year.",
  "In the past twelve months {company} had already increased its workforce by {percent}.",
];

/** Paragraphs of a job description. */
export const DUTIES: readonly string[] = [
  "You work with colleagues in {city} and with teams in {small} other countries.",
  "You take responsibility for our {product} and for the people who rely on it, above all {customer}.",
  "You know {skill} from practice and can explain it to people who do not.",
  "Experience with {technology} is welcome, the will to learn it is enough.",
  "You bring {small} or more years of experience in a comparable role.",
  "You plan and report on a budget of about {millions}.",
  "We offer flexible hours, {count} minutes of learning time a week, and a say in what we build.",
  "You enjoy {skill}, and you notice when something can be left out.",
  "{company} is an equal-opportunity employer; we read every application.",
  "Travel amounts to about {percent} of the time, mostly to customers.",
  "You improve how we work with {rival} and other partners in the market.",
  "The position is open from now on; part-time is possible.",
];

/** Sections of a regulatory filing. */
export const DISCLOSURES: readonly string[] = [
  "The Company derives a substantial part of its revenue from {customer}, and a decline in their spending would affect its results.",
  "Net revenue for the period was {millions}, compared with {millions} in the corresponding period of the prior year.",
  "The increase of {percent} was primarily attributable to higher volumes of the {product}.",
  "Cost of revenue consists of personnel, materials, depreciation and fees for {technology}.",
  "The Company competes with {rival} and others, some of which have greater resources.",
  "As of the end of the period, cash and cash equivalents amounted to {millions}.",
  "The Company leases {small} facilities, including its headquarters in {city}.",
  "The effective tax rate was {percent}, compared with {percent} in the prior-year period.",
  "There were no changes in internal control over financial reporting that have materially affected, or are likely to affect, it.",
  "The Company is party to {small} legal proceedings that arise in the ordinary course of business.",
  "Stock-based compensation expense of {millions} was recognized in the period.",
  "Management believes that existing resources will be sufficient for at least the next twelve months.",
  "Goodwill was tested for impairment; none was recorded.",
  "A failure or breach of the systems that run the {product} could harm the Company's reputation.",
];

// Words for generated companies: their industries with products, customers and news, parts of their names, their investors, and
// the publishers that write about them.

export interface Industry {
  readonly name: string;
  /** Endings of company names in this industry. */
  readonly suffixes: readonly string[];
  readonly products: readonly string[];
  readonly customers: readonly string[];
  readonly technologies: readonly string[];
  /** True when clinical trials are among its events. */
  readonly clinical?: boolean;
}

export const INDUSTRIES: readonly Industry[] = [
  {
    name: "Software",
    suffixes: ["Software", "Systems", "Labs", "Cloud", "Stack"],
    products: ["workflow platform", "developer portal", "billing suite", "observability cloud", "low-code studio"],
    customers: ["mid-market IT teams", "platform engineers", "finance departments", "digital agencies"],
    technologies: ["Kubernetes", "PostgreSQL", "TypeScript", "Snowflake", "Kafka"],
  },
  {
    name: "Cybersecurity",
    suffixes: ["Security", "Shield", "Defense", "Sentinel"],
    products: ["identity gateway", "threat exchange", "endpoint agent", "zero-trust broker"],
    customers: ["banks", "public authorities", "hospital groups", "security operations centers"],
    technologies: ["SIEM", "FIDO2", "eBPF", "SOAR", "Rust"],
  },
  {
    name: "Biotechnology",
    suffixes: ["Therapeutics", "Biosciences", "Genomics", "Biologics"],
    products: ["antibody program", "gene therapy candidate", "mRNA platform", "companion diagnostic"],
    customers: ["oncology centers", "research hospitals", "contract manufacturers", "health insurers"],
    technologies: ["CRISPR", "single-cell sequencing", "LIMS", "AlphaFold"],
    clinical: true,
  },
  {
    name: "Medical Devices",
    suffixes: ["Medical", "Devices", "Instruments", "MedTech"],
    products: ["infusion pump line", "imaging workstation", "surgical robot", "glucose sensor"],
    customers: ["surgical centers", "hospital groups", "home-care providers", "clinics"],
    technologies: ["DICOM", "FHIR", "ISO 13485", "edge inference"],
    clinical: true,
  },
  {
    name: "Industrial Automation",
    suffixes: ["Automation", "Robotics", "Controls", "Werke"],
    products: ["welding cell", "warehouse robot", "motion controller", "machine-vision line"],
    customers: ["automotive suppliers", "packaging plants", "contract manufacturers", "food processors"],
    technologies: ["OPC UA", "PLC", "digital twins", "ROS 2"],
  },
  {
    name: "Logistics",
    suffixes: ["Logistics", "Freight", "Cargo", "Forwarding"],
    products: ["cold-chain network", "freight marketplace", "last-mile service", "customs desk"],
    customers: ["retailers", "pharma shippers", "online shops", "importers"],
    technologies: ["TMS", "EDI", "telematics", "route optimization"],
  },
  {
    name: "Renewable Energy",
    suffixes: ["Energy", "Solar", "Wind", "Renewables", "Power"],
    products: ["battery storage park", "offshore wind farm", "solar leasing program", "heat-pump service"],
    customers: ["utilities", "municipalities", "industrial parks", "housing associations"],
    technologies: ["SCADA", "lithium iron phosphate", "virtual power plants", "green hydrogen"],
  },
  {
    name: "Banking",
    suffixes: ["Bank", "Bancorp", "Financial", "Trust"],
    products: ["treasury platform", "instant-payment service", "green loan program", "private banking desk"],
    customers: ["small businesses", "family offices", "exporters", "retail savers"],
    technologies: ["ISO 20022", "mainframe migration", "open banking", "fraud scoring"],
  },
  {
    name: "Insurance",
    suffixes: ["Insurance", "Assurance", "Mutual", "Underwriters"],
    products: ["cyber policy", "parametric crop cover", "telematics motor policy", "claims portal"],
    customers: ["fleet operators", "farmers", "landlords", "freelancers"],
    technologies: ["Guidewire", "actuarial modeling", "document AI", "IFRS 17"],
  },
  {
    name: "Retail",
    suffixes: ["Retail", "Stores", "Market", "Outfitters"],
    products: ["store-brand range", "loyalty program", "click-and-collect service", "marketplace"],
    customers: ["young families", "commuters", "outdoor enthusiasts", "students"],
    technologies: ["RFID", "headless commerce", "demand forecasting", "POS"],
  },
  {
    name: "Food & Beverages",
    suffixes: ["Foods", "Brewing", "Dairy", "Kitchens"],
    products: ["plant-based line", "craft beverage range", "frozen bakery", "infant nutrition brand"],
    customers: ["supermarket chains", "canteens", "restaurants", "wholesalers"],
    technologies: ["precision fermentation", "HACCP", "aseptic filling", "traceability"],
  },
  {
    name: "Semiconductors",
    suffixes: ["Semiconductor", "Microsystems", "Photonics", "Silicon"],
    products: ["power module", "silicon photonics transceiver", "radar chip", "edge AI accelerator"],
    customers: ["car makers", "data-center operators", "network vendors", "drone makers"],
    technologies: ["silicon carbide", "EUV", "RISC-V", "chiplets"],
  },
  {
    name: "Telecommunications",
    suffixes: ["Telecom", "Networks", "Mobile", "Fiber"],
    products: ["private 5G service", "fiber roll-out", "IoT connectivity plan", "voice platform"],
    customers: ["municipalities", "factories", "carriers", "shipping lines"],
    technologies: ["Open RAN", "5G", "SD-WAN", "DWDM"],
  },
  {
    name: "Construction",
    suffixes: ["Construction", "Building", "Infrastructure", "Bau"],
    products: ["modular housing line", "tunnel project", "bridge renewal program", "timber tower"],
    customers: ["cities", "developers", "rail operators", "universities"],
    technologies: ["BIM", "prefabrication", "low-carbon concrete", "drones"],
  },
  {
    name: "Education Technology",
    suffixes: ["Learning", "Academy", "Education"],
    products: ["assessment platform", "language course", "campus suite", "tutoring service"],
    customers: ["school districts", "universities", "corporate training teams", "parents"],
    technologies: ["LTI", "adaptive testing", "speech recognition", "SCORM"],
  },
  {
    name: "Aerospace",
    suffixes: ["Aerospace", "Aviation", "Space", "Dynamics"],
    products: ["small-satellite bus", "cabin retrofit", "cargo drone", "propulsion module"],
    customers: ["airlines", "space agencies", "defense ministries", "leasing companies"],
    technologies: ["additive manufacturing", "composites", "DO-178C", "electric propulsion"],
  },
];

/** First parts of company names. */
export const NAME_STEMS: readonly string[] =
  "Alder,Altura,Amber,Anchor,Arbor,Argent,Aster,Atlas,Aurora,Avanti,Bergen,Birch,Blue Harbor,Bright Field,Cadence,Caldera,Cedar,Cobalt,Copper Hill,Corvus,Delta,Dorado,Ember,Equinox,Everline,Falcon,Fjord,Forge,Frontera,Gamma,Granite,Green Valley,Halcyon,Harrow,Helio,Horizon,Indigo,Ironwood,Juniper,Kestrel,Keystone,Lakeside,Lumen,Lynx,Mariner,Meridian,Mistral,Monarch,Nimbus,Noble,Nordlys,Nova,Oakridge,Obsidian,Onyx,Orchard,Orion,Palisade,Paragon,Pioneer,Polaris,Quantum,Quarry,Radian,Redwood,Ridgeline,Rivet,Sable,Saffron,Sequoia,Sierra,Silver Birch,Solstice,Stellar,Sterling,Summit,Tandem,Terra,Thistle,Tidewater,Topaz,Trident,Umbra,Unity,Vantage,Vector,Velvet,Verdant,Vertex,Vista,Willow,Wolfram,Zenith,Zephyr".split(
    ",",
  );

export const INVESTORS: readonly string[] = [
  "Northgate Capital",
  "Blue Lantern Ventures",
  "Sequent Partners",
  "Harbor & Vine",
  "Rheinwert Beteiligungen",
  "Meridiem Growth",
  "Koi Pond Capital",
  "Atlântico Ventures",
  "Fjordbank Growth",
  "Stonebridge Equity",
  "Lumière Capital",
  "Third Rail Ventures",
];

export const PUBLISHERS: readonly (readonly [name: string, url: string])[] = [
  ["The Ledger", "https://theledger.example"],
  ["Handelsnachrichten", "https://handelsnachrichten.example"],
  ["Industry Wire", "https://industrywire.example"],
  ["Le Courrier Économique", "https://courrier-economique.example"],
  ["TechDispatch", "https://techdispatch.example"],
  ["Morning Markets", "https://morningmarkets.example"],
  ["Diario Empresa", "https://diarioempresa.example"],
  ["日経フォーラム", "https://nikkei-forum.example"],
];

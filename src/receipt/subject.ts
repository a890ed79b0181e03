import type { ConfiguredFamily, Family, FamilyServices } from '../family/contract.ts'
import { FAMILIES } from '../family/mod.ts'
import type { FinanceChain } from '../finance/chain.ts'
import { createPriceMarket } from '../finance/price/table/kamino.ts'
import type { Route } from '../http/route/route.ts'
import { getPortfolioRevision, portfolioRoutes } from '../portfolio/mod.ts'

/** What gives an answer: a family, or portfolios, which rest on all families of EVM chains. */
export interface Subject extends Pick<Family, 'name' | 'network' | 'revision'> {
  readonly families: readonly Family[]
}

/** A subject with its families' settings. */
export interface ConfiguredSubject extends Pick<Family, 'name' | 'network' | 'revision'> {
  readonly families: readonly ConfiguredFamily[]
  /** True if the contracts name their price sources, so that the chain's sources affect no figure. */
  readonly hasOwnPrices: boolean
  /** True if it reads all tokens of a chain's lists. */
  readonly readsTokens: boolean
}

const PORTFOLIO = 'portfolio'
const EVM_FAMILIES = FAMILIES.filter(({ network }) => network === 'evm')

/** Returns the subject of that name; undefined for an unknown one. */
export function findSubject(name: string): Subject | undefined {
  if (name === PORTFOLIO) return toPortfolio(EVM_FAMILIES)
  const family = FAMILIES.find((each) => each.name === name)
  return family && { ...toFacts(family), families: [family] }
}

/** Configures a subject by rows of a `CHAINS_FILE` that were checked, by chain id. */
export function configureSubject(
  subject: Subject,
  rows: ReadonlyMap<number, unknown>,
): { readonly subject: ConfiguredSubject; readonly mistakes: readonly string[] } {
  const families = subject.families.map((family) => family.configure(rows))
  return { subject: toConfigured(subject, families), mistakes: families.flatMap(({ mistakes }) => mistakes) }
}

/** Finds what answers a path among the families of a configuration. Throws for a path that nothing answers. */
export function requireSubject(families: readonly ConfiguredFamily[], path: string): ConfiguredSubject {
  const [, , room, name] = path.split('/')
  if (room === PORTFOLIO) {
    const evm = families.filter(({ network }) => network === 'evm')
    return toConfigured(toPortfolio(evm), evm)
  }
  const family = families.find((each) => each.name === name)
  if (family === undefined) throw new Error(`Cannot find the family of ${path}`)
  return toConfigured(family, [family])
}

/** A portfolio answers otherwise if a family does. */
function toPortfolio<Each extends Pick<Family, 'revision'>>(families: readonly Each[]) {
  return { name: PORTFOLIO, network: 'evm', revision: getPortfolioRevision(families), families } as const
}

function toFacts({ name, network, revision }: Pick<Family, 'name' | 'network' | 'revision'>) {
  return { name, network, revision }
}

function toConfigured(
  facts: Pick<Family, 'name' | 'network' | 'revision'>,
  families: readonly ConfiguredFamily[],
): ConfiguredSubject {
  const readsTokens = facts.name === PORTFOLIO
  return { ...toFacts(facts), families, hasOwnPrices: families.every((each) => each.hasOwnPrices), readsTokens }
}

/** Creates the routes of a subject over these services. */
export function createSubjectRoutes(
  { families, readsTokens }: ConfiguredSubject,
  setup: {
    readonly chains: readonly FinanceChain[]
    readonly servesSolana: boolean
    readonly connect: () => FamilyServices
  },
): readonly Route[] {
  const { chains, ...rest } = setup
  const familySetup = { ...rest, chainIds: chains.map(({ id }) => id) }
  if (!readsTokens) return families.flatMap((family) => family.routes(familySetup))
  const nativeDoubles = new Map(chains.map(({ id, nativeDoubles: doubles = [] }) => [id, doubles]))
  return portfolioRoutes({ ...familySetup, families, nativeDoubles, priceMarket: createPriceMarket() })
}

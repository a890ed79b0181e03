import { usageRoutes } from '../account/routes.ts'
import { SOLANA_CHAIN_ID } from '../chain/solana/client.ts'
import type { Config } from '../config/config.ts'
import {
  type BackgroundWork,
  type FamilyServices,
  type IndexableHistory,
  refuseToConnect,
  type WatchableFamily,
} from '../family/contract.ts'
import { familyAliases } from '../family/mod.ts'
import { GATEWAY_PATH } from '../http/exchange/gateway.ts'
import { openapiDocument } from '../http/openapi/document.ts'
import type { Route } from '../http/route/route.ts'
import { createRouteTable } from '../http/route/route_table.ts'
import type { Switchboard } from '../operator/switches.ts'
import { portfolioRoutes, portfolioWork, watchPortfolio } from '../portfolio/mod.ts'
import { nameRoute } from '../portfolio/name/routes.ts'
import { eventsRoute } from '../trigger/routes/events.ts'
import { getLoggedPath } from '../trigger/routes/logged_path.ts'
import type { TriggerServices } from '../trigger/routes/route_parts.ts'
import { triggerRoutes } from '../trigger/routes/triggers.ts'
import { webhookRoutes } from '../trigger/routes/webhooks.ts'
import examples from './examples.json' with { type: 'json' }

/** Creates all routes of this configuration. They call `connect` and `messaging` at their first read. */
export function createServiceRoutes(
  config: Config,
  connect: () => FamilyServices,
  messaging: () => TriggerServices = refuseToConnect,
): readonly Route[] {
  const { families } = config
  const familySetup = createFamilySetup(config, connect)
  // The usage route's path filter reads the table that holds the usage route itself.
  const usage = usageRoutes({ db: () => connect().db, getTemplate: (path) => getLoggedPath(table, path) })
  const portfolio = portfolioRoutes(createPortfolioSetup(config, connect))
  const watched = { families: listWatchableFamilies(config, connect), solanaChainId: SOLANA_CHAIN_ID }
  const routes = [
    ...families.flatMap((family) => family.routes(familySetup)),
    ...portfolio,
    nameRoute({ connect }),
    ...triggerRoutes(messaging, watched),
    ...webhookRoutes(messaging),
    eventsRoute(messaging),
    ...usage,
  ]
  const table = createRouteTable(routes, familyAliases(families))
  return routes
}

/** Lists the global histories that can be indexed ahead. */
export function listHistories(config: Config, connect: () => FamilyServices): readonly IndexableHistory[] {
  return config.families.flatMap((family) => family.histories(createFamilySetup(config, connect)))
}

/** Lists the background work of families. */
export function listBackgroundWork(config: Config, connect: () => FamilyServices): readonly BackgroundWork[] {
  const works = config.families.map((family) => family.work(createFamilySetup(config, connect), config.featuresOff))
  const additional = config.featuresOff.includes('snapshots')
    ? []
    : [portfolioWork(createPortfolioSetup(config, connect))]
  return [...works.filter((work) => work !== undefined), ...additional]
}

/** Lists what triggers can watch: families, and wallets across them. */
export function listWatchableFamilies(config: Config, connect: () => FamilyServices): readonly WatchableFamily[] {
  const setup = createFamilySetup(config, connect)
  const watched = config.families.map((family) => family.watch(setup)).filter((each) => each !== undefined)
  return [...watched, watchPortfolio(createPortfolioSetup(config, connect))]
}

function createPortfolioSetup(config: Config, connect: () => FamilyServices) {
  const { chains, families, solana } = config
  const nativeDoubles = new Map(chains.map((chain) => [chain.id, chain.nativeDoubles ?? []]))
  return { ...createFamilySetup(config, connect), families, nativeDoubles, priceMarket: solana.priceMarket }
}

function createFamilySetup({ chains, solana }: Config, connect: () => FamilyServices) {
  return { chainIds: chains.map(({ id }) => id), servesSolana: solana.rpcUrls.length > 0, connect }
}

/** Returns the OpenAPI document of these routes, without those that the configuration switches off. */
export function openapiText(routes: readonly Route[], config: Config): string {
  const { chains, solana, publicUrl, operatorPort, featuresOff } = config
  const names = Object.fromEntries(chains.map(({ id, name }) => [id, name]))
  const sites = [...chains, { id: SOLANA_CHAIN_ID, explorer: solana.explorer }]
  const explorers = Object.fromEntries(sites.flatMap(({ id, explorer }) => (explorer ? [[id, explorer]] : [])))
  const servedRoutes = routes.filter(({ feature }) => feature === undefined || !featuresOff.includes(feature))
  const operatorApart = operatorPort !== undefined
  return openapiDocument({ routes: servedRoutes, examples, publicUrl, chains: names, explorers, operatorApart })
}

/** Returns the OpenAPI document of this configuration, without connecting. */
export function describeServices(config: Config): string {
  return openapiText(createServiceRoutes(config, refuseToConnect), config)
}

/** Creates the list of features and endpoints that the operator can switch. */
export function createSwitchboard(config: Config, routes = createServiceRoutes(config, refuseToConnect)): Switchboard {
  const { endpoints } = createRouteTable(routes, familyAliases(config.families))
  return { endpoints: [...endpoints.map(({ name }) => name), `POST ${GATEWAY_PATH}`], featuresOff: config.featuresOff }
}

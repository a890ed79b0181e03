import { usageRoutes } from '../account/routes.ts'
import { SOLANA_CHAIN_ID } from '../chain/solana/client.ts'
import type { BackgroundWork, FamilyServices, IndexableHistory, WatchableFamily } from '../family/family.ts'
import { familyAliases } from '../family/mod.ts'
import { GATEWAY_PATH } from '../http/exchange/gateway.ts'
import { openapiDocument } from '../http/openapi/document.ts'
import type { Route } from '../http/route/route.ts'
import { createRouteTable } from '../http/route/route_table.ts'
import type { Switchboard } from '../operator/switches.ts'
import { portfolioRoutes, portfolioWork } from '../portfolio/mod.ts'
import { nameRoute } from '../portfolio/name/routes.ts'
import { eventsRoute } from '../trigger/routes/events.ts'
import { getLoggedPath } from '../trigger/routes/logged_path.ts'
import type { TriggerServices } from '../trigger/routes/route_parts.ts'
import { triggerRoutes } from '../trigger/routes/triggers.ts'
import { webhookRoutes } from '../trigger/routes/webhooks.ts'
import type { Config } from './config/config.ts'
import examples from './examples.json' with { type: 'json' }

/** All routes of this configuration. They call `connect` and `messaging` when they first read. */
export function createServiceRoutes(
  config: Config,
  connect: () => FamilyServices,
  messaging: () => TriggerServices = refuseToConnect,
): readonly Route[] {
  const { families } = config
  const setup = setupOf(config, connect)
  // The usage route's path filter reads the table that holds the usage route itself.
  const usage = usageRoutes({ db: () => connect().db, templateOf: (path) => getLoggedPath(table, path) })
  const portfolio = portfolioRoutes(portfolioOf(config, connect))
  const watched = { families: listWatchableFamilies(config, connect), solanaChainId: SOLANA_CHAIN_ID }
  const routes = [
    ...families.flatMap((family) => family.routes(setup)),
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

/** Histories of everybody that can be read ahead. */
export function listHistories(config: Config, connect: () => FamilyServices): readonly IndexableHistory[] {
  return config.families.flatMap((family) => family.histories(setupOf(config, connect)))
}

/** What families do while nobody asks. */
export function listBackgroundWork(config: Config, connect: () => FamilyServices): readonly BackgroundWork[] {
  const works = config.families.map((family) => family.work(setupOf(config, connect), config.featuresOff))
  const further = config.featuresOff.includes('snapshots') ? [] : [portfolioWork(portfolioOf(config, connect))]
  return [...works.filter((work) => work !== undefined), ...further]
}

/** What triggers can watch in each family that has something. */
export function listWatchableFamilies(config: Config, connect: () => FamilyServices): readonly WatchableFamily[] {
  const setup = setupOf(config, connect)
  return config.families.map((family) => family.watch(setup)).filter((each) => each !== undefined)
}

function portfolioOf(config: Config, connect: () => FamilyServices) {
  const { families, solana } = config
  return { ...setupOf(config, connect), families, priceMarket: solana.priceMarket }
}

function setupOf({ chains, solana }: Config, connect: () => FamilyServices) {
  return { chainIds: chains.map(({ id }) => id), servesSolana: solana.rpcUrls.length > 0, connect }
}

/** The OpenAPI document of these routes, without those that the configuration switches off. */
export function openapiText(routes: readonly Route[], config: Config): string {
  const { chains, solana, publicUrl, operatorPort, featuresOff } = config
  const names = Object.fromEntries(chains.map(({ id, name }) => [id, name]))
  const sites = [...chains, { id: SOLANA_CHAIN_ID, explorer: solana.explorer }]
  const explorers = Object.fromEntries(sites.flatMap(({ id, explorer }) => (explorer ? [[id, explorer]] : [])))
  const served = routes.filter(({ feature }) => feature === undefined || !featuresOff.includes(feature))
  const operatorApart = operatorPort !== undefined
  return openapiDocument({ routes: served, examples, publicUrl, chains: names, explorers, operatorApart })
}

/** The OpenAPI document of everything that this configuration serves; nothing is connected for it. */
export function describeServices(config: Config): string {
  return openapiText(createServiceRoutes(config, refuseToConnect), config)
}

/** What the operator of this configuration can switch. */
export function createSwitchboard(config: Config): Switchboard {
  const routes = createServiceRoutes(config, refuseToConnect)
  const { endpoints } = createRouteTable(routes, familyAliases(config.families))
  return { endpoints: [...endpoints.map(({ name }) => name), `POST ${GATEWAY_PATH}`], featuresOff: config.featuresOff }
}

/** For programs that only describe routes. Throws. */
export function refuseToConnect(): never {
  throw new Error('Cannot read: this program only describes the routes')
}

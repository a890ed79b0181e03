import type { Answer, Failure } from './api.ts'
import { send } from './api.ts'
import type { TriggerDocument, TriggerOperation } from './watchable.ts'
import { listWatchable } from './watchable.ts'

/** Routes, chains and prices of this service, from its OpenAPI document. */
export type Catalog = ReturnType<typeof createCatalog>

/** A liquidity family that this service serves. */
export type Liquidity = ReturnType<typeof listLiquidity>[number]

/** A lending family whose positions are of the common shape: last segment of its path, and the chains that have it. */
export interface Lending {
  readonly protocol: string
  readonly chains: readonly number[]
}

/** The fields of the document that the pages use. */
interface Charge {
  readonly credits: number
  readonly instead?: readonly {
    readonly parameter: string
    readonly value: string | boolean
    readonly credits: number
  }[]
}

interface ChainSchema {
  /** Chains that are accepted, and those of them on which anything can be found, if these are fewer. */
  readonly 'x-chain-ids'?: readonly number[]
  readonly 'x-deployed-chain-ids'?: readonly number[]
}

interface Operation {
  readonly parameters?: readonly { readonly name: string; readonly schema: ChainSchema }[]
  readonly 'x-charge'?: Charge
}

interface Path {
  readonly get?: Operation
  readonly post?: TriggerOperation
}

interface Document extends TriggerDocument {
  readonly paths?: Readonly<Record<string, Path>>
  readonly 'x-chains'?: Readonly<Record<string, string>>
  readonly 'x-explorers'?: Readonly<Record<string, string>>
}

const PORTFOLIO = '/v1/portfolio/balance'
const OVERVIEW = '/v1/wallet/overview'
const AAVE = '/v1/lending/aave-v3'
const MORPHO = '/v1/lending/morpho-blue/position/{chain_id}/yield'
const KAMINO_LIST = '/v1/lending/kamino'
const KAMINO = `${KAMINO_LIST}/position/{obligation_address}`
/** Families of lending whose positions have more than the common shape, or less. */
const SPECIAL_LENDING = [AAVE, '/v1/lending/morpho-blue', KAMINO_LIST]
export const SOLANA_CHAIN_ID = 101

/** Reads the OpenAPI document of this service, which costs nothing. */
export async function readCatalog(): Promise<Catalog | Failure> {
  const answer: Answer<Document> | Failure = await send('openapi.json', { cache: 'no-cache' })
  return answer.ok ? createCatalog(answer.body, answer.atSec) : answer
}

function createCatalog(document: Document, atSec: number) {
  const { paths = {}, 'x-chains': names = {}, 'x-explorers': explorers = {} } = document
  const readAtMs = performance.now()
  return {
    /** Unix seconds by the service's clock: the reader's may be wrong. */
    getNowSec: () => atSec + (performance.now() - readAtMs) / 1_000,
    /** Names of chains by id. */
    names: new Map(toNumericEntries({ [SOLANA_CHAIN_ID]: 'Solana', ...names })),
    /** URLs of block explorers by chain id. */
    explorers: new Map(toNumericEntries(explorers)),
    liquidity: listFamilies(paths, 'positions').flatMap((protocol) => listLiquidity(paths, protocol)),
    lending: listLending(paths),
    aaveChains: getChainIds(paths[AAVE]),
    morphoChains: getChainIds(paths[MORPHO]),
    portfolio: paths[PORTFOLIO] !== undefined,
    overview: paths[OVERVIEW] !== undefined,
    kamino: paths[KAMINO_LIST] !== undefined,
    snapshots: paths[`${AAVE}/position/{chain_id}/snapshots`] !== undefined,
    events: paths[`${AAVE}/position/{chain_id}/events`] !== undefined,
    /** Patterns of paths whose answers can have a receipt. */
    receipts: createPathPatterns(paths, 'receipt'),
    /** Patterns of paths that are served as CSV too. */
    tables: createPathPatterns(paths, 'format'),
    /** What triggers can watch, by family. */
    watchable: listWatchable(document),
    /** True if routes take `at_time`. */
    atTime: findParameter(paths['/v1/positions/uniswap-v3'], 'at_time') !== undefined,
    credits: collectCredits(paths),
  }
}

/** Lists the families that have a list of a wallet's positions under `/v1/<kind>`, by the last segments of their paths. */
function listFamilies(paths: Readonly<Record<string, Path>>, kind: string) {
  return Object.entries(paths).flatMap(([path, operations]) => {
    const [, name] = new RegExp(`^/v1/${kind}/([a-z0-9-]+)$`).exec(path) ?? []
    return name !== undefined && findParameter(operations, 'wallet') !== undefined ? [name] : []
  })
}

function listLending(paths: Readonly<Record<string, Path>>): Lending[] {
  return listFamilies(paths, 'lending')
    .map((protocol) => ({ protocol, path: `/v1/lending/${protocol}` }))
    .filter(({ path }) => !SPECIAL_LENDING.includes(path))
    .map(({ protocol, path }) => {
      // Routes of one market are served on the chains that have the family alone; the list takes any chain.
      const ofMarkets = Object.keys(paths).find((each) => each.startsWith(`${path}/position/{chain_id}/`))
      return { protocol, chains: getChainIds(paths[ofMarkets ?? path]) }
    })
}

/** Returns one entry if the family is served and its positions have ids, else none. `protocol`: last segment of its path. */
function listLiquidity(paths: Readonly<Record<string, Path>>, protocol: string) {
  const list = paths[`/v1/positions/${protocol}`]
  const position = paths[`/v1/positions/${protocol}/{id}`]
  if (list === undefined || position === undefined) return []
  const pnl = paths[`/v1/positions/${protocol}/{id}/pnl`]
  const events = paths[`/v1/positions/${protocol}/{id}/events`]
  return [
    {
      protocol,
      chains: getChainIds(list),
      pnl: pnl !== undefined,
      /** True if the service has a route for the flows of a position. */
      events: events !== undefined,
      /** Per listed position; `single` and `full`: per answer about one position, without and with figures. */
      credits: {
        open: getCredits(list, 'full', true),
        closed: getCredits(list, 'status', 'inactive'),
        pnl: getCredits(pnl),
        pnlOfClosed: getCredits(pnl, 'status', 'inactive'),
        events: getCredits(events),
        single: getCredits(position),
        full: getCredits(position, 'full', true),
      },
    },
  ]
}

/** Collects the credits per answer; for lists per entry. */
function collectCredits(paths: Readonly<Record<string, Path>>) {
  return {
    position: getCredits(paths['/v1/positions/uniswap-v3'], 'full', true),
    aave: getCredits(paths[AAVE]),
    morpho: getCredits(paths['/v1/lending/morpho-blue']),
    morphoYield: getCredits(paths['/v1/lending/morpho-blue/position/{chain_id}/yield']),
    portfolio: getCredits(paths[PORTFOLIO]),
    overview: getCredits(paths[OVERVIEW]),
    row: getCredits(paths['/v1/portfolio/assets']),
    exit: getCredits(paths['/v1/portfolio/exit']),
    trigger: paths['/v1/triggers']?.post?.['x-charge']?.credits ?? 0,
    /** A page of the organization's triggers, and of its webhooks. */
    triggers: getCredits(paths['/v1/triggers']),
    webhooks: getCredits(paths['/v1/webhooks']),
    /** An answer with messages. */
    messages: getCredits(paths['/v1/events']),
    days: getCredits(paths['/v1/portfolio/snapshots']),
    snapshots: getCredits(paths[`${AAVE}/position/{chain_id}/snapshots`]),
    events: getCredits(paths[`${AAVE}/position/{chain_id}/events`]),
    name: getCredits(paths['/v1/names']),
    kaminoList: getCredits(paths[KAMINO_LIST]),
    kamino: getCredits(paths[`${KAMINO}/risk`]) + getCredits(paths[`${KAMINO}/yield`]),
  }
}

/** Returns the credits of one answer or entry. */
function getCredits(path: Path | undefined, parameter?: string, value?: string | boolean) {
  const { credits = 0, instead = [] } = path?.get?.['x-charge'] ?? {}
  return instead.find((each) => each.parameter === parameter && each.value === value)?.credits ?? credits
}

function toNumericEntries(record: Readonly<Record<string, string>>): [number, string][] {
  return Object.entries(record).map(([id, value]) => [Number(id), value])
}

/** Names a chain, `Chain 5` if the service does not. */
export function chainName({ names }: Catalog, chainId: number) {
  return names.get(chainId) ?? `Chain ${chainId}`
}

/** Returns true if the service can issue a receipt for the answer at a path with its query. */
export function hasReceipt({ receipts }: Catalog, path: string) {
  return matchesAny(receipts, path)
}

/** Returns true if the service serves the answer at a path with its query as CSV too. */
export function hasCsv({ tables }: Catalog, path: string) {
  return matchesAny(tables, path)
}

function matchesAny(routes: readonly RegExp[], path: string) {
  const [route = ''] = path.split('?')
  return routes.some((each) => each.test(route))
}

/** Creates a pattern for each path that takes a parameter. */
function createPathPatterns(paths: Readonly<Record<string, Path>>, name: string) {
  return Object.entries(paths)
    .filter(([, path]) => findParameter(path, name) !== undefined)
    .map(([path]) => new RegExp(`^${path.slice(1).replace(/\{\w+\}/g, '[^/]+')}$`))
}

function getChainIds(path: Path | undefined): readonly number[] {
  const { schema = {} } = findParameter(path, 'chain_id') ?? {}
  return schema['x-deployed-chain-ids'] ?? schema['x-chain-ids'] ?? []
}

function findParameter(path: Path | undefined, name: string) {
  return path?.get?.parameters?.find((each) => each.name === name)
}

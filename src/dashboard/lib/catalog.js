import { send } from './api.js'

/**
 * What this service can be asked, read from its OpenAPI document.
 * @typedef {ReturnType<typeof catalogOf>} Catalog
 */

/**
 * A family of liquidity that is served.
 * @typedef {ReturnType<typeof liquidityIn>[number]} Liquidity
 */

/**
 * Last segment of its path.
 * @typedef {'uniswap-v3' | 'uniswap-v4' | 'orca-whirlpool'} Protocol
 */

/**
 * What is read of the document.
 * @typedef {{ readonly credits: number, readonly instead?: readonly { readonly parameter: string, readonly value: string | boolean, readonly credits: number }[] }} Charge
 * @typedef {{ readonly parameters?: readonly { readonly name: string, readonly schema: { readonly 'x-chain-ids'?: number[] } }[], readonly 'x-charge'?: Charge }} Operation
 * @typedef {Operation & { readonly requestBody?: { readonly content: { readonly 'application/json': { readonly schema: { readonly properties?: { readonly family?: { readonly enum?: readonly string[] } } } } } } }} Change
 * @typedef {{ readonly get?: Operation, readonly post?: Change }} Path
 * @typedef {{ readonly paths?: Readonly<Record<string, Path>>, readonly 'x-chains'?: Readonly<Record<string, string>>, readonly 'x-explorers'?: Readonly<Record<string, string>> }} Document
 */

const PORTFOLIO = '/v1/portfolio/balance'
/** @type {readonly Protocol[]} */
const PROTOCOLS = ['uniswap-v3', 'uniswap-v4', 'orca-whirlpool']
const AAVE = '/v1/lending/aave-v3'
const MORPHO = '/v1/lending/morpho-blue/position/{chain_id}/yield'
const KAMINO_LIST = '/v1/lending/kamino'
const KAMINO = `${KAMINO_LIST}/position/{obligation_address}`
export const SOLANA_CHAIN_ID = 101

/** @returns {Promise<Catalog | import('./api.js').Failure>} */
export async function readCatalog() {
  /** @type {import('./api.js').Answer<Document> | import('./api.js').Failure} */
  const answer = await send('openapi.json', { cache: 'no-cache' })
  return answer.ok ? catalogOf(answer.body) : answer
}

/** @param {Document} document */
function catalogOf({ paths = {}, 'x-chains': names = {}, 'x-explorers': explorers = {} }) {
  return {
    /** Of chains. */
    names: new Map(byNumber({ [SOLANA_CHAIN_ID]: 'Solana', ...names })),
    /** Addresses of the sites that show what is on chains. */
    explorers: new Map(byNumber(explorers)),
    liquidity: PROTOCOLS.flatMap((protocol) => liquidityIn(paths, protocol)),
    aaveChains: chainsOf(paths[AAVE]),
    morphoChains: chainsOf(paths[MORPHO]),
    portfolio: paths[PORTFOLIO] !== undefined,
    kamino: paths[KAMINO_LIST] !== undefined,
    snapshots: paths[`${AAVE}/position/{chain_id}/snapshots`] !== undefined,
    events: paths[`${AAVE}/position/{chain_id}/events`] !== undefined,
    /** Paths of answers that can have a receipt. */
    receipts: pathsWith(paths, 'receipt'),
    /** Paths of lists that can be had as tables. */
    tables: pathsWith(paths, 'format'),
    /** Families of which triggers can watch positions. */
    watchable: familiesOf(paths['/v1/triggers']),
    /** Whether answers about the past can be asked for. */
    atTime: parameterOf(paths['/v1/positions/uniswap-v3'], 'at_time') !== undefined,
    credits: creditsIn(paths),
  }
}

/**
 * One if it is served.
 * @param {Readonly<Record<string, Path>>} paths
 * @param {Protocol} protocol
 */
function liquidityIn(paths, protocol) {
  const list = paths[`/v1/positions/${protocol}`]
  if (list === undefined) return []
  const one = paths[`/v1/positions/${protocol}/{id}`]
  const pnl = paths[`/v1/positions/${protocol}/{id}/pnl`]
  const events = paths[`/v1/positions/${protocol}/{id}/events`]
  return [
    {
      protocol,
      chains: protocol === 'orca-whirlpool' ? [SOLANA_CHAIN_ID] : chainsOf(list),
      pnl: pnl !== undefined,
      /** Whether the flows of a position can be asked for. */
      events: events !== undefined,
      /** Of each position; of an answer about one, `single` without figures and `full` with them. */
      credits: {
        open: creditsOf(list, 'full', true),
        closed: creditsOf(list, 'status', 'inactive'),
        pnl: creditsOf(pnl),
        pnlOfClosed: creditsOf(pnl, 'status', 'inactive'),
        events: creditsOf(events),
        single: creditsOf(one),
        full: creditsOf(one, 'full', true),
      },
    },
  ]
}

/** What answers cost: of a list, each entry. @param {Readonly<Record<string, Path>>} paths */
function creditsIn(paths) {
  return {
    position: creditsOf(paths['/v1/positions/uniswap-v3'], 'full', true),
    flows: creditsOf(paths['/v1/positions/uniswap-v3/{id}/events']),
    aave: creditsOf(paths[AAVE]),
    morpho: creditsOf(paths['/v1/lending/morpho-blue']),
    morphoYield: creditsOf(paths['/v1/lending/morpho-blue/position/{chain_id}/yield']),
    portfolio: creditsOf(paths[PORTFOLIO]),
    row: creditsOf(paths['/v1/portfolio/assets']),
    trigger: paths['/v1/triggers']?.post?.['x-charge']?.credits ?? 0,
    days: creditsOf(paths['/v1/portfolio/snapshots']),
    events: creditsOf(paths[`${AAVE}/position/{chain_id}/events`]),
    name: creditsOf(paths['/v1/names']),
    kaminoList: creditsOf(paths[KAMINO_LIST]),
    kamino: creditsOf(paths[`${KAMINO}/risk`]) + creditsOf(paths[`${KAMINO}/yield`]),
  }
}

/** Credits of one answer or entry. @param {Path | undefined} path @param {string} [parameter] @param {string | boolean} [value] */
function creditsOf(path, parameter, value) {
  const { credits = 0, instead = [] } = path?.get?.['x-charge'] ?? {}
  return instead.find((each) => each.parameter === parameter && each.value === value)?.credits ?? credits
}

/** @param {Readonly<Record<string, string>>} record @returns {[number, string][]} */
function byNumber(record) {
  return Object.entries(record).map(([id, value]) => [Number(id), value])
}

/**
 * @param {Catalog} catalog
 * @param {number} chainId
 */
export function chainName({ names }, chainId) {
  return names.get(chainId) ?? `Chain ${chainId}`
}

/**
 * True if an answer can have a receipt with which its figures are counted again.
 * @param {Catalog} catalog
 * @param {string} path with its query
 */
export function hasReceipt({ receipts }, path) {
  return isAmong(receipts, path)
}

/**
 * True if an answer is a list, which can be had as a table.
 * @param {Catalog} catalog
 * @param {string} path with its query
 */
export function hasCsv({ tables }, path) {
  return isAmong(tables, path)
}

/** @param {readonly RegExp[]} routes @param {string} path with its query */
function isAmong(routes, path) {
  const [route = ''] = path.split('?')
  return routes.some((each) => each.test(route))
}

/** Paths that take a parameter, each as what matches it. @param {Readonly<Record<string, Path>>} paths @param {string} name */
function pathsWith(paths, name) {
  return Object.entries(paths)
    .filter(([, path]) => parameterOf(path, name) !== undefined)
    .map(([path]) => new RegExp(`^${path.slice(1).replace(/\{\w+\}/g, '[^/]+')}$`))
}

/** @param {Path | undefined} path @returns {number[]} */
function chainsOf(path) {
  return parameterOf(path, 'chain_id')?.schema?.['x-chain-ids'] ?? []
}

/** Families that the body of a route names. @param {Path | undefined} path @returns {readonly string[]} */
function familiesOf(path) {
  return path?.post?.requestBody?.content['application/json'].schema.properties?.family?.enum ?? []
}

/** @param {Path | undefined} path @param {string} name */
function parameterOf(path, name) {
  return path?.get?.parameters?.find((each) => each.name === name)
}

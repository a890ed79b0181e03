import { DEFAULT_CHAIN_IDS, SOLANA_RPC_URLS } from '../chain/chains.ts'
import { SOLANA_CHAIN_ID } from '../chain/solana/client.ts'
import { type ConfiguredFamily, type Family, sortDebtsFirst } from '../family/contract.ts'
import { FINANCE_CHAINS, type FinanceChain } from '../finance/chain.ts'
import { createPriceMarket, type PriceMarket } from '../finance/price/table/kamino.ts'
import {
  invalidChainsFile,
  listOmittedPrices,
  listStablecoinMistakes,
  parseChainsFile,
  type SolanaRow,
  toServedChain,
} from './chains_file.ts'
import { parseUrls, splitList, URLS_EXPECTED } from './lists.ts'
import { describeReadError } from './read_file.ts'
import { type FileSources, withTokenLists } from './token_lists.ts'
import type { RpcVariable } from './variables.ts'

/** The chains of a configuration. */
export interface ServedChains {
  /** EVM chains that are served. */
  readonly chains: readonly FinanceChain[]
  /** Protocols with their settings on each chain. */
  readonly families: readonly ConfiguredFamily[]
  readonly solana: SolanaConfig
  /** What rows of `CHAINS_FILE` leave out of the built-in chains, debts first. */
  readonly omissions: readonly Omission[]
}

/** What a row leaves out of a built-in chain: `["debts in aave-v3 market lido", "34 price feeds"]`. */
interface Omission {
  readonly chainId: number
  readonly omitted: readonly string[]
}

/** Endpoints of Solana, none if it is not served. The URLs may hold secrets. */
interface SolanaConfig {
  readonly rpcUrls: readonly string[]
  /** Maximum difference of the cluster's clock from the wall clock, seconds. */
  readonly maxSlotAgeSec: number
  /** Real duration of a slot, whole milliseconds from 100 to 10,000. */
  readonly slotMs: number
  /** Market that prices are read from. */
  readonly priceMarket: PriceMarket
  /** Base URL of the block explorer. */
  readonly explorer: string
}

/** Lists the ids of all served chains. */
export function listServedChainIds({ chains, solana }: Pick<ServedChains, 'chains' | 'solana'>): readonly number[] {
  const ids = chains.map(({ id }) => id)
  return solana.rpcUrls.length === 0 ? ids : [...ids, SOLANA_CHAIN_ID]
}

/** Explorer of the Solana Foundation. */
const SOLANA_EXPLORER = 'https://explorer.solana.com'

/** The network's target slot time. */
const SLOT_MS = 400
/**
 * Maximum age of a slot: the larger of both. The cluster's clock lags real time by a few seconds, and a healthy node
 * lags the cluster by a few more. A stalled node is detected within a minute.
 */
const SLOT_AGE_SEC = 60
const SLOT_AGE_SLOTS = 20

/** Sources of the chain configuration. */
export interface ChainSources extends FileSources {
  readonly families: readonly Family[]
  /** Names of all set variables. */
  readonly names: readonly string[]
}

/** Reads which chains are served and their settings; adds errors to `mistakes`. */
export function readChains(sources: ChainSources): ServedChains {
  const { getVariable, mistakes, names, families } = sources
  const chains = new Map(FINANCE_CHAINS.map((chain) => [chain.id, chain]))
  const { rows, solana: solanaRow, mistakes: fileMistakes } = readChainsFile(sources)
  mistakes.push(...fileMistakes)
  const solana = toSolanaConfig(solanaRow)
  const chosenIds = new Set(DEFAULT_CHAIN_IDS)
  for (const row of rows) {
    chosenIds.add(row.id)
    const served = toServedChain(row, chains.get(row.id))
    chains.set(row.id, served)
    mistakes.push(...listStablecoinMistakes(row, served))
  }
  const evmRows = new Map(rows.map((row) => [row.id, row]))
  const solanaRows = new Map([[SOLANA_CHAIN_ID, solanaRow]])
  const configured = families.map((family) => family.configure(family.network === 'evm' ? evmRows : solanaRows))
  mistakes.push(...configured.flatMap((family) => family.mistakes.map((mistake) => `CHAINS_FILE: ${mistake}`)))

  for (const name of names.filter(isRpcVariable)) {
    const text = getVariable(name)
    if (text === undefined) continue
    const id = parseChainId(name.slice('RPC_URL_'.length))
    const chain = chains.get(id)
    const rpcUrls = parseUrls(text)
    if (Number.isNaN(id)) mistakes.push(`${name}: expected the id of a chain in its name, such as RPC_URL_1`)
    else if (chain === undefined) mistakes.push(`${name}: no such chain is built in; describe it in CHAINS_FILE`)
    else if (rpcUrls === undefined) mistakes.push(`${name}: expected ${URLS_EXPECTED}`)
    else {
      chosenIds.add(chain.id)
      chains.set(chain.id, { ...chain, rpcUrls })
    }
  }

  const chainsText = getVariable('CHAINS')
  const ids = chainsText === undefined ? [...chosenIds] : parseChainIds(chainsText)
  if (ids === undefined) {
    mistakes.push('CHAINS: expected ids of chains in plain digits, separated by commas')
    return { chains: [], families: configured, solana, omissions: [] }
  }
  const unknownIds = ids.filter((id) => id !== SOLANA_CHAIN_ID && !chains.has(id))
  if (unknownIds.length > 0) {
    mistakes.push(`CHAINS: ${unknownIds.join(', ')}: no such chain is built in; describe it in CHAINS_FILE`)
  }
  const knownChains = [...new Set(ids)].map((id) => chains.get(id)).filter((chain) => chain !== undefined)
  mistakes.push(...knownChains.flatMap(listQuorumMistakes))
  const served = withTokenLists(knownChains, sources)
  // A configured Solana endpoint enables Solana; without CHAINS the public endpoints serve it too.
  const isSolanaServed = chainsText === undefined || ids.includes(SOLANA_CHAIN_ID) || solana.rpcUrls !== SOLANA_RPC_URLS
  const omissions = served.map((chain) => toOmission(chain, configured)).filter(({ omitted }) => omitted.length > 0)
  return {
    chains: served,
    families: configured,
    solana: isSolanaServed ? solana : { ...solana, rpcUrls: [] },
    omissions,
  }
}

function toOmission(chain: FinanceChain, families: readonly ConfiguredFamily[]): Omission {
  const builtIn = FINANCE_CHAINS.find(({ id }) => id === chain.id)
  const contracts = families.flatMap(({ omitted }) => omitted.get(chain.id) ?? [])
  return { chainId: chain.id, omitted: [...sortDebtsFirst(contracts), ...listOmittedPrices(chain, builtIn)] }
}

/** True for a variable that holds the endpoints of a chain, if its name ends with the chain's id. */
export function isRpcVariable(name: string): name is RpcVariable {
  return name.startsWith('RPC_URL_')
}

/** Requires different endpoints for a quorum, because an endpoint named twice agrees with itself. */
function listQuorumMistakes({ id, rpcUrls, quorum = 1 }: FinanceChain): string[] {
  const differentCount = new Set(rpcUrls).size
  if (quorum <= differentCount && (quorum === 1 || differentCount === rpcUrls.length)) return []
  return [
    `CHAINS_FILE: chain ${id}: expected at least ${quorum} endpoints for "quorum", and none twice; ` +
      `there are ${rpcUrls.length}, ${differentCount} of them different`,
  ]
}

/** Creates Solana's configuration from the file's row, with mainnet's values as defaults. */
function toSolanaConfig(row: SolanaRow): SolanaConfig {
  const { slotMs = SLOT_MS, maxSlotAgeSec, explorer = SOLANA_EXPLORER } = row
  const ageSec = Math.max(SLOT_AGE_SEC, Math.ceil((SLOT_AGE_SLOTS * slotMs) / 1000))
  const rpcUrls = row.rpcUrls ?? SOLANA_RPC_URLS
  return { rpcUrls, slotMs, maxSlotAgeSec: maxSlotAgeSec ?? ageSec, priceMarket: createPriceMarket(row), explorer }
}

/** Parses ids in plain digits, at least one; undefined for anything else. */
function parseChainIds(text: string): number[] | undefined {
  const ids = splitList(text).map(parseChainId)
  return ids.length > 0 && !ids.some(Number.isNaN) ? ids : undefined
}

/** Parses a number in plain digits; `NaN` for `0x1`, `1e0` and the like. */
function parseChainId(text: string): number {
  return /^[1-9]\d{0,15}$/.test(text) ? Number(text) : Number.NaN
}

function readChainsFile({ getVariable, readFile, families }: ChainSources): ReturnType<typeof parseChainsFile> {
  const path = getVariable('CHAINS_FILE')
  if (path === undefined) return invalidChainsFile([])
  let text: string
  try {
    text = readFile(path)
  } catch (error) {
    return invalidChainsFile([`CHAINS_FILE: ${describeReadError(error)}`])
  }
  return parseChainsFile(text, families)
}

import { SOLANA_CHAIN_ID } from '../../chain/solana/client.ts'
import { DEFAULT_CHAIN_IDS, SOLANA_RPC_URLS } from '../../chain/table/chains.ts'
import type { ConfiguredFamily, Family } from '../../family/family.ts'
import { FINANCE_CHAINS, type FinanceChain } from '../../finance/chain.ts'
import { createPriceMarket, type PriceMarket } from '../../finance/price/table/kamino.ts'
import { chainFromRow, invalidChainsFile, parseChainsFile, type SolanaRow } from './chains_file.ts'
import { parseUrls, splitList, URLS_EXPECTED } from './lists.ts'
import { describeReadError } from './read_file.ts'
import { type FileSources, withTokenLists } from './token_lists.ts'
import type { RpcVariable } from './variables.ts'

/** What a configuration says about chains. */
export interface ServedChains {
  /** EVM chains that are served. */
  readonly chains: readonly FinanceChain[]
  /** Protocols with their settings on each chain. */
  readonly families: readonly ConfiguredFamily[]
  readonly solana: SolanaConfig
}

/** Endpoints of Solana, none if it is not served. The URLs may hold secrets. */
interface SolanaConfig {
  readonly rpcUrls: readonly string[]
  /** How far the cluster's clock may be from the wall clock. */
  readonly maxSlotAgeSec: number
  /** Real duration of a slot, whole milliseconds from 100 to 10,000. */
  readonly slotMs: number
  /** Where prices come from. */
  readonly priceMarket: PriceMarket
  /** Address of the site that shows what is on it. */
  readonly explorer: string
}

/** Ids of all chains that are served. */
export function listServedChainIds({ chains, solana }: Pick<ServedChains, 'chains' | 'solana'>): readonly number[] {
  const ids = chains.map(({ id }) => id)
  return solana.rpcUrls.length === 0 ? ids : [...ids, SOLANA_CHAIN_ID]
}

/** The one of the Solana Foundation. */
const SOLANA_EXPLORER = 'https://explorer.solana.com'

/** The network's target. */
const SLOT_MS = 400
/**
 * How old a slot may be: the larger of both. The cluster's clock lags real time by a few seconds, and an honest node
 * lags the cluster by a few more. A node that stands still is found within a minute.
 */
const SLOT_AGE_SEC = 60
const SLOT_AGE_SLOTS = 20

/** What chains are read from. */
export interface ChainSources extends FileSources {
  readonly families: readonly Family[]
  /** Names of all variables that are set. */
  readonly names: readonly string[]
}

/** Reads which chains are served and what is known about them; adds what is wrong to `mistakes`. */
export function readChains(sources: ChainSources): ServedChains {
  const { given, mistakes, names, families } = sources
  const chains = new Map(FINANCE_CHAINS.map((chain) => [chain.id, chain]))
  const { rows, solana: solanaRow, mistakes: found } = readChainsFile(sources)
  mistakes.push(...found)
  const solana = solanaFrom(solanaRow)
  const chosen = new Set(DEFAULT_CHAIN_IDS)
  for (const row of rows) {
    chosen.add(row.id)
    chains.set(row.id, chainFromRow(row, chains.get(row.id)))
  }
  const evmRows = new Map(rows.map((row) => [row.id, row]))
  const solanaRows = new Map([[SOLANA_CHAIN_ID, solanaRow]])
  const configured = families.map((family) => family.configure(family.network === 'evm' ? evmRows : solanaRows))
  mistakes.push(...configured.flatMap((family) => family.mistakes.map((mistake) => `CHAINS_FILE: ${mistake}`)))

  for (const name of names.filter(isRpcVariable)) {
    const text = given(name)
    if (text === undefined) continue
    const chain = chains.get(chainId(name.slice('RPC_URL_'.length)))
    const rpcUrls = parseUrls(text)
    if (chain === undefined) mistakes.push(`${name}: no such chain is built in; describe it in CHAINS_FILE`)
    else if (rpcUrls === undefined) mistakes.push(`${name}: expected ${URLS_EXPECTED}`)
    else {
      chosen.add(chain.id)
      chains.set(chain.id, { ...chain, rpcUrls })
    }
  }

  const wanted = given('CHAINS')
  const ids = wanted === undefined ? [...chosen] : parseChainIds(wanted)
  if (ids === undefined) {
    mistakes.push('CHAINS: expected ids of chains in plain digits, separated by commas')
    return { chains: [], families: configured, solana }
  }
  const unknown = ids.filter((id) => id !== SOLANA_CHAIN_ID && !chains.has(id))
  if (unknown.length > 0) {
    mistakes.push(`CHAINS: ${unknown.join(', ')}: no such chain is built in; describe it in CHAINS_FILE`)
  }
  const known = [...new Set(ids)].map((id) => chains.get(id)).filter((chain) => chain !== undefined)
  mistakes.push(...known.flatMap(quorumMistake))
  const served = withTokenLists(known, sources)
  // A configured endpoint of Solana means that it is wanted; the public ones serve only by default.
  const isWanted = wanted === undefined || ids.includes(SOLANA_CHAIN_ID) || solana.rpcUrls !== SOLANA_RPC_URLS
  return { chains: served, families: configured, solana: isWanted ? solana : { ...solana, rpcUrls: [] } }
}

function isRpcVariable(name: string): name is RpcVariable {
  return name.startsWith('RPC_URL_')
}

/** One endpoint that is named twice agrees with itself. */
function quorumMistake({ id, rpcUrls, quorum = 1 }: FinanceChain): string[] {
  const different = new Set(rpcUrls).size
  if (quorum <= different && (quorum === 1 || different === rpcUrls.length)) return []
  return [
    `CHAINS_FILE: chain ${id}: expected at least ${quorum} endpoints for "quorum", and none twice; ` +
      `there are ${rpcUrls.length}, ${different} of them different`,
  ]
}

/** Solana as the file describes it, with mainnet's values for the rest. */
function solanaFrom(row: SolanaRow): SolanaConfig {
  const { slotMs = SLOT_MS, maxSlotAgeSec, explorer = SOLANA_EXPLORER } = row
  const ageSec = Math.max(SLOT_AGE_SEC, Math.ceil((SLOT_AGE_SLOTS * slotMs) / 1000))
  const rpcUrls = row.rpcUrls ?? SOLANA_RPC_URLS
  return { rpcUrls, slotMs, maxSlotAgeSec: maxSlotAgeSec ?? ageSec, priceMarket: createPriceMarket(row), explorer }
}

/** Ids in plain digits, at least one; undefined for anything else. */
function parseChainIds(text: string): number[] | undefined {
  const ids = splitList(text).map(chainId)
  return ids.length > 0 && !ids.some(Number.isNaN) ? ids : undefined
}

/** The number in plain digits, `NaN` for `0x1`, `1e0` and the like. */
function chainId(text: string): number {
  return /^[1-9]\d{0,15}$/.test(text) ? Number(text) : Number.NaN
}

function readChainsFile({ given, readFile, families }: ChainSources): ReturnType<typeof parseChainsFile> {
  const path = given('CHAINS_FILE')
  if (path === undefined) return invalidChainsFile([])
  let text: string
  try {
    text = readFile(path)
  } catch (error) {
    return invalidChainsFile([`CHAINS_FILE: ${describeReadError(error)}`])
  }
  return parseChainsFile(text, families)
}

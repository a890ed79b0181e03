import { type Hex, toFunctionSelector } from 'viem'
import type { Block } from '../../../chain/block.ts'
import { decodeLensPage, type LensCursor, readOptional } from '../../../chain/call/cursor.ts'
import { encodeArray, encodeBytes, encodeCall, encodeStruct } from '../../../chain/call/words.ts'
import {
  encodePriceSources,
  PRICE_SOURCES_ARGUMENT,
  type PriceSources,
  readUsdAnswers,
} from '../../../finance/price/price_sources.ts'
import { VAULT_KINDS } from '../../../finance/price/table/vaults.ts'
import { readToken } from '../../../finance/token/token.ts'
import { UpstreamError } from '../../../lib/error.ts'
import type { Adapter, LentMarket, RawHolding, RawVault, VaultClass } from '../math.ts'
import { isVault, REGISTRY_KINDS, type VaultCandidate, type VaultEntry } from '../table.ts'

const REGISTRIES = '(address[] metaMorpho, address[] vaultV2, address[] adapters) registries'
const READ = toFunctionSelector(
  `read(address[] at, bytes kinds, ${REGISTRIES}, address[] wallets, uint256 first, uint256 count, uint256 bytesMax, ${PRICE_SOURCES_ARGUMENT})`,
)

/** Records of the lens, by their first byte. */
const RECORD = { vault: 1, holding: 2, silent: 3 } as const
/** Classes of vaults and of adapters, by the numbers of the lens. */
const CLASSES: readonly VaultClass[] = ['erc4626', 'metamorpho', 'morpho_vault_v2']
/** Kinds of vaults by the numbers of the lens. */
const KINDS: readonly VaultCandidate['kind'][] = [...VAULT_KINDS, 'named']
/** In place of the length of a queue that is not told. */
const QUEUE_UNTOLD = 255
const ADAPTERS = ['none', 'market', 'vault', 'unknown'] as const

/** Holdings to read: those of wallets in the vaults among the entries of a chain. */
export interface HoldingsQuery {
  readonly entries: readonly VaultEntry[]
  readonly wallets: readonly Hex[]
}

/** The vaults among entries, in their order. */
export function listVaults(entries: readonly VaultEntry[]): readonly VaultCandidate[] {
  return entries.filter(isVault)
}

/** Call data to read the holdings from `start` to `end`, by wallet, then by vault. `bytesMax` limits the answer, bytes. */
export function encodeRead(
  { entries, wallets }: HoldingsQuery,
  { start, end, bytesMax }: Readonly<Record<'start' | 'end' | 'bytesMax', number>>,
  sources: PriceSources,
): Hex {
  const vaults = listVaults(entries)
  const firstWallet = Math.floor(start / vaults.length)
  const kinds = vaults.map(({ kind }) => KINDS.indexOf(kind).toString(16).padStart(2, '0')).join('')
  const registries = REGISTRY_KINDS.map((kind) =>
    encodeArray(entries.filter((each) => each.kind === kind).map(({ address }) => address)),
  )
  return encodeCall(
    READ,
    encodeArray(vaults.map(({ address }) => address)),
    encodeBytes(kinds),
    encodeStruct(...registries),
    encodeArray(wallets.slice(firstWallet, Math.ceil(end / vaults.length))),
    BigInt(start - firstWallet * vaults.length),
    BigInt(end - start),
    BigInt(bytesMax),
    encodePriceSources(sources),
  )
}

/** The result of one page; the same for every mode of reading. Wallets are counted from the first of the page. */
export interface RawPage {
  readonly block: Block
  /** Number of holdings that this page covers, including those that are empty. */
  readonly taken: number
  readonly vaults: readonly RawVault[]
  readonly holdings: readonly RawHolding[]
  /** Vaults that do not answer, and the wallet from which on they were not asked. */
  readonly silent: readonly Pick<RawHolding, 'wallet' | 'vault'>[]
}

/** Decodes the lens' answer. The head of `lens.sol` describes its layout. Throws `UpstreamError` for another layout. */
export function decodeLens(answer: Hex): RawPage {
  const { from, block, taken } = decodeLensPage(answer)
  const vaults = new Map<number, RawVault>()
  const holdings: RawHolding[] = []
  const silent: Pick<RawHolding, 'wallet' | 'vault'>[] = []
  while (!from.isAtEnd()) {
    const record = from.number(1)
    if (record === RECORD.vault) {
      const vault = readVault(from)
      vaults.set(vault.vault, vault)
    } else if (record === RECORD.holding) {
      holdings.push(readHolding(from, vaults))
    } else if (record === RECORD.silent) {
      silent.push({ wallet: from.number(4), vault: from.number(2) })
    } else throw new UpstreamError(`Cannot decode the lens: unknown record ${record}`)
  }
  return { block, taken, vaults: [...vaults.values()], holdings, silent }
}

function readVault(from: LensCursor): RawVault {
  const vault = from.number(2)
  const kind = CLASSES[from.number(1)]
  if (kind === undefined) throw new UpstreamError('Cannot decode the lens: unknown class of a vault')
  return {
    vault,
    class: kind,
    share: readToken(from),
    asset: readToken(from),
    usd: readUsdAnswers(from),
    isPaused: from.number(1) === 1,
    cooldownSec: readKnown(from),
    ...(kind === 'morpho_vault_v2' ? { idle: readKnown(from), adapter: readAdapter(from) } : {}),
    ...(kind === 'metamorpho' ? { queue: readQueue(from) } : {}),
  }
}

function readAdapter(from: LensCursor): Adapter {
  const kind = ADAPTERS[from.number(1)]
  if (kind === undefined) throw new UpstreamError('Cannot decode the lens: unknown kind of an adapter')
  if (kind === 'none' || kind === 'unknown') return { kind }
  const lent = { supplied: from.uint(32), liquidity: from.uint(32) }
  return kind === 'market'
    ? { kind, ...lent, id: from.hex(32) }
    : { kind, ...lent, inner: from.address(), queue: readQueue(from) }
}

function readQueue(from: LensCursor): readonly LentMarket[] | undefined {
  const length = from.number(1)
  if (length === QUEUE_UNTOLD) return undefined
  return Array.from({ length }, () => ({ id: from.hex(32), supplied: from.uint(32), liquidity: from.uint(32) }))
}

function readHolding(from: LensCursor, vaults: ReadonlyMap<number, RawVault>): RawHolding {
  const wallet = from.number(4)
  const vault = from.number(2)
  const own = vaults.get(vault)
  if (own === undefined) throw new UpstreamError('Cannot decode the lens: a holding stands before its vault')
  const shares = from.uint(32)
  const assets = readKnown(from)
  const limits =
    own.class === 'morpho_vault_v2'
      ? { isGated: from.number(1) === 0, withdrawableMax: undefined }
      : { isGated: false, withdrawableMax: readKnown(from) }
  const cooldown = { amount: from.uint(32), endSec: from.uint(8), windowSec: from.uint(8) }
  return { wallet, vault, shares, assets, ...limits, cooldown }
}

/** A word, or nothing where it is not known. */
function readKnown(from: LensCursor): bigint | undefined {
  return readOptional(from, () => from.uint(32))
}

import { type Address, type Hex, toFunctionSelector } from 'viem'
import { decodeLensPage, type LensCursor, readOptional } from '../../../chain/call/cursor.ts'
import { encodeArray, encodeCall } from '../../../chain/call/words.ts'
import { ContractUnresponsiveError } from '../../../chain/rpc/client.ts'
import {
  encodePriceSources,
  PRICE_SOURCES_ARGUMENT,
  type PriceSources,
  readUsdAnswers,
} from '../../../finance/price/price_sources.ts'
import { readToken } from '../../../finance/token/token.ts'
import { UpstreamError } from '../../../lib/error.ts'
import type { RawEntry, RawMarket, RawPricedToken, RawRead } from '../math/state.ts'

const READ = toFunctionSelector(`read(address midnight, address wallet, bytes32[] ids, ${PRICE_SOURCES_ARGUMENT})`)
/** Records of the lens, by their first byte. */
const RECORD = { noMarket: 0, market: 1, noPosition: 2, failed: 3, noTerms: 4 } as const

/** Query for a wallet's positions in markets; ids in lower case. */
export interface MarketsQuery {
  readonly midnight: Address
  readonly wallet: Address
  readonly marketIds: readonly Hex[]
}

/** Call data of the lens. */
export function encodeRead({ midnight, wallet, marketIds }: MarketsQuery, sources: PriceSources): Hex {
  return encodeCall(READ, midnight, wallet, encodeArray(marketIds), encodePriceSources(sources))
}

/**
 * Decodes the lens' answer; the head of `lens.sol` describes its layout. Throws `UpstreamError` for another layout or if a
 * market's terms cannot be read, and `ContractUnresponsiveError` if Midnight is not at its address, also if no market was
 * requested: without its contract, "no market" is no finding.
 */
export function decodeLens(answer: Hex): RawRead {
  const { from, block, taken } = decodeLensPage(answer)
  if (from.number(1) !== 1) throw midnightUnresponsiveError()
  const entries: RawEntry[] = []
  while (!from.isAtEnd()) entries.push(readEntry(from))
  if (entries.length !== taken) throw new UpstreamError('Cannot decode the lens: markets are missing')
  return { block, taken, entries }
}

function readEntry(from: LensCursor): RawEntry {
  const record = from.number(1)
  if (record === RECORD.noMarket) return 'no_market'
  if (record === RECORD.noPosition) return 'no_position'
  if (record === RECORD.failed) throw midnightUnresponsiveError()
  if (record === RECORD.noTerms) throw new UpstreamError('Cannot read a Midnight market: its terms cannot be read')
  if (record !== RECORD.market) throw new UpstreamError(`Cannot decode the lens: unknown record ${record}`)
  return readMarket(from)
}

function readMarket(from: LensCursor): RawMarket {
  const position = {
    credit: from.uint(16),
    pendingFee: from.uint(16),
    lastLossFactor: from.uint(16),
    lastAccrualSec: from.uint(16),
    debt: from.uint(16),
  }
  const bitmap = from.uint(16)
  const [lossFactor, withdrawable] = [from.uint(16), from.uint(16)]
  const terms = from.hex(from.number(2))
  const loan = readPricedToken(from)
  const collaterals = Array.from({ length: from.number(1) }, () => {
    const [index, amount] = [from.number(1), from.uint(16)]
    // Its bit says that it is held.
    if (amount === 0n || ((bitmap >> BigInt(index)) & 1n) === 0n) throw midnightUnresponsiveError()
    return { index, amount, oraclePrice: readOptional(from, () => from.uint(32)), token: readPricedToken(from) }
  })
  return { position, lossFactor, withdrawable, terms, loan, collaterals }
}

function readPricedToken(from: LensCursor): RawPricedToken {
  return { token: readToken(from), usd: readUsdAnswers(from) }
}

/** The error if the contract at a deployment's address does not answer like Midnight. */
function midnightUnresponsiveError(): ContractUnresponsiveError {
  return new ContractUnresponsiveError('its Morpho Midnight contract does not answer')
}
